import { isJsonObject, type JsonObject, type JsonValue } from "../../shared/json.ts";
import { schemaPace } from "../../shared/schema/schema-pace.ts";
import { SchemaResources } from "../../shared/schema/schema-resources.ts";
import { holdsSchemas } from "../../shared/schema/subschemas.ts";
import { escapedToken } from "../../shared/value-edit.ts";
import { nextTurn, runInParts } from "../time/turns.ts";
import type { Scope } from "./scopes.ts";

/** Properties of a repository's file in the home that a work tree's file does not have. */
const metadataProperties: JsonObject = {
  name: { type: "string", minLength: 1, description: "The name of the repository." },
  path: { type: "string", description: "The absolute path of its work tree." },
  remote: { type: "string", description: "What it is a clone of (HOST/PATH), in a home with a shared log." },
  favourite: { type: "boolean", description: "Whether it is one of your favourites." },
  inTree: { type: "boolean", description: "Whether the values are stored in the work tree's .repoconf.json." },
};

/**
 * The JSON Schema (2020-12) with which editors complete and check a repository's file: one in the home, or a work tree's
 * `.repoconf.json`, whose other scopes may be meant for somebody else. Made in parts: a scope's schema may have megabytes.
 */
export async function repositorySchemaText(scopes: readonly Scope[], place: "home" | "work tree"): Promise<string> {
  const properties: { [scope: string]: JsonValue } = {};
  for (const { name, schema, renamed } of scopes) {
    const { $schema: _, ...rest } = schema;
    // It was read from a scope's file, so it is a JSON object.
    const whole = rest as JsonObject;
    const resources = await runInParts(SchemaResources.reading(whole));
    // Each of many scopes may take nearly as long as what is done at once.
    await nextTurn();
    const places = await runInParts(placesOf(whole, resources, `#/properties/config/properties/${name}`));
    properties[name] = withOldNames(await runInParts(flattening(whole, resources, places)), renamed);
  }
  const schema = {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    title: "A repository's configuration (Repoconf)",
    // Read by editors that know JSON with comments.
    allowComments: true,
    type: "object",
    properties: {
      $schema: { type: "string" },
      ...(place === "home" && metadataProperties),
      config: {
        type: "object",
        description: "The stored values, by scope and field; all other fields have their defaults.",
        properties,
      },
    },
    additionalProperties: false,
  };
  await nextTurn();
  return `${JSON.stringify(schema, null, 2)}\n`;
}

/**
 * A scope's schema as part of another schema. References become pointers from the root: not every editor resolves `$id` and
 * `$anchor`, and two scopes may use the same ones. Fields that the scope does not have are reported, as by the daemon. Yields now and then.
 */
function* flattening(whole: JsonObject, resources: SchemaResources, places: Places): Generator<void, JsonObject> {
  let isReferred = false;
  const isLong = schemaPace();
  function* moveAll(values: readonly JsonValue[]): Generator<void, JsonValue[]> {
    const moved: JsonValue[] = [];
    for (const value of values) moved.push(yield* move(value));
    return moved;
  }
  function* moveMembers(value: JsonObject, isMoved: (name: string) => boolean): Generator<void, JsonObject> {
    const moved: [name: string, member: JsonValue][] = [];
    for (const [name, member] of Object.entries(value))
      moved.push([name, isMoved(name) ? yield* move(member) : member]);
    return Object.fromEntries(moved);
  }
  function* move(value: JsonValue): Generator<void, JsonValue> {
    // A replacer of JSON.stringify would take five times as long.
    if (typeof value !== "object" || value === null) return value;
    if (!isJsonObject(value)) return yield* moveAll(value);
    if (isLong()) yield;
    if (!resources.schemas.has(value)) return yield* moveMembers(value, () => true);
    const { $ref, $dynamicRef, $id: _, $anchor: __, $dynamicAnchor: ___, ...others } = value;
    // Each is resolved like a `$ref`; if a schema has both, both apply.
    const references = [$ref, $dynamicRef].flatMap(reference => {
      if (typeof reference !== "string") return [];
      isReferred ||= resources.resolve(value, reference) === whole;
      return [{ $ref: pointerTo(value, reference, resources, places) }];
    });
    const [first, second] = references;
    return {
      // `default` and similar keywords contain no schemas, and may have megabytes.
      ...(yield* moveMembers(others, holdsSchemas)),
      ...first,
      ...(second && { allOf: [...(Array.isArray(others["allOf"]) ? yield* moveAll(others["allOf"]) : []), second] }),
    };
  }
  const moved = yield* move(whole);
  const made = isJsonObject(moved) ? moved : {};
  // If the whole schema also applies to a value inside, that value may have other members.
  return isReferred ? made : { ...made, additionalProperties: false };
}

/** Old names of fields still work, so they are not reported; editors strike them through and do not suggest them. */
function withOldNames(scope: JsonObject, renamed: ReadonlyMap<string, string>): JsonObject {
  const { properties } = scope;
  if (renamed.size === 0 || !isJsonObject(properties)) return scope;
  const old = [...renamed].map(([from, to]) => {
    const schema = isJsonObject(properties[to]) ? properties[to] : {};
    return [from, { ...schema, description: `It is now called "${to}".`, deprecated: true, doNotSuggest: true }];
  });
  return { ...scope, properties: { ...properties, ...Object.fromEntries(old) } };
}

type Places = ReadonlyMap<JsonObject, string>;

/** The new place of each schema, as a reference. Yields now and then. */
function* placesOf(whole: JsonObject, resources: SchemaResources, place: string): Generator<void, Places> {
  const places = new Map<JsonObject, string>();
  const isLong = schemaPace();
  function* visit(value: JsonValue, at: string): Generator<void, void> {
    if (typeof value !== "object" || value === null) return;
    if (isLong()) yield;
    const isSchema = isJsonObject(value) && resources.schemas.has(value);
    if (isSchema) places.set(value, at);
    for (const [name, member] of Object.entries(value))
      if (!isSchema || holdsSchemas(name)) yield* visit(member, `${at}/${partOfReference(name)}`);
  }
  yield* visit(whole, place);
  return places;
}

function partOfReference(name: string): string {
  if (/^[\w$.-]*$/.test(name)) return name;
  const escaped = escapedToken(name);
  // A lone surrogate cannot be encoded.
  return escaped.isWellFormed() ? encodeURIComponent(escaped) : escaped;
}

function pointerTo(schema: JsonObject, reference: string, resources: SchemaResources, places: Places): string {
  const isPointer = reference === "#" || reference.startsWith("#/");
  if (isPointer) return `${places.get(resources.partOf(schema))}${reference.slice(1)}`;
  const target = resources.resolve(schema, reference);
  // In a scope that was compiled, every reference has a target.
  return (isJsonObject(target) ? places.get(target) : undefined) ?? reference;
}
