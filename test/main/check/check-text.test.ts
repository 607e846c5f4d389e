import { expect, test } from "vitest";
import { isError, problemsOfText } from "../../../main/check/check-text.ts";
import { compileScope, Scopes } from "../../../main/scopes/scopes.ts";

const scopes = new Scopes();

/** The problems of a text: place, code, field and whether it is an error. */
function problemLines(text: string): string[] {
  return problemsOfText(text, scopes).map(problem => {
    const { code, field, line, column } = problem;
    return `${line}:${column} ${code} ${field ?? ""} ${isError(problem, scopes) ? "error" : "warning"}`;
  });
}

test("every problem of a text is reported at its place, in the order of the text", () => {
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
  expect(problemLines(text)).toEqual([
    "3:14 1011 other warning",
    "5:18 1103 svc.timeout error",
    "6:17 1011 svc.timeot error",
    "7:22 1103 svc.refresh_day error",
    "8:18 1103 svc.default error",
    "11:12 1011  warning",
  ]);
});

test("a problem inside a value is reported at its place in the value", () => {
  const text = `{ "config": { "svc": {
  "envvars": [
    { "name": "GOOD", "value": "" },
    { "name": "not good", "value": "" }
  ],
  "services": {
    "web": { "ready": "true" } }
} } }`;
  expect(problemLines(text)).toEqual(["4:15 1103 svc.envvars error", "7:12 1103 svc.services error"]);
});

test.each([
  ["invalid JSON", '{\n  "config": {,}\n}', ["2:14 1106  error"]],
  ["a duplicate member", '{ "config": {},\n "config": {} }', ["2:2 1106  error"]],
  ["a configuration that is not an object", '{ "config": [] }', ["1:13 1106  error"]],
  ["scopes that are not objects", '{ "config": { "svc": 1, "own": 2 } }', ["1:22 1106  error", "1:32 1106  error"]],
])("reports %s as breaking the file", (_what, text, expected) => {
  expect(problemLines(text)).toEqual(expected);
});

test("a field under an old name, or a deprecated one, is a warning at its place", () => {
  const whole = { type: "integer", default: 1 };
  const known = new Scopes();
  const properties = {
    workers: { ...whole, "x-renamedFrom": "jobs" },
    region: { ...whole, deprecated: true, "x-renamedFrom": "zone" },
  };
  known.set(compileScope("deploy", { type: "object", properties }));
  const text = `{ "config": { "deploy": {
  "jobs": 2,
  "zone": 3
} } }`;
  const problems = problemsOfText(text, known);
  expect(problems.map(({ line, code, field }) => `${line} ${code} ${field}`)).toEqual([
    "2 1115 deploy.workers",
    "3 1115 deploy.region",
    "3 1115 deploy.region",
  ]);
  expect(problems.filter(problem => isError(problem, known))).toEqual([]);
  expect(problems[2]?.message).toContain("deprecated");
});

test("problems beyond a hundred are summed up in one error without a place", () => {
  const fields = Array.from({ length: 150 }, (_, index) => `"field_${index}": 1`);
  const problems = problemLines(`{ "config": { "svc": { ${fields.join(", ")} } } }`);
  expect(problems).toHaveLength(101);
  expect(problems.at(-1)).toBe("undefined:undefined 1011  error");
});
