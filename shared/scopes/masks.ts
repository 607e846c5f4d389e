import { isJsonObject, type JsonObject, type JsonValue } from "../json.ts";
import { runToEnd } from "../run-to-end.ts";
import { schemaPace } from "../schema/schema-pace.ts";
import { SchemaResources } from "../schema/schema-resources.ts";
import { subschemas } from "../schema/subschemas.ts";
import type { FieldSchema, ScopeSchema, ValueSchema } from "./scope-schema.ts";
import { maskValue } from "./value-text.ts";

/**
 * The schemas of fields, with `x-masked` wherever following `properties`, `additionalProperties` and `items` would not find it.
 */
type FieldSchemas = { readonly [field: string]: FieldSchema };

const known = new WeakMap<object, boolean>();

/** Whether the value, or a part of it, is masked. `schema` comes from `withMasks`. */
export function masksAnything(schema: ValueSchema): boolean {
  const before = known.get(schema);
  if (before !== undefined) return before;
  const found = schema["x-masked"] === true || [...rulesIn(schema as JsonObject)].some(masksAnything);
  known.set(schema, found);
  return found;
}

/** The value with `mask` in place of its masked parts. `schema` comes from `withMasks`. */
export function maskParts(value: JsonValue, schema: ValueSchema, mask: string): JsonValue {
  if (schema["x-masked"] === true) return maskValue(value, mask);
  if (typeof value !== "object" || value === null || !masksAnything(schema)) return value;
  const { items } = schema;
  if (!isJsonObject(value)) return value.map(item => maskParts(item, schemaOf(items), mask));
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [name, maskParts(member, schemaOfMember(schema, name), mask)]),
  );
}

/** Where a schema masks, as a text to compare; undefined: nowhere. `schema` comes from `withMasks`. */
export function masksOf(schema: ValueSchema): string | undefined {
  return masksAnything(schema) ? JSON.stringify(masksIn(schema)) : undefined;
}

function masksIn(schema: ValueSchema): JsonObject {
  if (schema["x-masked"] === true) return { "x-masked": true };
  const { properties = {}, additionalProperties, items } = schema;
  const places = { ...(properties as JsonObject), "additional properties": additionalProperties, "an item": items };
  const masking = Object.entries(places).filter(([, one]) => masksAnything(schemaOf(one)));
  return Object.fromEntries(masking.map(([name, one]) => [name, masksIn(schemaOf(one))]));
}

/** The schema of a member, from `properties` or `additionalProperties` only. */
export function schemaOfMember({ properties, additionalProperties }: ValueSchema, name: string): ValueSchema {
  const isOwn = isJsonObject(properties) && Object.hasOwn(properties, name);
  return schemaOf(isOwn ? properties[name] : additionalProperties);
}

/** The schema of a part: everything inside a masked value is masked too, except names (see `maskValue`). */
export function maskedWithin(outer: ValueSchema, inner: ValueSchema, name?: string): ValueSchema {
  return outer["x-masked"] === true && name !== "name" ? { ...inner, "x-masked": true } : inner;
}

/** A schema as an object; anything else becomes the empty schema. */
export function schemaOf(schema: unknown): ValueSchema {
  return isJsonObject(schema) ? (schema as ValueSchema) : {};
}

/**
 * Marks every place in a scope's schema that is masked only through a `$ref`, an `anyOf` or the like, so that readers need not
 * follow them.
 */
export function withMasks(scope: ScopeSchema): ScopeSchema {
  // Schemas are always JSON.
  const resources = runToEnd(SchemaResources.reading(scope as unknown as JsonObject));
  return { ...scope, properties: runToEnd(markingMasks(scope, resources)) };
}

/** Like `withMasks`, for the fields only. Yields now and then. */
export function* markingMasks(scope: ScopeSchema, resources: SchemaResources): Generator<void, FieldSchemas> {
  const leadingTo = new Map<JsonObject, JsonObject[]>();
  const found: JsonObject[] = [];
  const isLong = schemaPace();
  for (const schema of resources.schemas) {
    if (isLong()) yield;
    // What a reference leads to is not always there, and may be masked.
    if (schema["x-masked"] === true || hasLostReference(schema, resources)) found.push(schema);
    for (const target of targetsOf(schema, resources)) {
      const from = leadingTo.get(target) ?? [];
      leadingTo.set(target, from);
      from.push(schema);
    }
  }
  const masking = new Set(found);
  for (let next = found.pop(); next !== undefined; next = found.pop()) {
    if (isLong()) yield;
    for (const from of leadingTo.get(next) ?? []) {
      if (masking.has(from)) continue;
      masking.add(from);
      found.push(from);
    }
  }
  function* mark(schema: JsonValue): Generator<void, JsonValue> {
    if (!isJsonObject(schema) || !masking.has(schema) || schema["x-masked"] === true) return schema;
    if (isLong()) yield;
    if (hasLostReference(schema, resources)) return { ...schema, "x-masked": true };
    const stepped = new Set(steppedInto(schema));
    const isHidden = [...targetsOf(schema, resources)].some(target => !stepped.has(target) && masking.has(target));
    if (isHidden) return { ...schema, "x-masked": true };
    const { properties, additionalProperties, items } = schema;
    return {
      ...schema,
      ...(isJsonObject(properties) && { properties: yield* markAll(properties) }),
      ...(additionalProperties !== undefined && { additionalProperties: yield* mark(additionalProperties) }),
      ...(items !== undefined && { items: yield* mark(items) }),
    };
  }
  function* markAll(schemas: JsonObject): Generator<void, JsonObject> {
    const made: [name: string, schema: JsonValue][] = [];
    for (const [name, schema] of Object.entries(schemas)) made.push([name, yield* mark(schema)]);
    return Object.fromEntries(made);
  }
  // What masks the scope as a whole, or is a rule for all of its fields together, masks each.
  const whole = (yield* mark(scope as unknown as JsonObject)) as JsonObject;
  const fields = whole["properties"] as JsonObject;
  const isWhole = whole["x-masked"] === true;
  const marked = Object.entries(fields).map(([name, field]) => [
    name,
    isWhole && isJsonObject(field) ? { ...field, "x-masked": true } : field,
  ]);
  // They stay field schemas; at most `x-masked` was added.
  return isWhole ? Object.fromEntries(marked) : (fields as unknown as FieldSchemas);
}

/** The schemas directly inside a schema, except for definitions, which have no effect until something refers to them. */
function rulesIn({ $defs: _, definitions: __, ...rules }: JsonObject): Generator<JsonObject> {
  return subschemas(rules);
}

/** The schemas that a schema leads to: those directly inside it and those it refers to. */
function* targetsOf(schema: JsonObject, resources: SchemaResources): Generator<JsonObject> {
  yield* rulesIn(schema);
  for (const reference of [schema["$ref"], schema["$dynamicRef"]]) {
    const target = typeof reference === "string" ? resources.resolve(schema, reference) : undefined;
    if (isJsonObject(target)) yield target;
  }
}

function hasLostReference(schema: JsonObject, resources: SchemaResources): boolean {
  return [schema["$ref"], schema["$dynamicRef"]].some(
    reference => typeof reference === "string" && resources.resolve(schema, reference) === undefined,
  );
}

/** The inner schemas that `maskParts` and the screen's diff follow by themselves. */
function steppedInto({ properties, additionalProperties, items }: JsonObject): JsonObject[] {
  const members = isJsonObject(properties) ? Object.values(properties) : [];
  return [...members, additionalProperties, items].filter(isJsonObject);
}
