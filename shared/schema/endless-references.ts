import { isJsonObject, type JsonObject } from "../json.ts";
import { schemaPace } from "./schema-pace.ts";
import type { SchemaResources } from "./schema-resources.ts";
import { subschemas } from "./subschemas.ts";

/** Keywords whose schemas are about the same value as the schema that has them. */
const aboutTheSame = ["allOf", "anyOf", "dependencies", "dependentSchemas", "else", "if", "not", "oneOf", "then"];

/** References that are told of a file. */
const mostFound = 50;

/**
 * The schemas whose `$ref` leads back to themselves before it reaches a part of the value, so that no check of a value would end. References
 * that come back through `properties` or `items` are fine: values end. Yields now and then.
 */
export function* endlessReferences(resources: SchemaResources): Generator<void, JsonObject[]> {
  const found = new Set<JsonObject>();
  const done = new Set<JsonObject>();
  const open = new Map<JsonObject, Iterator<JsonObject>>();
  const isLong = schemaPace();
  for (const start of resources.schemas) {
    // A stack of our own: a chain of references may be longer than the one of calls.
    const path = [start];
    for (let at = path.at(-1); at !== undefined; at = path.at(-1)) {
      if (isLong()) yield;
      const inner = open.get(at) ?? nextOf(at, resources);
      open.set(at, inner);
      const next = done.has(at) ? undefined : inner.next();
      if (next === undefined || next.done === true) {
        done.add(at);
        open.delete(at);
        path.pop();
      } else if (open.has(next.value)) {
        // From the end of the way: copies of it would take quadratic time.
        const referring = path.findLast(schema => typeof schema["$ref"] === "string" || schema === next.value);
        if (referring !== undefined) found.add(referring);
        if (found.size >= mostFound) return [...found];
      } else path.push(next.value);
    }
  }
  return [...found];
}

function* nextOf(schema: JsonObject, resources: SchemaResources): Generator<JsonObject> {
  const { $ref } = schema;
  const target = typeof $ref === "string" ? resources.resolve(schema, $ref) : undefined;
  if (isJsonObject(target)) yield target;
  const same = Object.fromEntries(Object.entries(schema).filter(([keyword]) => aboutTheSame.includes(keyword)));
  yield* subschemas(same);
}
