import { isJsonObject, type JsonObject, type JsonValue } from "../json.ts";

/** Keywords whose operand is a schema. */
const oneSchema = new Set([
  "additionalProperties",
  "contains",
  "contentSchema",
  "else",
  "if",
  "items",
  "not",
  "propertyNames",
  "then",
  "unevaluatedItems",
  "unevaluatedProperties",
]);
const manySchemas = new Set(["allOf", "anyOf", "oneOf", "prefixItems"]);
const namedSchemas = new Set([
  "$defs",
  "definitions",
  "dependencies",
  "dependentSchemas",
  "patternProperties",
  "properties",
]);

/** Whether a keyword's operand is a schema or contains schemas. */
export function holdsSchemas(keyword: string): boolean {
  return oneSchema.has(keyword) || manySchemas.has(keyword) || namedSchemas.has(keyword);
}

/** The schemas directly inside a schema that are objects. Values in `default`, `enum` and the like are not schemas. */
export function* subschemas(schema: JsonObject): Generator<JsonObject> {
  for (const [keyword, operand] of Object.entries(schema)) {
    let inner: readonly JsonValue[] = [];
    if (oneSchema.has(keyword)) inner = [operand];
    else if (manySchemas.has(keyword) && Array.isArray(operand)) inner = operand;
    else if (namedSchemas.has(keyword) && isJsonObject(operand)) inner = Object.values(operand);
    for (const value of inner) if (isJsonObject(value)) yield value;
  }
}

/** Makes what a schema directly inside another becomes in a copy; yields now and then. */
export type SubschemaMaker = (inner: JsonValue) => Generator<void, JsonValue>;

/** A copy of a schema with what `make` makes of each schema directly inside it, `true` and `false` included. */
export function* mappingSubschemas(schema: JsonObject, make: SubschemaMaker): Generator<void, JsonObject> {
  const mapped: [keyword: string, operand: JsonValue][] = [];
  for (const [keyword, operand] of Object.entries(schema)) {
    let made = operand;
    if (oneSchema.has(keyword)) made = yield* make(operand);
    else if (manySchemas.has(keyword) && Array.isArray(operand)) {
      const all: JsonValue[] = [];
      for (const inner of operand) all.push(yield* make(inner));
      made = all;
    } else if (namedSchemas.has(keyword) && isJsonObject(operand)) {
      const all: [name: string, inner: JsonValue][] = [];
      for (const [name, inner] of Object.entries(operand)) all.push([name, yield* make(inner)]);
      made = Object.fromEntries(all);
    }
    mapped.push([keyword, made]);
  }
  return Object.fromEntries(mapped);
}
