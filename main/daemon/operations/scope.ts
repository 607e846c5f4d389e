import { joinConfigPath } from "../../../shared/config-path.ts";
import { allowsSomewhere } from "../../../shared/grants.ts";
import type { ScopeSchema } from "../../../shared/scopes/scope-schema.ts";
import type { Caller } from "../caller.ts";
import type { Operations } from "../dispatch.ts";
import type { Scope, Scopes } from "../scopes.ts";

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

function readableSchema(caller: Caller, { name, schema }: Scope): ScopeSchema | undefined {
  if (caller.owner) return schema;
  const fields = Object.entries(schema.properties);
  const properties = Object.fromEntries(
    fields.filter(([field]) => allowsSomewhere(caller.grants, "read", joinConfigPath(name, field))),
  );
  if (Object.keys(properties).length === 0) return undefined;
  // Other keywords, such as `required`, could name fields that the key may not read.
  const { $defs, title, description } = schema;
  return {
    ...(title !== undefined && { title }),
    ...(description !== undefined && { description }),
    type: "object",
    properties,
    ...($defs !== undefined && { $defs }),
  };
}
