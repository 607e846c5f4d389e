import { expect, test } from "vitest";
import type { Config } from "../../shared/config.ts";
import { diffConfigs, diffingConfigs, type StoredDifference, sameConfig } from "../../shared/config-diff.ts";
import { inParts } from "../helpers/parts.ts";

const parse = (text: string): Config => JSON.parse(text);
/** A difference; a value that is left out is missing on that side. */
const difference = (path: string, values: Pick<StoredDifference, "before" | "after">): StoredDifference => {
  const [scope = "", field = ""] = path.split(".");
  return { scope, field, ...values };
};

test.each<[title: string, before: Config, after: Config, expected: readonly StoredDifference[]]>([
  ["an empty scope is no difference", { svc: {} }, {}, []],
  ["an added field has no value before", {}, { svc: { timeout: 5 } }, [difference("svc.timeout", { after: 5 })]],
  ["a removed field has no value after", { a: { b: 5 } }, { a: {} }, [difference("a.b", { before: 5 })]],
  [
    "a removed scope removes each of its fields",
    { svc: { timeout: 5, domain: "d" } },
    {},
    [difference("svc.timeout", { before: 5 }), difference("svc.domain", { before: "d" })],
  ],
  [
    "a changed field has both values, and unchanged ones are left out",
    { svc: { timeout: 5, domain: "d" } },
    { svc: { timeout: 6, domain: "d" } },
    [difference("svc.timeout", { before: 5, after: 6 })],
  ],
  ["the order of members makes no difference", { s: { a: { x: 1, y: 2 } } }, { s: { a: { y: 2, x: 1 } } }, []],
  [
    "the order of items makes a difference",
    { s: { a: ["x", "y"] } },
    { s: { a: ["y", "x"] } },
    [difference("s.a", { before: ["x", "y"], after: ["y", "x"] })],
  ],
  [
    "falsy values are values",
    { s: { a: null, b: 0, c: "" } },
    { s: { a: false, b: false, c: null } },
    [
      difference("s.a", { before: null, after: false }),
      difference("s.b", { before: 0, after: false }),
      difference("s.c", { before: "", after: null }),
    ],
  ],
  [
    "changed and added fields of all scopes are listed first, removed ones after them",
    { a: { x: 1, gone: 2 }, s: { gone: 1, stays: 2 } },
    { a: { x: 1 }, s: { stays: 3, comes: 4 } },
    [
      difference("s.stays", { before: 2, after: 3 }),
      difference("s.comes", { after: 4 }),
      difference("a.gone", { before: 2 }),
      difference("s.gone", { before: 1 }),
    ],
  ],
  [
    "a field named like an inherited member of every object is an ordinary field",
    { s: {} },
    { s: { constructor: "x" } },
    [difference("s.constructor", { after: "x" })],
  ],
  [
    "members named like inherited ones do not count as equal",
    { s: { a: parse('{"valueOf":{}}') } },
    { s: { a: parse('{"toString":{}}') } },
    [difference("s.a", { before: parse('{"valueOf":{}}'), after: parse('{"toString":{}}') })],
  ],
])("%s", (_title, before, after, expected) => {
  expect(diffConfigs(before, after)).toEqual(expected);
  expect(sameConfig({ ...before, empty: {} }, after)).toBe(expected.length === 0);
  expect(diffConfigs(before, before)).toEqual([]);
});

test("comparing thousands of fields of one scope yields to other work", () => {
  const fields = Object.fromEntries(Array.from({ length: 10_000 }, (_, index) => [`field${index}`, index]));
  const steps = diffingConfigs({ svc: fields }, { svc: { ...fields, field7: 70, added: 1 } });
  const { parts, result } = inParts(steps);
  expect(parts).toBeGreaterThanOrEqual(5);
  expect(result).toEqual([difference("svc.field7", { before: 7, after: 70 }), difference("svc.added", { after: 1 })]);
  const removal = inParts(diffingConfigs({ svc: fields }, { svc: { field7: 7 } }));
  expect(removal.parts).toBeGreaterThanOrEqual(5);
  expect(removal.result).toHaveLength(9_999);
});
