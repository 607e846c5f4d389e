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

/** A copy of a schema with `map` of each schema directly inside it, `true` and `false` included. */
export function mapSubschemas(schema: JsonObject, map: (inner: JsonValue) => JsonValue): JsonObject {
  const mapped = Object.entries(schema).map(([keyword, operand]): [string, JsonValue] => {
    if (oneSchema.has(keyword)) return [keyword, map(operand)];
    if (manySchemas.has(keyword) && Array.isArray(operand)) return [keyword, operand.map(map)];
    if (!namedSchemas.has(keyword) || !isJsonObject(operand)) return [keyword, operand];
    return [keyword, Object.fromEntries(Object.entries(operand).map(([name, inner]) => [name, map(inner)]))];
  });
  return Object.fromEntries(mapped);
}
