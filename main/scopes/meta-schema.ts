import type { JsonObject } from "../../shared/json.ts";
import { type CompiledSchema, SchemaCompiler } from "../../shared/schema/compile-schema.ts";
import { fieldKeywords } from "../../shared/scopes/scope-schema.ts";

const text = { type: "string" };
const flag = { type: "boolean" };
const number = { type: "number" };
const count = { type: "integer", minimum: 0 };
const names = { type: "array", items: text, uniqueItems: true };
// biome-ignore lint/suspicious/noThenProperty: a rule of JSON Schema is called so.
const oneOrMore = { if: { type: "array" }, then: { ...names, minItems: 1, maxItems: 100 }, else: text };
const inner = { $ref: "#/$defs/inner" };
const list = { type: "array", minItems: 1, items: inner };
const map = { type: "object", additionalProperties: inner };
const typeName = { enum: ["array", "boolean", "integer", "null", "number", "object", "string"] };

/** The schema of each keyword: JSON Schema's (2020-12, the vocabularies' meta-schemas) and ours. Others have no effect. */
const rules: JsonObject = {
  $schema: text,
  $id: text,
  $ref: text,
  $anchor: text,
  $dynamicRef: text,
  $dynamicAnchor: text,
  $comment: text,
  $defs: map,
  definitions: map,
  title: text,
  description: text,
  deprecated: flag,
  readOnly: flag,
  writeOnly: flag,
  examples: { type: "array" },
  format: text,
  contentEncoding: text,
  contentMediaType: text,
  contentSchema: inner,
  // biome-ignore lint/suspicious/noThenProperty: a rule of JSON Schema is called so.
  type: { if: { type: "array" }, then: { minItems: 1, uniqueItems: true, items: typeName }, else: typeName },
  enum: { type: "array" },
  multipleOf: { type: "number", exclusiveMinimum: 0 },
  maximum: number,
  exclusiveMaximum: number,
  minimum: number,
  exclusiveMinimum: number,
  maxLength: count,
  minLength: count,
  pattern: text,
  maxItems: count,
  minItems: count,
  uniqueItems: flag,
  uniqueItemProperties: names,
  maxContains: count,
  minContains: count,
  maxProperties: count,
  minProperties: count,
  required: names,
  dependentRequired: { type: "object", additionalProperties: names },
  allOf: list,
  anyOf: list,
  oneOf: list,
  not: inner,
  if: inner,
  // biome-ignore lint/suspicious/noThenProperty: a rule of JSON Schema is called so.
  then: inner,
  else: inner,
  dependentSchemas: map,
  prefixItems: list,
  items: inner,
  contains: inner,
  properties: map,
  patternProperties: map,
  additionalProperties: inner,
  propertyNames: inner,
  unevaluatedItems: inner,
  unevaluatedProperties: inner,
  "x-keyOf": text,
  "x-masked": flag,
  "x-unit": text,
  "x-labels": { type: "array", items: text },
  "x-path": flag,
};

/** Refuses whole-field keywords inside a field's schema: they have no effect there, and x-command and x-env must not be lost. */
const notField: JsonObject = Object.fromEntries(fieldKeywords.map(keyword => [keyword, false]));
/** Keywords for a whole field: those of `fieldKeywords` that are not in `rules`. */
const ofField: JsonObject = {
  "x-command": flag,
  "x-env": { type: "string", pattern: "^[A-Za-z_][A-Za-z0-9_]*$" },
  "x-env-in": { const: "run" },
  "x-secret": flag,
  "x-renamedFrom": oneOrMore,
  "x-layers": { type: "array", minItems: 1, uniqueItems: true, items: { enum: ["shared", "local"] } },
  "x-step": { type: "integer", minimum: 1, maximum: Number.MAX_SAFE_INTEGER },
};
const dialects = ["", "#"].map(end => `https://json-schema.org/draft/2020-12/schema${end}`);
const schemas: JsonObject = {
  $defs: {
    inner: { type: ["object", "boolean"], properties: { ...rules, ...notField } },
    field: { type: "object", properties: { ...rules, ...ofField } },
    // The fields are checked one by one.
    scope: { type: "object", properties: { ...rules, ...notField, $schema: { enum: dialects }, properties: true } },
  },
};
const compiler = SchemaCompiler.of(schemas);

/** The keywords that are known, whether they have an effect or not. */
export const knownKeywords: ReadonlySet<string> = new Set([
  ...[
    ...Object.keys(rules),
    ...Object.keys(ofField),
    "additionalItems",
    "const",
    "default",
    "dependencies",
    "x-required",
    "$vocabulary",
  ],
  // What editors show.
  ...[
    "allowComments",
    "allowTrailingCommas",
    "defaultSnippets",
    "deprecationMessage",
    "doNotSuggest",
    "enumDescriptions",
  ],
  ...["errorMessage", "markdownDescription", "markdownEnumDescriptions", "patternErrorMessage", "suggestSortText"],
]);

/** The schemas for a scope's schema, without its fields, and for a field's schema. */
export const metaSchemas = {
  scope: compiler.compile({ $ref: "#/$defs/scope" }),
  field: compiler.compile({ $ref: "#/$defs/field" }),
} satisfies Record<string, CompiledSchema>;
