import { Ajv2020 } from "ajv/dist/2020.js";
import fc from "fast-check";
import { expect, test } from "vitest";
import type { JsonObject, JsonValue } from "../../../shared/json.ts";
import { compileSchema as compile } from "../../../shared/schema/compile-schema.ts";
import { SpareSteps } from "../../../shared/schema/step-budget.ts";

const check = (schema: JsonObject, value: JsonValue, most = 1) => compile(schema).check(value, new SpareSteps(), most);
const tooManySteps = { problems: [{ keyword: "steps" }] };
const takes = (schema: JsonObject, value: JsonValue) => check(schema, value).problems.length === 0;

const tree = {
  $defs: { tree: { type: "object", properties: { a: { $ref: "#/$defs/tree" } }, additionalProperties: false } },
  $ref: "#/$defs/tree",
};
const sides = { a: 1, b: 2 };
const reversed = { b: 2, a: 1 };
const cases: [title: string, schema: JsonObject, good: JsonValue[], bad: JsonValue[]][] = [
  ["bounds", { minimum: 1, exclusiveMaximum: 3 }, [1, 2.9, "x"], [0, 3]],
  ["multiples", { multipleOf: 0.5 }, [1, 1.5], [1.2]],
  ["whole multiples", { multipleOf: 3 }, [0, -9], [1, 3.5]],
  ["multiples of 1", { multipleOf: 1 }, [9_007_199_254_740_991], [4_503_599_627_370_495.5, 1e-9]],
  ["multiples of 0.1, with rounding", { multipleOf: 0.1 }, [0.3, 1.1, -0.7, 0], [0.35]],
  ["multiples of 0.01, with rounding", { multipleOf: 0.01 }, [4.35], [4.355]],
  ["multiples of 0.5 that are large", { multipleOf: 0.5 }, [1e308], []],
  ["a string's length in characters", { minLength: 2, maxLength: 2 }, ["ab", "\u{1f600}b"], ["\u{1f600}", "abc"]],
  ["a pattern anywhere in a string", { pattern: "b+" }, ["abc", 5], ["ac"]],
  ["a reference by pointer", tree, [{}, { a: { a: {} } }], [{ a: { b: {} } }, 1]],
  ["a reference by anchor", { $defs: { x: { $anchor: "n", type: "null" } }, $ref: "#n" }, [null], [0]],
  [
    "a reference within a schema with an $id",
    {
      $defs: { x: { $id: "inner", $defs: { y: { type: "null" } }, $ref: "#/$defs/y" }, y: { type: "string" } },
      $ref: "#/$defs/x",
    },
    [null],
    ["x"],
  ],
  ["a dynamic reference", { $defs: { x: { $dynamicAnchor: "n", type: "null" } }, $dynamicRef: "#n" }, [null], [0]],
  [
    "some items",
    { contains: { type: "null" }, minContains: 2, maxContains: 2 },
    [[null, null]],
    [[null], [null, null, null]],
  ],
  ["unique items", { uniqueItems: true }, [[1, "1", [1], { a: 1 }]], [Array(2).fill(1), [sides, reversed]]],
  [
    "items with unique names",
    { uniqueItemProperties: ["n"] },
    [[{ n: 1 }, { n: "1" }, {}, 5, 5]],
    [Array(2).fill({ n: 1 }), Array(2).fill({})],
  ],
  ["required members", { required: ["toString"] }, [{ toString: 1 }], [{}]],
  ["members required by others", { dependentRequired: { a: ["b"] } }, [{}, { b: 1 }, { a: 1, b: 1 }], [{ a: 1 }]],
  ["schemas that depend on members", { dependentSchemas: { a: { maxProperties: 1 } } }, [{ a: 1 }], [{ a: 1, b: 1 }]],
  [
    "both under their former name",
    { dependencies: { a: ["b"], c: { maxProperties: 1 } } },
    [{ a: 1, b: 1 }, { c: 1 }],
    [{ a: 1 }, { c: 1, d: 1 }],
  ],
  [
    "unevaluated members",
    {
      allOf: [{ properties: { a: true } }],
      anyOf: [{ properties: { b: { type: "null" } }, required: ["b"] }, true],
      unevaluatedProperties: false,
    },
    [{ a: 1 }, { a: 1, b: null }],
    [{ c: 1 }, { b: 1 }],
  ],
  [
    "unevaluated items",
    { prefixItems: [true], contains: { type: "null" }, unevaluatedItems: false },
    [[1, null]],
    [[1, null, 2]],
  ],
];

/**
 * Custom keywords, and cases in which Ajv differs from the specification: it treats inherited members as members, overflows the
 * stack on two of these schemas, forgets the items that `contains` has checked, and divides without allowing for rounding.
 */
const differsFromAjv = [
  ...["multiples of 0.1, with rounding", "multiples of 0.01, with rounding", "multiples of 0.5 that are large"],
  "items with unique names",
  "required members",
  "a reference within a schema with an $id",
  "a dynamic reference",
  "unevaluated items",
];

test.each(cases)("%s", (title, schema, good, bad) => {
  const ajv = new Ajv2020({ strict: false });
  if (!differsFromAjv.includes(title))
    for (const value of [...good, ...bad])
      expect([value, ajv.validate(schema, value)]).toEqual([value, good.includes(value)]);
  for (const value of good) expect([value, check(schema, value).problems]).toEqual([value, []]);
  for (const value of bad) expect([value, takes(schema, value)]).toEqual([value, false]);
});

test.each<[title: string, schema: JsonObject, reason: string]>([
  ["an unknown type", { type: "text" }, `"text" is not a type`],
  ["a reference without a target", { $ref: "#/$defs/none" }, `its $ref "#/$defs/none" does not point to a schema`],
  ["a bound that is not a number", { items: { minimum: "1" } }, "its minimum is not a number"],
  ["a schema of an invalid type", { items: 5 }, "a schema must be an object, true or false"],
  ["a reference to a default", { default: {}, $ref: "#/default" }, `its $ref "#/default" does not point to a schema`],
  [
    "a reference to a field that runs as a command",
    { $defs: { a: { "x-command": true } }, items: { $ref: "#/$defs/a" } },
    "x-command has no effect where another schema refers to it: put the shared part into $defs",
  ],
  [
    "a reference to a scope with a field that names a key",
    { properties: { a: { "x-keyOf": "b" } }, items: { $ref: "#" } },
    "x-keyOf has no effect where another schema refers to it: put the shared part into $defs",
  ],
])("%s is refused when the schema is compiled", (_title, schema, reason) => {
  expect(() => compile(schema)).toThrow(expect.objectContaining({ name: "SchemaError", message: reason }));
});

// Whole numbers beyond 2^53 are integers for Ajv only.
const hasHugeNumber = (value: unknown) => /\d{16}|\de\+/.test(JSON.stringify(value));
const anyValue = fc.jsonValue({ maxDepth: 3 }).filter(value => !hasHugeNumber(value)) as fc.Arbitrary<JsonValue>;
const { schema: anySchema } = fc.letrec<{ schema: JsonObject }>(tie => {
  const inner = fc.option(tie("schema"), { nil: {}, maxDepth: 2 });
  const someOf = fc.array(inner, { minLength: 1, maxLength: 3 });
  const small = fc.nat(4);
  const name = fc.constantFrom("a", "b", "");
  const rules: { readonly [keyword: string]: fc.Arbitrary<unknown> } = {
    type: fc.constantFrom("null", "boolean", "string", "number", "integer", "array", "object"),
    enum: fc.array(anyValue, { minLength: 1, maxLength: 3 }),
    const: anyValue,
    minimum: small,
    exclusiveMaximum: small,
    minLength: small,
    maxLength: small,
    pattern: fc.constantFrom("^a", "b$", "[0-9]"),
    not: inner,
    allOf: someOf,
    anyOf: someOf,
    oneOf: someOf,
    if: inner,
    // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema.
    then: inner,
    else: inner,
    minItems: small,
    maxItems: small,
    uniqueItems: fc.boolean(),
    prefixItems: someOf,
    items: inner,
    minProperties: small,
    required: fc.uniqueArray(name),
    properties: fc.dictionary(name, inner),
    patternProperties: fc.dictionary(fc.constantFrom("^a", "b$"), inner),
    additionalProperties: fc.oneof(fc.boolean(), inner),
    propertyNames: fc.constant({ maxLength: 1 }),
    unevaluatedProperties: fc.boolean(),
    $ref: fc.constantFrom("#/$defs/null", "#/$defs/list"),
  };
  const rule = fc.oneof(...Object.entries(rules).map(([keyword, operand]) => operand.map(one => ({ [keyword]: one }))));
  return { schema: fc.array(rule, { maxLength: 3 }).map(parts => Object.assign({}, ...parts) as JsonObject) };
});

test("agrees with Ajv about any value and any schema", () => {
  const $defs = { null: { type: ["null", "number"] }, list: { items: { $ref: "#/$defs/null" } } };
  const property = fc.property(anySchema, fc.array(anyValue, { minLength: 5, maxLength: 5 }), (schema, values) => {
    const whole = { ...schema, $defs };
    const validate = new Ajv2020({ strict: false, logger: false }).compile(whole);
    const compiled = compile(whole);
    for (const value of values) {
      const { problems } = compiled.check(value, new SpareSteps());
      expect([value, problems.length === 0]).toEqual([value, validate(value)]);
      // With up to 100 problems, it reports problems if and only if it refuses the value.
      expect(compiled.check(value, new SpareSteps(), 100).problems.length > 0).toBe(problems.length > 0);
    }
  });
  fc.assert(property, { seed: 20_261_121, numRuns: 300 });
});

test("one check takes no more steps than the largest possible value needs, however many are spare", () => {
  const spare = new SpareSteps(1e9);
  const items = (count: number): JsonValue => Array.from({ length: count }, () => 1);
  const compiled = compile({ items: { maximum: 2, minimum: 0 } });
  // The maximum number of items in 262,144 bytes of JSON.
  expect(compiled.check(items(131_000), spare).problems).toEqual([]);
  expect(compiled.check(items(500_000), spare)).toMatchObject(tooManySteps);
  const costly = compile({ items: { maximum: 2, minimum: 0, allOf: [{}, {}, {}, {}, {}, {}] } });
  expect(costly.check(items(131_000), spare)).toMatchObject(tooManySteps);
});

test("a check with two branches at each of 64 levels ends after a bounded number of steps, and so does a circular schema", () => {
  const branch = { type: "object", properties: { a: { $ref: "#/$defs/tree" } } };
  const schema = {
    $defs: { tree: { anyOf: [{ type: "integer" }, { allOf: [branch, branch] }] } },
    $ref: "#/$defs/tree",
  };
  const compiled = compile(schema);
  let value: JsonValue = 1;
  for (let level = 0; level < 10; level++) value = { a: value };
  expect(compiled.check(value, new SpareSteps()).problems).toEqual([]);
  // Starts with few levels: these end even without a limit, so the test fails immediately instead of hanging.
  const nothingToSpare = new SpareSteps();
  nothingToSpare.left = 0;
  expect(compiled.check(value, nothingToSpare)).toMatchObject(tooManySteps);
  for (let level = 10; level < 60; level++) value = { a: value };
  const spare = new SpareSteps();
  expect(compiled.check(value, spare)).toMatchObject(tooManySteps);
  expect(spare.left).toBe(0);
  const circle = compile({ $defs: { a: { $ref: "#/$defs/a" } }, $ref: "#/$defs/a" });
  expect(circle.check(1, new SpareSteps())).toMatchObject(tooManySteps);
});

test.each([
  ["uniqueItems", { uniqueItems: true }],
  ["uniqueItemProperties", { uniqueItemProperties: ["name"] }],
])("%s takes a number of steps proportional to the items, not to their pairs", (_keyword, schema) => {
  const stepsFor = (count: number) =>
    check(
      schema,
      Array.from({ length: count }, (_, name) => ({ name })),
    ).steps;
  expect(stepsFor(400) / stepsFor(200)).toBeLessThan(2.1);
});
