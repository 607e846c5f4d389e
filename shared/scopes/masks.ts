import { isJsonObject, type JsonObject, type JsonValue } from "../json.ts";
import { runToEnd } from "../run-to-end.ts";
import { SchemaResources, schemasAtOnce } from "../schema/schema-resources.ts";
import { subschemas } from "../schema/subschemas.ts";
import type { FieldSchema, ScopeSchema, ValueSchema } from "./scope-schema.ts";
import { maskValue } from "./value-text.ts";

/** The schemas of fields, each with `x-masked` wherever what is masked cannot be found by members and items alone. */
type FieldSchemas = { readonly [field: string]: FieldSchema };

const known = new WeakMap<object, boolean>();

/** Whether the value, or a part of it, is masked. `schema`: as `withMasks` gives it. */
export function masksAnything(schema: ValueSchema): boolean {
  const before = known.get(schema);
  if (before !== undefined) return before;
  const found = schema["x-masked"] === true || [...rulesIn(schema as JsonObject)].some(masksAnything);
  known.set(schema, found);
  return found;
}

/** The value with `mask` in the place of what is masked in it. `schema`: as `withMasks` gives it. */
export function maskParts(value: JsonValue, schema: ValueSchema, mask: string): JsonValue {
  if (schema["x-masked"] === true) return maskValue(value, mask);
  if (typeof value !== "object" || value === null || !masksAnything(schema)) return value;
  const { items } = schema;
  if (!isJsonObject(value)) return value.map(item => maskParts(item, schemaOf(items), mask));
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [name, maskParts(member, schemaOfMember(schema, name), mask)]),
  );
}

/** What a schema says of a member, by `properties` or `additionalProperties` alone. */
export function schemaOfMember({ properties, additionalProperties }: ValueSchema, name: string): ValueSchema {
  const isOwn = isJsonObject(properties) && Object.hasOwn(properties, name);
  return schemaOf(isOwn ? properties[name] : additionalProperties);
}

/** A schema as an object; one that is none says nothing. */
export function schemaOf(schema: unknown): ValueSchema {
  return isJsonObject(schema) ? (schema as ValueSchema) : {};
}

/** A scope whose schema says in each place by itself that it is masked, also where a `$ref`, an `anyOf` or the like leads to that. */
export function withMasks(scope: ScopeSchema): ScopeSchema {
  // Of JSON, as all schemas are.
  const resources = runToEnd(SchemaResources.reading(scope as unknown as JsonObject));
  return { ...scope, properties: runToEnd(markingMasks(scope, resources)) };
}

/** As `withMasks`, of the fields alone; yields now and then. */
export function* markingMasks(scope: ScopeSchema, resources: SchemaResources): Generator<void, FieldSchemas> {
  const leadingTo = new Map<JsonObject, JsonObject[]>();
  const found: JsonObject[] = [];
  let looked = 0;
  for (const schema of resources.schemas) {
    looked += 1;
    if (looked % schemasAtOnce === 0) yield;
    if (schema["x-masked"] === true) found.push(schema);
    for (const target of targetsOf(schema, resources)) {
      const from = leadingTo.get(target) ?? [];
      leadingTo.set(target, from);
      from.push(schema);
    }
  }
  const masking = new Set(found);
  for (let next = found.pop(); next !== undefined; next = found.pop()) {
    looked += 1;
    if (looked % schemasAtOnce === 0) yield;
    for (const from of leadingTo.get(next) ?? []) {
      if (masking.has(from)) continue;
      masking.add(from);
      found.push(from);
    }
  }
  const mark = (schema: JsonValue): JsonValue => {
    if (!isJsonObject(schema) || !masking.has(schema) || schema["x-masked"] === true) return schema;
    const stepped = new Set(steppedInto(schema));
    const isHidden = [...targetsOf(schema, resources)].some(target => !stepped.has(target) && masking.has(target));
    if (isHidden) return { ...schema, "x-masked": true };
    const { properties, additionalProperties, items } = schema;
    return {
      ...schema,
      ...(isJsonObject(properties) && { properties: markAll(properties) }),
      ...(additionalProperties !== undefined && { additionalProperties: mark(additionalProperties) }),
      ...(items !== undefined && { items: mark(items) }),
    };
  };
  const markAll = (schemas: JsonObject): JsonObject =>
    Object.fromEntries(Object.entries(schemas).map(([name, schema]) => [name, mark(schema)]));
  // Fields stay what they are, with one member more.
  return markAll(scope.properties as unknown as JsonObject) as unknown as FieldSchemas;
}

/** The schemas right in a schema, but for those that say nothing until something refers to them. */
function rulesIn({ $defs: _, definitions: __, ...rules }: JsonObject): Generator<JsonObject> {
  return subschemas(rules);
}

/** What a schema leads to: those right in it, and those it refers to. */
function* targetsOf(schema: JsonObject, resources: SchemaResources): Generator<JsonObject> {
  yield* rulesIn(schema);
  for (const reference of [schema["$ref"], schema["$dynamicRef"]]) {
    const target = typeof reference === "string" ? resources.resolve(schema, reference) : undefined;
    if (isJsonObject(target)) yield target;
  }
}

/** Those of them that `maskParts` and the screen's diff go into by themselves. */
function steppedInto({ properties, additionalProperties, items }: JsonObject): JsonObject[] {
  const members = isJsonObject(properties) ? Object.values(properties) : [];
  return [...members, additionalProperties, items].filter(isJsonObject);
}
