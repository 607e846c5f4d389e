import { type Config, configValue } from "../../../shared/config.ts";
import { splitConfigPath } from "../../../shared/config-path.ts";
import { isJsonObject, type JsonValue, sameJson } from "../../../shared/json.ts";
import { valueAt } from "../../../shared/value-edit.ts";
import {
  accepts,
  choicesOf,
  type Fields,
  isMasked,
  isUnclearNull,
  type PlainSchema,
  rawValue,
  readValue,
} from "../connect/fields.ts";
import { readPlace, schemaAt } from "./value-place.ts";

/**
 * The known values that a place can be set to (`sign` is `""`), or that can be added to it (`+`) or removed from it (`-`), as users type
 * them after `=`, or after `:=` if `isJson`. They come from the schema and from the repository's values, which `read` returns.
 */
export async function knownValues(
  name: string,
  sign: string,
  isJson: boolean,
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
    return Array.isArray(list) && !isMasked(schema) ? typed(list, schemaAt(schema, `${path}/0`), isJson) : [];
  }
  const target = schema["x-keyOf"];
  if (target !== undefined && path === "") {
    const keys = await fieldValue(target);
    return isJsonObject(keys) ? typed(Object.keys(keys), schema, isJson) : [];
  }
  const at = schemaAt(schema, sign === "+" ? `${path}/0` : path);
  const choices = choicesOf(at);
  if (choices.length > 0) return typed(choices, at, isJson);
  const flags = accepts(at, "boolean") ? [true, false] : [];
  return typed(accepts(at, "null") ? [...flags, null] : flags, at, isJson);
}

/** As texts to type after `=`. Values that would be read as other values there, or refused, are left out. */
function typed(values: readonly JsonValue[], schema: PlainSchema | undefined, isJson: boolean): string[] {
  if (isJson) return values.map(value => JSON.stringify(value));
  const isClear = (value: JsonValue) => !isUnclearNull(rawValue(value), schema);
  return values.filter(value => isClear(value) && sameJson(readValue(rawValue(value), schema), value)).map(rawValue);
}
