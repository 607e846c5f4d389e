import { joinConfigPath } from "../../../shared/config-path.ts";
import { allowsSomewhere } from "../../../shared/grants.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../../shared/json.ts";
import type { FieldSchema, ScopeSchema } from "../../../shared/scopes/scope-schema.ts";
import type { Scope, Scopes } from "../../scopes/scopes.ts";
import type { Caller } from "../keys/caller.ts";
import type { Operations } from "../socket/dispatch.ts";

/** `scope/list`: the schemas, reduced to the fields that the key may read in some repository. */
export function scopeOperations(scopes: Scopes): Pick<Operations, "scope/list"> {
  return {
    "scope/list": (_args, { caller }) => {
      const result = [];
      for (const scope of scopes.all()) {
        const schema = readableSchema(caller, scope);
        if (schema !== undefined) result.push({ scope: scope.name, schema });
      }
      return { result };
    },
  };
}

function readableSchema(caller: Caller, { name, schema, fields: marked }: Scope): ScopeSchema | undefined {
  if (caller.owner) return schema;
  // With `x-masked` wherever something masked is reached: the key may not get what a reference leads to.
  const fields = Array.from(marked, ([field, { schema: own }]) => [field, own] as const);
  const properties = Object.fromEntries(
    fields.filter(([field]) => allowsSomewhere(caller.grants, "read", joinConfigPath(name, field))),
  );
  if (Object.keys(properties).length === 0) return undefined;
  // Other keywords, such as `required`, could name fields that the key may not read.
  const { title, description } = schema;
  const definitions = reachableDefinitions(schema, properties);
  return {
    ...(title !== undefined && { title }),
    ...(description !== undefined && { description }),
    type: "object",
    properties,
    ...definitions,
  };
}

/** The definitions that the fields refer to, directly or through others, under the keywords where they are. */
function reachableDefinitions(schema: ScopeSchema, fields: unknown): JsonObject {
  const reached: { [keyword: string]: { [name: string]: JsonValue } } = {};
  const waiting = [fields];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    for (const [, keyword = "", token = ""] of JSON.stringify(next).matchAll(/"#\/(\$defs|definitions)\/([^"/]+)/g)) {
      const name = decodeURIComponent(JSON.parse(`"${token}"`))
        .replaceAll("~1", "/")
        .replaceAll("~0", "~");
      const all = schema[keyword] as JsonValue | undefined;
      const definition = all !== undefined && isJsonObject(all) && Object.hasOwn(all, name) ? all[name] : undefined;
      const known = reached[keyword] ?? {};
      if (definition === undefined || Object.hasOwn(known, name)) continue;
      reached[keyword] = { ...known, [name]: definition };
      waiting.push(definition);
    }
  }
  return reached;
}

/**
 * The schemas of the fields that the key may read in some repository, as `scope/list` has them, by `<scope>.<field>`, and with `x-masked`
 * wherever a reference or a choice leads to something masked.
 */
export function readableFields(
  scopes: Scopes,
  { owner, grants }: Pick<Caller, "owner" | "grants">,
): ReadonlyMap<string, FieldSchema> {
  const readable = new Map<string, FieldSchema>();
  for (const { name, fields } of scopes.all())
    for (const [field, { schema }] of fields) {
      const path = joinConfigPath(name, field);
      if (owner || allowsSomewhere(grants, "read", path)) readable.set(path, schema);
    }
  return readable;
}

/** Those of the fields in a result, and of further ones. */
export function schemasOf(
  result: { readonly [scope: string]: { readonly [field: string]: unknown } },
  readable: ReadonlyMap<string, FieldSchema>,
  more: readonly string[] = [],
): { readonly [field: string]: FieldSchema } {
  const paths = Object.entries(result).flatMap(([scope, fields]) =>
    Object.keys(fields).map(field => joinConfigPath(scope, field)),
  );
  return Object.fromEntries(
    [...paths, ...more].flatMap(path => {
      const schema = readable.get(path);
      return schema === undefined ? [] : [[path, schema] as const];
    }),
  );
}
