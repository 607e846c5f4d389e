import { type Config, configValue } from "../../../shared/config.ts";
import { splitConfigPath } from "../../../shared/config-path.ts";
import { itemNamesOf, nameOf } from "../../../shared/item-names.ts";
import { isJsonObject, type JsonValue, sameJson } from "../../../shared/json.ts";
import type { FieldSchema } from "../../../shared/scopes/scope-schema.ts";
import { schemaAt, showPlace } from "../../../shared/typed-place.ts";
import {
  accepts,
  choicesOf,
  isUnclearNull,
  type PlainSchema,
  rawValue,
  readValue,
} from "../../../shared/typed-value.ts";
import { joinPointer, valueAt } from "../../../shared/value-edit.ts";
import { type Fields, isMasked } from "../connect/fields.ts";
import { readAt, readItemPlace, readPlace } from "./value-place.ts";

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
    const list = valueAt(await fieldValue(split.field), path, schema);
    if (!Array.isArray(list)) return [];
    const named = isJson ? [] : itemNames(list, schema, path);
    // Masked values are not offered, because somebody may watch the terminal.
    return named.length > 0 || isMasked(schema) ? named : typed(list, schemaAt(schema, `${path}/0`), isJson);
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

/** The places directly inside the value that the typed text names up to its last dot: members, and items that have names. */
export async function knownPlaces(text: string, fields: Fields, read: () => Promise<Config>): Promise<string[]> {
  const outer = text.slice(0, Math.max(0, text.lastIndexOf(".")));
  const { field, path } = readItemPlace(outer, fields);
  const value = readAt(await read(), { field, path }, outer, fields);
  const names = Array.isArray(value)
    ? itemNames(value, fields.get(field), path)
    : isJsonObject(value)
      ? Object.keys(value)
      : [];
  return names.map(name => showPlace({ field, path: `${path}${joinPointer([name])}` }, fields.get(field)));
}

/** The names of a list's items that may be shown: in a masked field only those that stay visible (see `maskValue`). */
function itemNames(list: readonly JsonValue[], schema: FieldSchema | undefined, path: string): string[] {
  const names = itemNamesOf(schemaAt(schema, path));
  if (names === undefined || (names.property !== "name" && isMasked(schema))) return [];
  return list.flatMap(item => nameOf(item, names) ?? []);
}

/** As texts to type after `=`. Values that would be read as other values there, or refused, are left out. */
function typed(values: readonly JsonValue[], schema: PlainSchema | undefined, isJson: boolean): string[] {
  if (isJson) return values.map(value => JSON.stringify(value));
  const isClear = (value: JsonValue) => !isUnclearNull(rawValue(value), schema);
  return values.filter(value => isClear(value) && sameJson(readValue(rawValue(value), schema), value)).map(rawValue);
}
