import fc from "fast-check";
import { expect, test } from "vitest";
import { type JsonValue, sameJson } from "../../shared/json.ts";
import { mergeValues } from "../../shared/merge-values.ts";

const web = { ready: "true", image: "node:24" };
const db = { ready: "pg_isready", image: "postgres:17" };
const variable = (name: string, value = "") => ({ name, value });
const [a, b, c, d] = [variable("A"), variable("B"), variable("C"), variable("D")];

test.each<[title: string, base: JsonValue, theirs: JsonValue, mine: JsonValue, expected: JsonValue | undefined]>([
  [
    "two members of one",
    { web },
    { web: { ...web, ready: "no" } },
    { web: { ...web, image: "x" } },
    { web: { ready: "no", image: "x" } },
  ],
  ["one added and one removed", { web }, {}, { web, db }, { db }],
  [
    "the same change on both sides, and another one on one side",
    { web },
    { web, db },
    { web: { ...web, image: "x" }, db },
    { web: { ...web, image: "x" }, db },
  ],
  [
    "one removed on one side and changed on the other",
    { web, db },
    { db },
    { web: { ...web, image: "x" }, db },
    undefined,
  ],
  ["different values added under one name", {}, { web }, { web: db }, undefined],
  ["arrays of strings, which are merged as a whole", ["x"], ["x", "y"], ["x", "z"], undefined],
  ["named entries added in two places", [a, b], [a, c, b], [d, a, b], [d, a, c, b]],
  ["named entries added in the same place", [a], [a, b], [a, c], [a, c, b]],
  ["a named entry changed next to a removed one", [a, b], [b], [a, variable("B", "1")], [variable("B", "1")]],
  ["a named entry changed in two ways", [a], [variable("A", "1")], [variable("A", "2")], undefined],
  ["an order changed on one side", [a, b, c], [c, a, b, d], [a, variable("B", "1"), c], [c, a, variable("B", "1"), d]],
  ["my order and their change", [a, b], [a, variable("B", "1"), c], [b, a], [variable("B", "1"), c, a]],
  ["two different orders", [a, b, c], [b, a, c], [a, c, b], undefined],
  [
    "members named like inherited ones",
    { constructor: 1 },
    { constructor: 1, toString: 2 },
    { constructor: 3 },
    { constructor: 3, toString: 2 },
  ],
])("merging %s", (_title, base, theirs, mine, expected) => {
  expect(mergeValues(base, theirs, mine)?.value).toEqual(expected);
});

const { value: json } = fc.letrec<{ value: JsonValue }>(tie => ({
  value: fc.oneof(
    { maxDepth: 3 },
    fc.constantFrom<JsonValue>(0, 1, "a"),
    fc.dictionary(fc.constantFrom("a", "b", "__proto__"), tie("value"), { maxKeys: 3 }),
  ),
}));

test("a change on only one side wins, whichever side it is", () => {
  const isRight = (base: JsonValue, theirs: JsonValue, mine: JsonValue) => {
    expect(mergeValues(base, theirs, base)?.value).toEqual(theirs);
    expect(mergeValues(base, base, mine)?.value).toEqual(mine);
    const [one, other] = [mergeValues(base, theirs, mine), mergeValues(base, mine, theirs)];
    expect(sameJson(one?.value, other?.value)).toBe(true);
  };
  fc.assert(fc.property(json, json, json, isRight), { numRuns: 2_000 });
});

test("changes by two people to two members of any value are both kept", () => {
  const isRight = (base: JsonValue, theirs: JsonValue, mine: JsonValue) => {
    const values = { theirs: base, mine: base, neither: base };
    const merged = mergeValues({ in: values }, { in: { ...values, theirs } }, { in: { ...values, mine } });
    expect(merged?.value).toEqual({ in: { theirs, mine, neither: base } });
  };
  fc.assert(fc.property(json, json, json, isRight), { numRuns: 1_000 });
});
