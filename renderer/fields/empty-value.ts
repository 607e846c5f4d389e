import { isJsonObject, type JsonValue } from "../../shared/json.ts";
import { schemaOf } from "../../shared/scopes/masks.ts";
import type { ScopeSchema, ValueSchema } from "../../shared/scopes/scope-schema.ts";
import { choicesOf, nullableOf } from "./alternatives.ts";
import { resolvedIn } from "./resolved-schema.ts";
import { variantsOf } from "./variants.ts";

/** Members that have to be there are filled in down to this level: a schema may refer to itself through them. */
const maxLevels = 3;

/** The initial value of an added entry. */
export function emptyValue(given: ValueSchema, root: ScopeSchema | undefined, level = 0): JsonValue {
  const schema = resolvedIn(root, given);
  if (schema.default !== undefined) return schema.default;
  const choices = choicesOf(schema, root);
  if (choices !== undefined) return choices[0]?.value ?? null;
  if (nullableOf(schema, root) !== undefined) return null;
  const [form] = variantsOf(schema, root);
  if (form !== undefined) return emptyValue(form.schema, root, level);
  switch (schema["type"]) {
    case "string":
      return "";
    case "integer":
    case "number":
      return typeof schema["minimum"] === "number" ? schema["minimum"] : 0;
    case "boolean":
      return false;
    case "array":
      return [];
    case "object": {
      const members = schema["properties"];
      const required = schema["required"];
      if (!isJsonObject(members) || !Array.isArray(required) || level === maxLevels) return {};
      const filled = (name: string) => emptyValue(schemaOf(members[name]), root, level + 1);
      return Object.fromEntries(required.map((name: string) => [name, filled(name)]));
    }
    default:
      return null;
  }
}

/** The empty value of a schema whose own default, null, says that there is none. */
export function emptyInstead({ default: _, ...schema }: ValueSchema, root: ScopeSchema | undefined): JsonValue {
  return emptyValue(schema, root);
}
