import { type Config, configValue } from "../../shared/config.ts";
import { splitConfigPath } from "../../shared/config-path.ts";
import { isJsonObject } from "../../shared/json.ts";
import { valueAt } from "../../shared/value-edit.ts";
import { type Fields, isMasked, rawValue } from "./fields.ts";
import { readPlace, schemaAt } from "./value-place.ts";

/**
 * The known values that a place can be set to (`sign` is `""`), or that can be added to it (`+`) or removed from it (`-`), as users type
 * them. They come from the schema and from the repository's values, which `read` returns.
 */
export async function knownValues(
  name: string,
  sign: string,
  fields: Fields,
  read: () => Promise<Config>,
): Promise<string[]> {
  const { field, path } = readPlace(name, fields);
  const schema = fields.get(field);
  const split = splitConfigPath(field);
  if (schema === undefined || split === undefined) return [];
  const fieldValue = async (one: string) => configValue(await read(), split.scope, one);
  if (sign === "-") {
    const list = valueAt(await fieldValue(split.field), path);
    // Masked values are not offered, because somebody may watch the terminal.
    return Array.isArray(list) && !isMasked(schema) ? list.map(rawValue) : [];
  }
  const target = schema["x-keyOf"];
  if (target !== undefined && path === "") {
    const keys = await fieldValue(target);
    return isJsonObject(keys) ? Object.keys(keys) : [];
  }
  const at = schemaAt(schema, sign === "+" ? `${path}/0` : path);
  const choices = at?.["enum"];
  if (Array.isArray(choices)) return choices.map(rawValue);
  return at?.["type"] === "boolean" ? ["true", "false"] : [];
}
