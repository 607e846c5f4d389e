import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { expect, test } from "vitest";
import { ScopeSchemaError } from "../../../main/scopes/schema-faults.ts";
import { compileScope } from "../../../main/scopes/scopes.ts";
import type { JsonValue } from "../../../shared/json.ts";

const scopeOf = (f: object, more: object = {}) => compileScope("x", { properties: { f }, ...more });

test("keywords that are not known are named, with their place and what may be meant", () => {
  const { notes } = scopeOf({
    type: "string",
    minLenght: 1,
    MaxLength: 2,
    "x-comand": true,
    tsType: "A",
    "x-other": 1,
  });
  expect(notes).toEqual([
    '"minLenght" at /properties/f/minLenght is no keyword and has no effect: did you mean "minLength"?',
    '"MaxLength" at /properties/f/MaxLength is no keyword and has no effect: did you mean "maxLength"?',
    '"x-comand" at /properties/f/x-comand is no keyword and has no effect: did you mean "x-command"?',
    'not known as keywords, so without effect: "tsType"',
  ]);
  // Names of members and values are no keywords.
  const members = { properties: { minLenght: true }, default: { minLenght: 1 }, const: { minLenght: 1 } };
  expect(scopeOf(members).notes).toEqual([]);
});

test("a pattern that is not supported is named and refuses nothing, wherever a schema has it", () => {
  const ahead = { pattern: "^(?=a)b$" };
  const takes = (f: object, ...values: JsonValue[]) => {
    const scope = scopeOf(f);
    expect(scope.notes.join()).toContain("^(?=a)b$ is not checked: lookahead and lookbehind are not supported");
    return values.map(value => scope.fields.get("f")?.validate(value) === undefined);
  };
  expect(takes({ type: "string", ...ahead }, "x", 1)).toEqual([true, false]);
  expect(takes({ not: ahead }, "x")).toEqual([true]);
  // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema.
  expect(takes({ if: ahead, then: false, else: { maxLength: 1 } }, "x", "xx")).toEqual([true, true]);
  expect(takes({ oneOf: [ahead, { type: "string" }, { type: "null" }] }, "x", null, 1)).toEqual([true, false, true]);
  expect(takes({ contains: ahead, maxContains: 1 }, ["x", "y"], [])).toEqual([true, false]);
  expect(takes({ items: { not: { $ref: "#/properties/f/$defs/a" } }, $defs: { a: ahead } }, ["x"])).toEqual([true]);
  const named = { patternProperties: { "^(?=a)b$": { type: "null" } }, additionalProperties: false };
  expect(takes(named, { any: 1 })).toEqual([true]);
  expect(takes({ patternProperties: named.patternProperties, unevaluatedProperties: false }, { any: 1 })).toEqual([
    true,
  ]);
  expect(scopeOf({ pattern: "^a\\-b$" }).notes.join()).toContain("only valid without the flag u");
});

test("references find definitions that are grouped behind other keywords, and a text as deprecated of an older draft is true", () => {
  const scope = scopeOf(
    { $ref: "#/definitions/group/of/port", deprecated: "use g" },
    {
      $schema: "http://json-schema.org/draft-07/schema#",
      definitions: {
        group: {
          of: { port: { allOf: [{ $ref: "#/definitions/group/other" }], maximum: 9 } },
          other: { type: "integer" },
        },
      },
    },
  );
  const check = (value: JsonValue) => scope.fields.get("f")?.validate(value) === undefined;
  expect([check(9), check(10), check("a")]).toEqual([true, false, false]);
  expect(scope.schema.properties["f"]?.["deprecated"]).toBe(true);
  expect(() => scopeOf({ $ref: "#/definitions/x/default" }, { definitions: { x: { default: {} } } })).toThrow(
    "does not point to a schema",
  );
});

test("notes are few and short, however many and long the names are, and very many rules are read in no quadratic time", () => {
  const many = (of: (index: number) => readonly [string, JsonValue]) =>
    Object.fromEntries(Array.from({ length: 20_000 }, (_, index) => of(index)));
  const long = "n".repeat(100_000);
  const unknown = many(index => [`keyword ${index}`, index]);
  const $defs = many(index => [`d${index}`, { allOf: [{ $ref: `#/$defs/d${index + 1}` }] }]);
  const last = { d20000: { type: "string" } };
  const scope = compileScope("x", {
    properties: { f: { ...unknown, [long]: 1, $ref: "#/$defs/d19000" }, ...many(index => [`not a name ${index}`, {}]) },
    $defs: { ...$defs, ...last },
  });
  expect(scope.notes.length).toBeLessThan(60);
  expect(Math.max(...scope.notes.map(note => note.length))).toBeLessThan(600);
  const loops = many(index => [
    `d${index}`,
    { allOf: [{ $ref: `#/$defs/d${(index + 1) % 20_000}` }, { $ref: "#/$defs/d0" }] },
  ]);
  expect(() => compileScope("x", { properties: { f: { $ref: "#/$defs/d0" } }, $defs: loops })).toThrow(
    ScopeSchemaError,
  );
});

/** Schemas of settings as tools publish them; of packages that are installed for other reasons. */
const published = [
  ["@biomejs/biome/configuration_schema.json", "formatter", { lineWidth: 100 }, { lineWidth: "wide" }],
  ["knip/schema.json", "ignoreDependencies", ["a"], [1]],
  ["app-builder-lib/scheme.json", "asar", true, "yes"],
] as const;

test.each(published)(
  "the published schema %s is a scope, which checks its field %s",
  async (file, field, good, bad) => {
    const paths = createRequire(import.meta.url).resolve.paths("x") ?? [];
    const texts = await Promise.allSettled(paths.map(path => readFile(`${path}/${file}`, "utf8")));
    const text = texts.find(one => one.status === "fulfilled")?.value ?? "";
    // Comments and a final comma, as one of them has.
    const { parse } = await import("jsonc-parser");
    const scope = compileScope("tool", parse(text));
    expect(scope.fields.size).toBeGreaterThan(10);
    const check = (value: unknown) => scope.fields.get(field)?.validate(value as JsonValue) === undefined;
    expect([check(good), check(bad)]).toEqual([true, false]);
  },
);
