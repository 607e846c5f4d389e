import { createContext } from "react";
import { isJsonObject, type JsonObject, type JsonValue } from "../../shared/json.ts";
import { runToEnd } from "../../shared/run-to-end.ts";
import { SchemaResources } from "../../shared/schema/schema-resources.ts";
import { maskedWithin, schemaOf } from "../../shared/scopes/masks.ts";
import type { ScopeSchema, ValueSchema } from "../../shared/scopes/scope-schema.ts";

const resources = new WeakMap<ScopeSchema, SchemaResources>();
const resolved = new WeakMap<JsonObject, JsonObject>();

/** The schema of the scope that a control belongs to: its references lead into that. */
export const SchemaRoot = createContext<ScopeSchema | undefined>(undefined);

/**
 * The schema by which a control is chosen and labelled: with what its `$ref` and its `allOf` lead to, of which the nearest title, bound
 * and so on counts. Only that: values are checked against the schema as it is.
 */
export function resolvedIn(root: ScopeSchema | undefined, schema: ValueSchema): ValueSchema {
  return root === undefined ? schema : (follow(root, schema as JsonObject) as ValueSchema);
}

/** The same for a part of a value: everything in a masked value is masked. `inner`: the part's schema as it stands in `outer`. */
export function partOf(root: ScopeSchema | undefined, outer: ValueSchema, inner: unknown, name?: string): ValueSchema {
  return maskedWithin(outer, resolvedIn(root, schemaOf(inner)), name);
}

/** It ends: the daemon refuses references that lead back to themselves. */
function follow(root: ScopeSchema, schema: JsonObject): JsonObject {
  const { $ref, $dynamicRef, allOf, ...own } = schema;
  if ($ref === undefined && $dynamicRef === undefined && allOf === undefined) return schema;
  const known = resolved.get(schema);
  if (known !== undefined) return known;
  const targets = [$ref, $dynamicRef].map(one =>
    typeof one === "string" ? resourcesOf(root).resolve(schema, one) : undefined,
  );
  const rules = [...targets, ...(Array.isArray(allOf) ? allOf : [])].filter(isSchema);
  const found = [...rules.map(rule => follow(root, rule)), own].reduce(together);
  resolved.set(schema, found);
  return found;
}

function isSchema(value: JsonValue | undefined): value is JsonObject {
  return value !== undefined && isJsonObject(value);
}

/** Both schemas in one, for a control: of two values of a keyword, that of `nearer` counts, but members add up, and masks stay. */
export function together(farther: JsonObject, nearer: JsonObject): JsonObject {
  const [some, more] = [membersIn(farther), membersIn(nearer)];
  const members = Object.entries(more).map(([name, member]): [string, JsonValue] => {
    const other = Object.hasOwn(some, name) ? some[name] : undefined;
    return [name, other === undefined ? member : { allOf: [other, member] }];
  });
  const required = [farther["required"], nearer["required"]].flatMap(names => (Array.isArray(names) ? names : []));
  return {
    ...farther,
    ...nearer,
    ...(Object.keys(some).length + members.length > 0 && { properties: { ...some, ...Object.fromEntries(members) } }),
    ...(required.length > 0 && { required }),
    ...((farther["x-masked"] === true || nearer["x-masked"] === true) && { "x-masked": true }),
  };
}

function membersIn({ properties }: JsonObject): JsonObject {
  return properties !== undefined && isJsonObject(properties) ? properties : {};
}

function resourcesOf(root: ScopeSchema): SchemaResources {
  const known = resources.get(root) ?? runToEnd(SchemaResources.reading(root as unknown as JsonObject));
  resources.set(root, known);
  return known;
}
