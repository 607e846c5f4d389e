import { expect, test } from "vitest";
import { knownValues } from "../../../main/cli/change/known-values.ts";
import type { Fields } from "../../../main/cli/connect/fields.ts";
import type { JsonObject } from "../../../shared/json.ts";

const schemas: { readonly [field: string]: JsonObject } = {
  note: { type: ["string", "null"], default: null },
  count: { type: ["integer", "null"], default: 0 },
  flag: { type: ["boolean", "null"], default: false },
  mode: { type: ["string", "null"], enum: ["fast", null], default: "fast" },
  strange: { type: ["string", "null"], enum: ["null", null], default: null },
  ports: { type: "array", items: { type: "object" }, uniqueItemProperties: ["port"], default: [] },
  words: { type: "array", items: { type: ["string", "null"] }, default: [] },
};
const fields = new Map(Object.entries(schemas).map(([name, schema]) => [`app.${name}`, schema])) as unknown as Fields;
const read = async () => ({ app: { words: ["x", null], ports: [{ port: 80 }] } });

test.each<[string, string, readonly string[], readonly string[]]>([
  ["a text or null", "app.note", [], ["null"]],
  ["a number or null", "app.count", ["null"], ["null"]],
  ["a boolean or null", "app.flag", ["true", "false", "null"], ["true", "false", "null"]],
  ["choices, one of which is null", "app.mode", ["fast", "null"], ['"fast"', "null"]],
  ["null and its text as choices", "app.strange", [], ['"null"', "null"]],
])("the values offered for %s are read as these values", async (_, name, plain, json) => {
  expect(await knownValues(name, "", false, fields, read)).toEqual(plain);
  expect(await knownValues(name, "", true, fields, read)).toEqual(json);
});

test("the items that can be removed are offered in the form that finds them", async () => {
  expect(await knownValues("app.words", "-", false, fields, read)).toEqual(["x"]);
  expect(await knownValues("app.words", "-", true, fields, read)).toEqual(['"x"', "null"]);
  expect(await knownValues("app.ports", "-", false, fields, read)).toEqual(["80"]);
});
