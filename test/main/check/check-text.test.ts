import { expect, test } from "vitest";
import { isError, problemsOfText } from "../../../main/check/check-text.ts";
import { Scopes } from "../../../main/daemon/scopes.ts";

const scopes = new Scopes();

/** What is told of a text: place, code, field and whether it is an error. */
function told(text: string): string[] {
  return problemsOfText(text, scopes).map(problem => {
    const { code, field, line, column } = problem;
    return `${line}:${column} ${code} ${field ?? ""} ${isError(problem, scopes) ? "error" : "warning"}`;
  });
}

test("a text of which all is in service has no problems", () => {
  expect(told(`{ // a comment\n "$schema": "x", "config": { "svc": { "timeout": 30 } } }`)).toEqual([]);
  expect(told("{}")).toEqual([]);
});

test("every problem of a text is told, where it stands and in that order", () => {
  const text = `{
  "config": {
    "other": { "a": 1 },
    "svc": {
      "timeout": "long",
      "timeot": 3,
      "refresh_day": 9,
      "default": "web"
    }
  },
  "confg": {}
}`;
  expect(told(text)).toEqual([
    "3:14 1011 other warning",
    "5:18 1103 svc.timeout error",
    "6:17 1011 svc.timeot error",
    "7:22 1103 svc.refresh_day error",
    "8:18 1103 svc.default error",
    "11:12 1011  warning",
  ]);
});

test.each([
  ["a text that is no JSON", '{\n  "config": {,}\n}', ["2:14 1106  error"]],
  ["a member twice", '{ "config": {},\n "config": {} }', ["2:2 1106  error"]],
  ["a configuration that is none", '{ "config": [] }', ["1:13 1106  error"]],
  ["scopes that are none", '{ "config": { "svc": 1, "own": 2 } }', ["1:22 1106  error", "1:32 1106  error"]],
])("%s is told as what breaks the file", (_what, text, expected) => {
  expect(told(text)).toEqual(expected);
});

test("a value that runs as a command is not asked about trust, and nothing is remembered of it", () => {
  const text = '{ "config": { "svc": { "services": { "web": { "ready": "true", "image": "nginx" } } } } }';
  expect(told(text)).toEqual([]);
});

test("of more than a hundred problems the rest is an error without a place", () => {
  const fields = Array.from({ length: 150 }, (_, index) => `"field_${index}": 1`);
  const problems = told(`{ "config": { "svc": { ${fields.join(", ")} } } }`);
  expect(problems).toHaveLength(101);
  expect(problems.at(-1)).toBe("undefined:undefined 1011  error");
});
