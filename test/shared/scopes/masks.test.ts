import { expect, test } from "vitest";
import type { JsonValue } from "../../../shared/json.ts";
import { maskParts, masksAnything, withMasks } from "../../../shared/scopes/masks.ts";

const secret = { type: "string", "x-masked": true };
const login = { type: "object", properties: { user: { type: "string" }, token: { $ref: "#/$defs/secret" } } };
const definitions = { secret, login, chain: { $ref: "#/$defs/secret" }, named: { $anchor: "named", ...secret } };

const given = { user: "ada", token: "hush" };

test.each<[name: string, field: object, value: JsonValue, shown: JsonValue]>([
  ["the value itself", secret, "hush", "*"],
  ["a $ref", { $ref: "#/$defs/secret" }, "hush", "*"],
  ["a $ref to a $ref", { $ref: "#/$defs/chain" }, "hush", "*"],
  ["an $anchor", { $ref: "#named" }, "hush", "*"],
  ["a $dynamicRef", { $dynamicRef: "#/$defs/secret" }, "hush", "*"],
  ["a choice", { anyOf: [{ type: "null" }, { $ref: "#/$defs/secret" }] }, "hush", "*"],
  ["a member", { properties: { token: secret } }, given, { user: "ada", token: "*" }],
  ["any member", { additionalProperties: secret }, { a: "hush", name: "b" }, { a: "*", name: "*" }],
  ["a member by $ref", login, given, { user: "ada", token: "*" }],
  ["members of the target of a $ref", { $ref: "#/$defs/login" }, given, { user: "*", token: "*" }],
  ["members by pattern", { patternProperties: { "^t": secret } }, given, { user: "*", token: "*" }],
  ["items by $ref", { items: { $ref: "#/$defs/secret" } }, ["hush"], ["*"]],
  ["the first items", { prefixItems: [secret] }, ["hush", 1], ["*", "*"]],
  ["a member called $ref", { properties: { $ref: secret } }, { $ref: "hush", b: 1 }, { $ref: "*", b: 1 }],
])("finds a mask on %s", (_, field, value, shown) => {
  const schema = { type: "object", $defs: definitions, properties: { field: { default: null, ...field } } } as const;
  const marked = withMasks(schema).properties["field"] ?? {};
  expect(masksAnything(marked)).toBe(true);
  expect(maskParts(value, marked, "*")).toEqual(shown);
});

test("unmasked values stay unchanged, next to masked definitions and in recursive schemas", () => {
  const tree = { default: null, $ref: "#/$defs/tree" };
  const field = { default: null, $defs: { secret }, properties: { inner: { type: "string" } } };
  const $defs = { ...definitions, tree: { properties: { child: { $ref: "#/$defs/tree" } } } };
  const { properties } = withMasks({ type: "object", $defs, properties: { tree, field } });
  expect(properties["tree"]).toBe(tree);
  expect(properties["field"]).toBe(field);
  expect([tree, field].map(masksAnything)).toEqual([false, false]);
  expect(maskParts({ inner: "seen" }, field, "*")).toEqual({ inner: "seen" });
});
