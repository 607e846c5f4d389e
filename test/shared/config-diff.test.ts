import { expect, test } from "vitest";
import type { Config } from "../../shared/config.ts";
import { diffConfigs, diffingConfigs, type StoredDifference } from "../../shared/config-diff.ts";
import { inParts } from "../helpers/parts.ts";

const parse = (text: string): Config => JSON.parse(text);

test.each<[title: string, before: Config, after: Config, expected: readonly StoredDifference[]]>([
  ["two empty configurations do not differ", {}, {}, []],
  ["an empty scope is no difference", { svc: {} }, {}, []],
  ["an added field has no value before", {}, { svc: { timeout: 5 } }, [{ scope: "svc", field: "timeout", after: 5 }]],
  [
    "a removed field has no value after",
    { svc: { timeout: 5 } },
    { svc: {} },
    [{ scope: "svc", field: "timeout", before: 5 }],
  ],
  [
    "a removed scope removes each of its fields",
    { svc: { timeout: 5, domain: "d" } },
    {},
    [
      { scope: "svc", field: "timeout", before: 5 },
      { scope: "svc", field: "domain", before: "d" },
    ],
  ],
  [
    "a changed field has both values, and unchanged ones are left out",
    { svc: { timeout: 5, domain: "d" } },
    { svc: { timeout: 6, domain: "d" } },
    [{ scope: "svc", field: "timeout", before: 5, after: 6 }],
  ],
  ["the order of members makes no difference", { s: { a: { x: 1, y: 2 } } }, { s: { a: { y: 2, x: 1 } } }, []],
  [
    "the order of items makes a difference",
    { s: { a: ["x", "y"] } },
    { s: { a: ["y", "x"] } },
    [{ scope: "s", field: "a", before: ["x", "y"], after: ["y", "x"] }],
  ],
  [
    "falsy values are values",
    { s: { a: null, b: 0, c: "" } },
    { s: { a: false, b: false, c: null } },
    [
      { scope: "s", field: "a", before: null, after: false },
      { scope: "s", field: "b", before: 0, after: false },
      { scope: "s", field: "c", before: "", after: null },
    ],
  ],
  [
    "changed and added fields are listed first, removed ones after them",
    { s: { gone: 1, stays: 2 } },
    { s: { stays: 3, comes: 4 } },
    [
      { scope: "s", field: "stays", before: 2, after: 3 },
      { scope: "s", field: "comes", after: 4 },
      { scope: "s", field: "gone", before: 1 },
    ],
  ],
  [
    "a field named like an inherited member of every object is an ordinary field",
    { s: {} },
    { s: { constructor: "x" } },
    [{ scope: "s", field: "constructor", after: "x" }],
  ],
  [
    "members named like inherited ones do not count as equal",
    { s: { a: parse('{"valueOf":{}}') } },
    { s: { a: parse('{"toString":{}}') } },
    [{ scope: "s", field: "a", before: { valueOf: {} } as never, after: { toString: {} } as never }],
  ],
])("%s", (_title, before, after, expected) => {
  expect(diffConfigs(before, after)).toEqual(expected);
});

test("a configuration does not differ from itself", () => {
  const config = { svc: { timeout: 5 } };
  expect(diffConfigs(config, config)).toEqual([]);
});

test("comparing thousands of fields of one scope yields to other work", () => {
  const fields = Object.fromEntries(Array.from({ length: 10_000 }, (_, index) => [`field${index}`, index]));
  const steps = diffingConfigs({ svc: fields }, { svc: { ...fields, field7: 70, added: 1 } });
  const { parts, result } = inParts(steps);
  expect(parts).toBeGreaterThanOrEqual(5);
  expect(result).toEqual([
    { scope: "svc", field: "field7", before: 7, after: 70 },
    { scope: "svc", field: "added", after: 1 },
  ]);
  const removal = inParts(diffingConfigs({ svc: fields }, { svc: { field7: 7 } }));
  expect(removal.parts).toBeGreaterThanOrEqual(5);
  expect(removal.result).toHaveLength(9_999);
});

test("removed fields are listed after added ones, across scopes", () => {
  const differences = diffConfigs({ a: { x: 1, y: 2 }, b: { z: 3 } }, { a: { x: 1 }, b: { z: 3, w: 4 } });
  expect(differences).toEqual([
    { scope: "b", field: "w", after: 4 },
    { scope: "a", field: "y", before: 2 },
  ]);
});
