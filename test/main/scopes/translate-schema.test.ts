import { Ajv } from "ajv";
import { Ajv2019 } from "ajv/dist/2019.js";
import { Ajv2020 } from "ajv/dist/2020.js";
import draft6 from "ajv/dist/refs/json-schema-draft-06.json" with { type: "json" };
import { default as Ajv04 } from "ajv-draft-04";
import fc from "fast-check";
import { expect, test } from "vitest";
import { ScopeSchemaError } from "../../../main/scopes/schema-faults.ts";
import { compileScope } from "../../../main/scopes/scopes.ts";
import type { JsonValue } from "../../../shared/json.ts";
import { withMasks } from "../../../shared/scopes/masks.ts";

const options = { strict: false, validateFormats: false, logger: false, ignoreKeywordsWithRef: true } as const;
/** Each dialect, with the validator that is the reference for it. */
const dialects = {
  "http://json-schema.org/draft-04/schema#": () => new Ajv04.default(options),
  "http://json-schema.org/draft-06/schema#": () => new Ajv(options).addMetaSchema(draft6),
  "http://json-schema.org/draft-07/schema#": () => new Ajv(options),
  "https://json-schema.org/draft/2019-09/schema": () => new Ajv2019({ ...options, ignoreKeywordsWithRef: false }),
  "https://json-schema.org/draft/2020-12/schema": () => new Ajv2020({ ...options, ignoreKeywordsWithRef: false }),
};
type Dialect = keyof typeof dialects;
const names = Object.keys(dialects) as Dialect[];
const [draft04, draft06, draft07, draft2019, draft2020] = names as [Dialect, Dialect, Dialect, Dialect, Dialect];

const scopeWith = ($schema: string, a: unknown, more = {}) => ({ $schema, type: "object", properties: { a }, ...more });

/** Whether our translation takes the value of the field, and whether the reference takes it by the original. */
function both($schema: Dialect, field: unknown, value: JsonValue, more = {}): readonly [boolean, boolean] {
  const schema = scopeWith($schema, field, more);
  const ours = compileScope("a", schema).fields.get("a")?.validate(value) === undefined;
  return [ours, dialects[$schema]().compile(structuredClone(schema))({ a: value })];
}

const values: readonly JsonValue[] = [
  null,
  true,
  0,
  1,
  3,
  5,
  7,
  "",
  "a",
  "abc",
  [],
  [1],
  ["a"],
  [1, "a"],
  [1, 2, 3],
  [[1]],
  {},
  { a: 1 },
  { b: "x" },
  { a: 1, b: 2 },
  { a: "x", b: { a: 1 } },
];
const definitions = {
  small: { type: "integer", maximum: 4 },
  list: { items: [{ type: "integer" }], additionalItems: { type: "string" } },
};

const cases: readonly (readonly [Dialect, what: string, field: object, more?: object])[] = [
  [
    draft04,
    "exclusive limits that are true or false",
    { minimum: 1, exclusiveMinimum: true, maximum: 5, exclusiveMaximum: false },
  ],
  [
    draft04,
    "an id that references name",
    { $ref: "http://x.test/inner" },
    { definitions: { one: { id: "http://x.test/inner", type: "string" } } },
  ],
  [
    draft04,
    "a relative id",
    { $ref: "http://x.test/folder/inner.json" },
    {
      id: "http://x.test/root.json",
      definitions: { one: { id: "folder/", items: { id: "inner.json", type: "string" } } },
    },
  ],
  [draft04, "a definition called id", { $ref: "#/definitions/id" }, { definitions: { id: { type: "string" } } }],
  [draft04, "an anchor as id", { $ref: "#foo" }, { definitions: { one: { id: "#foo", type: "string" } } }],
  [
    draft06,
    "keywords beside a reference, which it ignores",
    { $ref: "#/definitions/small", maximum: 1, maxLength: 0 },
    { definitions },
  ],
  [
    draft07,
    "keywords beside a reference, which it ignores",
    { $ref: "#/definitions/small", maximum: 1 },
    { definitions },
  ],
  [draft2019, "keywords beside a reference, which count", { $ref: "#/definitions/small", maximum: 1 }, { definitions }],
  [
    draft07,
    "a list of items with more",
    { items: [{ type: "integer" }, { type: "string" }], additionalItems: { type: "boolean" } },
  ],
  [
    draft07,
    "additionalItems beside a schema for all items, which it ignores",
    { items: { type: "integer" }, additionalItems: false },
  ],
  [draft07, "a reference into a list of items", { $ref: "#/definitions/list/items/0" }, { definitions }],
  [draft07, "a reference to what additionalItems is", { $ref: "#/definitions/list/additionalItems" }, { definitions }],
  [draft2019, "a list of items with more", { items: [{ type: "integer" }], additionalItems: false }],
  [draft2020, "prefixItems", { prefixItems: [{ type: "integer" }], items: { type: "string" } }],
  [
    draft07,
    "dependencies of names and of schemas",
    { dependencies: { a: ["b"], b: { properties: { b: { type: "integer" } } } } },
  ],
  [
    draft07,
    "an $id in the file",
    { $ref: "item.json#/definitions/inner" },
    {
      $id: "http://x.test/root.json",
      definitions: { item: { $id: "item.json", definitions: { inner: { type: "string" } } } },
    },
  ],
  [draft07, "an anchor as $id", { $ref: "#foo" }, { definitions: { one: { $id: "#foo", type: "string" } } }],
  [
    draft07,
    "a reference within a part of the file",
    { $ref: "http://x.test/part" },
    {
      definitions: {
        part: {
          $id: "http://x.test/part",
          definitions: { own: { type: "string" } },
          anyOf: [{ $ref: "#/definitions/own" }, { type: "null" }],
        },
      },
    },
  ],
  [draft2019, "$anchor and $defs", { $ref: "#foo" }, { $defs: { one: { $anchor: "foo", type: "string" } } }],
  [
    draft2020,
    "a urn as $id",
    { $ref: "urn:example:part#/$defs/x" },
    { $defs: { part: { $id: "urn:example:part", $defs: { x: { type: "string" } } } } },
  ],
  [draft2020, "a reference to true", { $ref: "#/$defs/yes" }, { $defs: { yes: true } }],
  [draft2020, "a reference to false", { $ref: "#/$defs/no" }, { $defs: { no: false } }],
  [
    draft07,
    "names with slashes, tildes and percent signs",
    { $ref: "#/definitions/a~1b~0c%25d" },
    { definitions: { "a/b~c%d": { type: "string" } } },
  ],
];

for (const [$schema, what, field, more] of cases)
  test(`${$schema}, ${what}: the translation takes what the original takes`, () => {
    const seen = new Set<boolean>();
    for (const value of values) {
      const [ours, reference] = both($schema, field, value, more);
      expect(ours, JSON.stringify(value)).toBe(reference);
      seen.add(ours);
    }
    // Else the case says nothing.
    expect(seen.size).toBe(/to (true|false)$/.test(what) ? 1 : 2);
  });

/** Random schemas of a draft, and values that are near them. */
function schemasOf(draft: number): fc.Arbitrary<object> {
  const count = fc.integer({ min: 0, max: 3 });
  const number = fc.integer({ min: 0, max: 6 });
  const text = fc.constantFrom("", "a", "ab", "abc");
  const leaf: fc.Arbitrary<object> = fc.oneof(
    fc.record({ type: fc.constantFrom("string", "integer", "null", "object", "array", "boolean") }),
    draft === 4
      ? fc.record(
          { minimum: number, exclusiveMinimum: fc.boolean(), maximum: number, exclusiveMaximum: fc.boolean() },
          { requiredKeys: ["minimum", "maximum"] },
        )
      : fc.record({ exclusiveMinimum: number, maximum: number }, { requiredKeys: [] }),
    fc.record({ minLength: count, maxLength: count }, { requiredKeys: [] }),
    fc.record({
      enum: fc.uniqueArray(fc.oneof<fc.Arbitrary<unknown>[]>(number, text, fc.constant(null)), {
        minLength: 1,
        maxLength: 3,
      }),
    }),
    fc.record(
      {
        $ref: fc.constantFrom("#/definitions/small", "#/definitions/list", "#/definitions/list/items/0", "#inner"),
        maximum: number,
        maxLength: count,
      },
      { requiredKeys: ["$ref"] },
    ),
  );
  return fc.letrec<{ schema: object }>(tie => ({
    schema: fc.oneof(
      { depthSize: "small", withCrossShrink: true },
      leaf,
      fc.record(
        {
          items:
            draft < 2020
              ? fc.oneof<fc.Arbitrary<unknown>[]>(
                  fc.array(tie("schema"), { minLength: 1, maxLength: 2 }),
                  tie("schema"),
                )
              : tie("schema"),
          ...(draft < 2020 && { additionalItems: tie("schema") }),
          minItems: count,
        },
        { requiredKeys: ["items"] },
      ),
      fc.record(
        {
          properties: fc.dictionary(fc.constantFrom("a", "b"), tie("schema")),
          additionalProperties: fc.oneof<fc.Arbitrary<unknown>[]>(fc.boolean(), tie("schema")),
          dependencies: fc.dictionary(
            fc.constantFrom("a", "b"),
            fc.oneof<fc.Arbitrary<unknown>[]>(fc.constant(["b"]), tie("schema")),
          ),
          required: fc.constant(["a"]),
        },
        { requiredKeys: ["properties"] },
      ),
      fc.record({ anyOf: fc.array(tie("schema"), { minLength: 1, maxLength: 2 }) }),
      fc.record(
        { allOf: fc.array(tie("schema"), { minLength: 1, maxLength: 2 }), not: tie("schema") },
        { requiredKeys: ["allOf"] },
      ),
    ),
  })).schema;
}

const someValue = fc.letrec<{ value: JsonValue }>(tie => ({
  value: fc.oneof(
    { depthSize: "small" },
    fc.constantFrom<JsonValue>(null, true, 0, 1, 2, 3, 4, 5, 6, "", "a", "ab", "abc"),
    fc.array(tie("value"), { maxLength: 3 }),
    fc.dictionary(fc.constantFrom("a", "b", "c"), tie("value")),
  ),
})).value;

const number = { [draft04]: 4, [draft06]: 6, [draft07]: 7, [draft2019]: 2019, [draft2020]: 2020 };

test.each(names.slice(0, 4))("%s: random schemas take the same random values as the original", $schema => {
  const anchor =
    number[$schema] === 4 ? { id: "#inner" } : (number[$schema] ?? 0) <= 7 ? { $id: "#inner" } : { $anchor: "inner" };
  const more = { definitions: { ...definitions, one: { ...anchor, type: "string", maxLength: 2 } } };
  const property = fc.property(
    schemasOf(number[$schema] ?? 0),
    fc.array(someValue, { minLength: 5, maxLength: 20 }),
    (field, some) => {
      const schema = scopeWith($schema, field, more);
      const ours = compileScope("a", schema).fields.get("a");
      const reference = dialects[$schema]().compile(structuredClone(schema));
      for (const a of some) expect(ours?.validate(a) === undefined, JSON.stringify(a)).toBe(reference({ a }));
    },
  );
  fc.assert(property, { numRuns: 60 });
});

test.each([
  [
    "it is of an unknown draft",
    { $schema: "http://json-schema.org/draft-03/schema#", properties: {} },
    /draft-03.*known are draft-04/,
  ],
  [
    "references lead outside, all of which are named",
    scopeWith(draft07, { anyOf: [{ $ref: "http://x.test/y" }, { $ref: "z.json" }] }),
    /http:\/\/x\.test\/y.*outside.*z\.json.*outside/,
  ],
  ["a reference leads to no schema", scopeWith(draft07, { $ref: "#/properties" }), /does not point to a schema/],
  [
    "there are several dynamic anchors of a name",
    scopeWith(draft2020, { $dynamicAnchor: "n" }, { $defs: { b: { $dynamicAnchor: "n" } } }),
    /several \$dynamicAnchor/,
  ],
  [
    "fields are wrong, all of which are named",
    { properties: { a: { type: "nonsense" }, b: {}, c: { minLength: -1 } } },
    /"a".*"c"/,
  ],
])("a schema is refused if %s", (_why, schema, message) => {
  expect(() => compileScope("x", schema)).toThrow(ScopeSchemaError);
  expect(() => compileScope("x", schema)).toThrow(message);
});

test("fields behind a reference and allOf at the root are fields; without a default they are null; what is not checked is said", () => {
  const scope = compileScope("x", {
    $schema: draft07,
    $ref: "#/definitions/settings",
    definitions: {
      settings: {
        allOf: [
          { $ref: "#/definitions/base" },
          {
            properties: { b: { type: "integer", default: 2, "x-env": "B" }, a: { maxLength: 3, title: "A" } },
            required: ["a", "b"],
          },
        ],
        minProperties: 1,
      },
      base: { type: "object", properties: { a: { type: "string" } } },
    },
  });
  expect([...scope.fields.keys()]).toEqual(["a", "b"]);
  expect(scope.schema.properties["a"]).toMatchObject({ default: null, title: "A" });
  expect(scope.schema.properties["b"]).toMatchObject({ default: 2, "x-env": "B" });
  expect(scope.required).toEqual(["a"]);
  expect(scope.notes).toEqual(["minProperties is a rule for all fields together, which is not checked"]);
  const check = (value: JsonValue) => scope.fields.get("a")?.validate(value) === undefined;
  expect([check("abc"), check("abcd"), check(1), check(null)]).toEqual([true, false, false, false]);
});

/** What Ajv does not answer as the drafts say. */
const known: readonly (readonly [
  Dialect,
  what: string,
  field: object,
  taken: readonly JsonValue[],
  refused: readonly JsonValue[],
  more?: object,
])[] = [
  [draft04, "an exclusive limit without its limit", { exclusiveMinimum: true }, [0, "a"], []],
  [draft07, "type beside a reference", { $ref: "#/definitions/small", type: "string" }, [1], ["a", 5], { definitions }],
  [
    draft07,
    "$id beside a reference",
    { $id: "http://x.test/", $ref: "#/definitions/small" },
    [1],
    [5],
    { definitions },
  ],
  [
    draft2019,
    "$recursiveRef",
    { $ref: "#/$defs/tree" },
    [1, { x: { a: 1 } }],
    ["a", { x: { a: "x" } }],
    { $defs: { tree: { $id: "tree", type: ["object", "integer"], additionalProperties: { $recursiveRef: "#" } } } },
  ],
  [
    draft2020,
    "$dynamicRef",
    { $dynamicRef: "#node" },
    ["a", { a: { b: "x" } }],
    [1, { a: { b: 1 } }],
    {
      $defs: {
        one: { $dynamicAnchor: "node", type: ["object", "string"], additionalProperties: { $dynamicRef: "#node" } },
      },
    },
  ],
];

for (const [$schema, what, field, taken, refused, more] of known)
  test(`${$schema}, ${what}`, () => {
    const ours = compileScope("a", scopeWith($schema, field, more)).fields.get("a");
    for (const value of taken) expect(ours?.validate(value), JSON.stringify(value)).toBeUndefined();
    for (const value of refused) expect(ours?.validate(value), JSON.stringify(value)).toBeDefined();
  });

test.each([
  ["behind its reference", { $ref: "#/definitions/port" }, 8080],
  ["behind two references", { $ref: "#/definitions/other" }, 8080],
  ["its own before that", { $ref: "#/definitions/port", default: 1 }, 1],
  ["of a property that is a field", { $ref: "#/properties/plain" }, 5],
  ["without one", { $ref: "#/definitions/none" }, null],
])("the default of a field: %s", (_what, a, expected) => {
  const definitions = {
    port: { type: "integer", default: 8080 },
    other: { $ref: "#/definitions/port" },
    none: { type: "integer" },
  };
  for (const $schema of [draft07, draft2020]) {
    const properties = { a, plain: { type: "integer", default: 5 } };
    const scope = compileScope("a", { $schema, type: "object", properties, definitions, required: ["a"] });
    expect(scope.fields.get("a")?.schema.default).toBe(expected);
    expect(scope.required).toEqual(expected === null ? ["a"] : []);
  }
});

test.each(["#/%zz", "#/definitions/gone", "#a", "#/definitions/loop", ""])(
  "a field whose reference is %j has no default from it",
  $ref => {
    const definitions = { loop: { $ref: "#/definitions/loop" } };
    const compile = () =>
      compileScope("a", { $schema: draft07, type: "object", properties: { a: { $ref } }, definitions });
    expect(compile).toThrow(ScopeSchemaError);
  },
);

test("a default behind a reference that does not match is told", () => {
  const definitions = { port: { type: "integer", default: "x" } };
  const properties = { a: { $ref: "#/definitions/port" } };
  expect(() => compileScope("a", { $schema: draft07, type: "object", properties, definitions })).toThrow(
    /the default of "a" does not match/,
  );
});

test("what is masked behind a definition of an older draft is masked for a limited key and without a default; ours beside $ref are not lost", () => {
  const masked = { type: "string", "x-masked": true };
  const scope = compileScope("x", {
    $schema: draft07,
    definitions: { "a/b": masked },
    properties: {
      $schema: {},
      whole: { $ref: "#/definitions/a~1b" },
      part: { type: "object", properties: { p: { $ref: "#/definitions/a~1b" } } },
    },
  });
  expect([...scope.fields.keys()]).toEqual(["whole", "part"]);
  expect(scope.fields.get("whole")?.schema["x-masked"]).toBe(true);
  expect(scope.fields.get("part")?.schema["properties"]).toMatchObject({ p: { "x-masked": true } });
  for (const beside of [{ properties: { a: { "x-command": true } } }, { allOf: [{ "x-masked": true }] }])
    expect(() =>
      compileScope("x", scopeWith(draft07, { $ref: "#/definitions/s", ...beside }, { definitions: { s: {} } })),
    ).toThrow(/beside \$ref has no effect/);
});

test.each<[string, object]>([
  ["it as a whole", { "x-masked": true }],
  ["what the $ref at the root leads to", { $ref: "#/definitions/whole" }],
  ["a part of the allOf at the root", { allOf: [{ $ref: "#/definitions/whole" }] }],
  ["names by a pattern", { patternProperties: { "^a": { "x-masked": true } } }],
  ["a choice for all fields", { anyOf: [{ properties: { a: { $ref: "#/definitions/secret" } } }] }],
  ["a rule in the allOf at the root", { allOf: [{ not: { properties: { a: { "x-masked": true } } } }] }],
])("a scope of which %s is masked hides every field", (_, root) => {
  const secret = { type: "string", "x-masked": true };
  const whole = { type: "object", properties: { a: { type: "string" } }, "x-masked": true };
  const properties = { a: { type: "string" }, b: { type: "object", properties: { c: {} } } };
  const scope = compileScope("x", { type: "object", properties, definitions: { secret, whole }, ...root });
  const fields = [...scope.fields.values()].map(({ schema }) => schema);
  for (const field of [...fields, ...Object.values(withMasks(scope.schema).properties)])
    expect(field["x-masked"]).toBe(true);
});

test("properties whose names no field can have are left out by name, and references to them and to the whole keep their meaning", () => {
  const scope = compileScope("x", {
    $schema: draft07,
    type: "object",
    properties: {
      $schema: { type: "string" },
      "two words": { type: "integer", "x-env": "TWO" },
      port: { $ref: "#/properties/two%20words" },
      nested: { $ref: "#" },
    },
    required: ["two words"],
    additionalProperties: false,
  });
  expect([...scope.fields.keys()]).toEqual(["port", "nested"]);
  expect(scope.notes).toEqual(['"two words" cannot be the name of a field, so it is left out']);
  const check = (field: string, value: JsonValue) => scope.fields.get(field)?.validate(value) === undefined;
  expect([check("port", 1), check("port", "a")]).toEqual([true, false]);
  const inner = { $schema: "x", "two words": 1, port: 2 };
  expect([check("nested", inner), check("nested", { ...inner, nested: { "two words": 1 } })]).toEqual([true, true]);
  expect([check("nested", {}), check("nested", { ...inner, other: 1 })]).toEqual([false, false]);
  expect(check("nested", { ...inner, "two words": "a" })).toBe(false);
});

test("references to properties behind allOf keep their meaning", () => {
  const scope = compileScope("x", {
    allOf: [{ properties: { a: { type: "string", "x-env": "A" } } }, { properties: { a: { maxLength: 2 } } }],
    properties: { b: { $ref: "#/allOf/0/properties/a" }, c: { $ref: "#/allOf/1/properties/a" } },
  });
  const check = (field: string, value: JsonValue) => scope.fields.get(field)?.validate(value) === undefined;
  expect([check("a", "ab"), check("a", "abc"), check("b", "abc"), check("b", 1)]).toEqual([true, false, true, false]);
  expect([check("c", "abc"), check("c", 1)]).toEqual([false, true]);
});

test.each([
  ["to itself", { a: { $ref: "#/$defs/a" } }],
  ["through others", { a: { allOf: [{ $ref: "#/$defs/b" }] }, b: { $ref: "#/$defs/a" } }],
  ["through alternatives", { a: { anyOf: [{ type: "null" }, { not: { $ref: "#/$defs/a" } }] } }],
])("a reference that leads back %s without a part of the value is refused", (_, $defs) => {
  expect(() => compileScope("x", { properties: { f: { $ref: "#/$defs/a" } }, $defs })).toThrow(
    /its \$ref "#\/\$defs\/[ab]" leads back to itself before it reaches a part of the value/,
  );
});

test("a reference that leads back through members, items or names is a tree, and checked as deep as the value goes", () => {
  const tree = {
    type: "object",
    properties: { left: { $ref: "#/$defs/tree" }, more: { items: { anyOf: [{ $ref: "#/$defs/tree" }] } } },
    additionalProperties: false,
  };
  const { fields } = compileScope("x", { properties: { f: { $ref: "#/$defs/tree" } }, $defs: { tree } });
  expect(fields.get("f")?.validate({ left: { more: [{ left: {} }] } })).toBeUndefined();
  expect(fields.get("f")?.validate({ left: { more: [{ left: { x: 1 } }] } })).toMatchObject({
    path: "/left/more/0/left",
  });
});

test("a part with an $id and a $schema of its own has the meaning of its own draft", () => {
  const part = { $schema: draft04, $id: "part.json", maximum: 5, exclusiveMaximum: true };
  const referring = {
    $schema: draft07,
    $id: "other.json",
    $ref: "#/definitions/x",
    maximum: 1,
    definitions: { x: {} },
  };
  const { fields } = compileScope("x", {
    $schema: draft2020,
    properties: { a: { $ref: "part.json" }, b: { $ref: "other.json" }, c: { prefixItems: [{ type: "null" }] } },
    $defs: { part, referring },
  });
  const check = (field: string, value: JsonValue) => fields.get(field)?.validate(value) === undefined;
  expect([check("a", 4), check("a", 5), check("b", 9), check("c", [1])]).toEqual([true, false, true, false]);
});
