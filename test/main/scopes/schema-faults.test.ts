import { expect, test } from "vitest";
import { parseJsonText } from "../../../main/files/json-text.ts";
import { locateFaults, ScopeSchemaError } from "../../../main/scopes/schema-faults.ts";
import { compileScope } from "../../../main/scopes/scopes.ts";

/** `LINE:COLUMN POINTER MESSAGE` of each fault. */
function faultsOf(text: string): string[] {
  const json = parseJsonText(text);
  try {
    compileScope("x", json.value);
    return [];
  } catch (error) {
    if (!(error instanceof ScopeSchemaError)) throw error;
    return locateFaults(error.faults, json).map(one => `${one.line}:${one.column} ${one.pointer} ${one.message}`);
  }
}

test("every problem of a schema is told at once, with its place in the file as it was before its translation", () => {
  const text = `{
  "$schema": "http://json-schema.org/draft-04/schema#",
  "allOf": [
    { "properties": { "a": { "type": "text", "minLength": -1 } } }
  ],
  "definitions": {
    "list": {
      "items": [{ "type": 5 }],
      "additionalItems": { "$ref": "elsewhere.json" }
    },
    "loop": { "allOf": [{ "$ref": "#/definitions/loop" }] }
  },
  "title": 5,
  "properties": {
    "a": { "maxLength": "x" },
    "b": { "$ref": "#/definitions/list" },
    "c": { "pattern": "(" },
    "d": { "enum": 1, "properties": { "e": { "x-env": "E" } } },
    "e": false
  }
}`;
  const found = faultsOf(text);
  const places = found.map(one => one.split(" ").slice(0, 2).join(" "));
  expect(new Set(places)).toEqual(
    new Set([
      "4:38 /allOf/0/properties/a/type",
      "4:59 /allOf/0/properties/a/minLength",
      "8:27 /definitions/list/items/0/type",
      "9:36 /definitions/list/additionalItems/$ref",
      "11:35 /definitions/loop/allOf/0/$ref",
      "13:12 /title",
      "15:25 /properties/a/maxLength",
      "17:23 /properties/c/pattern",
      "18:20 /properties/d/enum",
      "18:55 /properties/d/properties/e/x-env",
      "19:10 /properties/e",
    ]),
  );
  expect(places).toHaveLength(11);
});

test.each([
  [
    "a default",
    { type: "object", properties: { p: { type: "string" } }, default: { p: 1 } },
    "/properties/f/default/p",
  ],
  ["a default that is no key", { "x-keyOf": "g", default: "x" }, "/properties/f/default"],
  ["a key of no field", { "x-keyOf": "h", default: "" }, "/properties/f/x-keyOf"],
  ["an old name that is a field", { "x-renamedFrom": "g", default: "" }, "/properties/f/x-renamedFrom"],
])("the place of %s that does not fit is told", (_, f, pointer) => {
  const found = faultsOf(JSON.stringify({ properties: { f, g: { type: "object", default: {} } } }));
  expect(found).toEqual([expect.stringContaining(` ${pointer} `)]);
});

test("what several fields refer to is told once", () => {
  const shared = { $ref: "#/$defs/shared", default: "" };
  const found = faultsOf(JSON.stringify({ properties: { f: shared, g: shared }, $defs: { shared: { pattern: "(" } } }));
  expect(found).toEqual([expect.stringContaining(" /$defs/shared/pattern ")]);
});
