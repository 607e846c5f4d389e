import { isJsonObject, type JsonObject, type JsonValue } from "../../../shared/json.ts";
import type { ValueSchema } from "../../../shared/scopes/scope-schema.ts";
import { valueAt } from "../../../shared/value-edit.ts";

/** Schemas that are followed for one field: references to references may make any number of few lines. */
const mostParts = 1_000;
/** Deeper parts are not shown. */
const deepest = 6;

/**
 * A field's schema for people: with the keywords of what its `$ref`, `allOf`, members and alternatives refer to, as far as they are shown. Its
 * own keywords come first. `root`: the scope's schema, into which references point.
 */
export function resolvedSchema(schema: ValueSchema, root: unknown): ValueSchema {
  const left = { parts: mostParts };
  const resolved = (part: JsonValue | undefined, depth: number, open: readonly string[]): JsonObject => {
    left.parts -= 1;
    if (!isJsonObject(part)) return {};
    if (left.parts < 0 || depth > deepest) return part;
    const { $ref, allOf, properties, items, additionalProperties, anyOf, oneOf } = part;
    const within = (one: JsonValue | undefined) => (isJsonObject(one) ? resolved(one, depth + 1, open) : (one ?? true));
    const isNew = typeof $ref === "string" && !open.includes($ref);
    const target = isNew ? resolved(valueAt(root, decoded($ref.slice(1))), depth, [...open, $ref]) : {};
    const all = [target, ...(Array.isArray(allOf) ? allOf.map(one => resolved(one, depth, open)) : [])];
    const own: { [keyword: string]: JsonValue } = Object.assign({}, ...all, part);
    const members = [...all, part].map(one => one["properties"]).filter(isJsonObject);
    if (members.length > 0) own["properties"] = Object.assign({}, ...members);
    if (isJsonObject(own["properties"]) && properties !== undefined)
      own["properties"] = Object.fromEntries(
        Object.entries(own["properties"]).map(([name, one]) => [name, within(one)]),
      );
    if (items !== undefined) own["items"] = within(items);
    if (additionalProperties !== undefined) own["additionalProperties"] = within(additionalProperties);
    if (Array.isArray(anyOf)) own["anyOf"] = anyOf.map(within);
    if (Array.isArray(oneOf)) own["oneOf"] = oneOf.map(within);
    return own;
  };
  return resolved(schema as JsonObject, 0, []) as ValueSchema;
}

function decoded(pointer: string): string {
  try {
    return decodeURIComponent(pointer);
  } catch {
    return pointer;
  }
}

/** Describes in words which values a schema accepts. */
export function describeType(schema: ValueSchema): string {
  const { type, enum: choices, minimum, maximum, pattern, description } = schema;
  if (Array.isArray(choices)) return `one of ${choices.map(choice => JSON.stringify(choice)).join(", ")}`;
  if (schema["x-keyOf"] !== undefined) return `"" or a key of ${schema["x-keyOf"]}`;
  if (schema["const"] !== undefined) return JSON.stringify(schema["const"]);
  const alternatives = schema["anyOf"] ?? schema["oneOf"];
  if (type === undefined && Array.isArray(alternatives))
    return [...new Set(alternatives.map(one => (isJsonObject(one) ? describeType(one) : "anything")))].join(" or ");
  const types = type === undefined ? "anything" : [type].flat().join(" or ");
  const { exclusiveMinimum: above, exclusiveMaximum: below, multipleOf } = schema;
  const limits = [
    minimum === undefined ? "" : `from ${String(minimum)}`,
    above === undefined ? "" : `above ${String(above)}`,
    maximum === undefined ? "" : `to ${String(maximum)}`,
    below === undefined ? "" : `below ${String(below)}`,
    multipleOf === undefined ? "" : `in steps of ${String(multipleOf)}`,
    // A description in words is clearer than a pattern.
    pattern === undefined || description !== undefined ? "" : `matching ${String(pattern)}`,
  ].filter(limit => limit !== "");
  return limits.length === 0 ? types : `${types} ${limits.join(" ")}`;
}

/** Deeper nested values are shown as "...". */
const maximumDepth = 4;

/** The shape of an object or array, written like JSON with types as values; undefined for simple types. */
export function describeShape(schema: object): string | undefined {
  const shape = shapeOf({ ...schema }, 0);
  return /[{[]/.test(shape) ? shape : undefined;
}

function shapeOf(schema: unknown, depth: number): string {
  if (!isJsonObject(schema)) return "any value";
  const { type, enum: choices, items } = schema;
  if (Array.isArray(choices)) return choices.map(choice => JSON.stringify(choice)).join(" | ");
  if (isJsonObject(items)) return depth === maximumDepth ? "[...]" : `[${shapeOf(items, depth + 1)}, ...]`;
  const members = membersOf(schema, depth);
  if (members.length > 0) return depth === maximumDepth ? "{...}" : `{ ${members.join(", ")} }`;
  const alternatives = schema["anyOf"] ?? schema["oneOf"];
  if (type === undefined && Array.isArray(alternatives) && depth < maximumDepth)
    return [...new Set(alternatives.map(one => shapeOf(one, depth + 1)))].join(" | ");
  if (type === undefined && schema["const"] !== undefined) return JSON.stringify(schema["const"]);
  return type === undefined ? "any value" : [type].flat().join(" | ");
}

function membersOf({ properties, additionalProperties, required }: JsonObject, depth: number): string[] {
  const needed = new Set(Array.isArray(required) ? required : []);
  const named = Object.entries(isJsonObject(properties) ? properties : {}).map(
    ([name, member]) => `${JSON.stringify(name)}${needed.has(name) ? "" : "?"}: ${shapeOf(member, depth + 1)}`,
  );
  return isJsonObject(additionalProperties)
    ? [...named, `NAME: ${shapeOf(additionalProperties, depth + 1)}, ...`]
    : named;
}
