import fc from "fast-check";
import { expect, test } from "vitest";
import { canonicalJson, exactText, isJsonObject, type JsonValue, sameJson } from "../../shared/json.ts";

// Few names and values, so that two values are often equal.
const { value: json } = fc.letrec<{ value: JsonValue }>(tie => ({
  value: fc.oneof(
    { maxDepth: 4 },
    fc.constantFrom<JsonValue>(null, true, 0, -0, 1, 1e21, "", "1", "a,b", '"', "\u2028", "\ud800"),
    fc.array(tie("value"), { maxLength: 3 }),
    fc.dictionary(fc.constantFrom("a", "b", "constructor", "1", '"'), tie("value"), { maxKeys: 3 }),
  ),
}));

function reversed(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(reversed);
  if (!isJsonObject(value)) return value;
  const members = Object.entries(value).map(([name, inner]) => [name, reversed(inner)] as const);
  return Object.fromEntries(members.reverse());
}

test("two values have the same canonical text if and only if they are equal", () => {
  const isRight = (one: JsonValue, other: JsonValue) => {
    expect(canonicalJson(one) === canonicalJson(other)).toBe(sameJson(one, other));
    expect(canonicalJson(reversed(one))).toBe(canonicalJson(one));
  };
  fc.assert(fc.property(json, json, isRight), { numRuns: 2_000 });
});

test("an exact text parses back to the value, and has no invisible or direction-changing characters", () => {
  const strange = fc.string({ unit: "binary" });
  const isRight = (value: JsonValue) => {
    const text = exactText(value);
    expect(JSON.parse(text)).toEqual(JSON.parse(JSON.stringify(value)));
    expect(text).not.toMatch(/(?![\n ])[\p{C}\p{Z}\p{Default_Ignorable_Code_Point}]/u);
  };
  fc.assert(fc.property(fc.oneof(json, strange, fc.dictionary(strange, strange)), isRight), { numRuns: 1_000 });
  expect(exactText("a\u202eb\u200bc\u{e0041}\u00a0\u3164\u001b")).toBe(
    String.raw`"a\u202eb\u200bc\udb40\udc41\u00a0\u3164\u001b"`,
  );
});
