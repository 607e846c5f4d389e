import { isJsonObject, type JsonValue } from "../../shared/json.ts";
import { maskParts } from "../../shared/scopes/masks.ts";
import type { ValueSchema } from "../../shared/scopes/scope-schema.ts";
import { nameToSee } from "./invisible.ts";
import { mask, showJson, withTextsShown } from "./show-json.ts";

/** A value where there is little room: of a list or an object its simple entries or their names, or how many there are. */
export function shortValue(given: JsonValue, schema: ValueSchema): string {
  const value = visible(given, schema);
  const entries = entriesOf(value);
  if (entries === undefined) return value === mask ? mask : showJson(value, schema);
  if (entries.length === 0) return "none";
  const names = entries.filter(name => name !== undefined && name !== mask);
  return names.length < entries.length ? countOf(entries) : names.join(", ");
}

/** The same on a line of its own: with the number of entries, and only the first line of a text. */
export function countedValue(given: JsonValue, schema: ValueSchema): string {
  const value = visible(given, schema);
  if (typeof value === "string" && value !== mask) return showJson(value.split("\n")[0], schema);
  const entries = entriesOf(value) ?? [];
  const short = shortValue(given, schema);
  return entries.length === 0 || short === countOf(entries) ? short : `${countOf(entries)}: ${short}`;
}

function visible(given: JsonValue, schema: ValueSchema): JsonValue {
  return maskParts(withTextsShown(given, schema), schema, mask);
}

/** The names of its entries, or simple entries themselves; undefined: it has no entries. */
function entriesOf(value: JsonValue): readonly (string | undefined)[] | undefined {
  if (Array.isArray(value)) return value.map(nameOf);
  return isJsonObject(value) ? Object.keys(value).map(nameToSee) : undefined;
}

function nameOf(entry: JsonValue): string | undefined {
  if (isJsonObject(entry)) return typeof entry["name"] === "string" ? nameToSee(entry["name"]) : undefined;
  return Array.isArray(entry) ? undefined : String(entry);
}

function countOf(entries: readonly unknown[]): string {
  return `${entries.length} ${entries.length === 1 ? "entry" : "entries"}`;
}
