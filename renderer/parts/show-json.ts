import { isJsonObject, type JsonValue } from "../../shared/json.ts";
import { maskParts, masksAnything, schemaOf, schemaOfMember } from "../../shared/scopes/masks.ts";
import type { ValueSchema } from "../../shared/scopes/scope-schema.ts";
import { showPlain } from "../../shared/scopes/value-text.ts";
import { textOfUnread, unreadPlaces } from "../state/unread-text.ts";

/** Shown in place of a masked value. */
export const mask = "••••";

/** For a field whose schema is missing or broken: its values may be masked, so they are not shown. */
export const unknownSchema: ValueSchema = { "x-masked": true };

/** A value in one readable line, another one for each value of a field; masked parts are hidden. */
export function showJson(given: JsonValue | undefined, schema: ValueSchema): string {
  if (given === undefined) return "";
  if (given === null && isUnset(schema)) return "not set";
  const value = withTextsShown(given, schema);
  if (Array.isArray(value) && value.length === 0) return "none";
  const isFilled = typeof value === "object" && value !== null;
  if (schema["x-masked"] === true || (isFilled && masksAnything(schema)))
    return JSON.stringify(maskParts(value, schema, mask));
  if (value === "") return "empty";
  if (typeof value === "string") return readsOtherwise(value, schema) ? JSON.stringify(value) : value;
  if (typeof value === "boolean" || typeof value === "number") return showPlain(value, schema);
  if (isJsonObject(value) && Object.keys(value).length === 0) return "none";
  return JSON.stringify(value);
}

/**
 * The value with what was typed in place of texts that are not values (yet). Such a text may contain what would be masked, so it is
 * hidden where a part is masked; where the whole value is masked, its reader hides it.
 */
export function withTextsShown(value: JsonValue, schema: ValueSchema): JsonValue {
  if (unreadPlaces(value).length === 0) return value;
  const isMasked = schema["x-masked"] === true;
  const text = textOfUnread(value);
  if (text !== undefined) return !isMasked && masksAnything(schema) ? mask : text;
  if (Array.isArray(value))
    return value.map(item => withTextsShown(item, isMasked ? schema : schemaOf(schema["items"])));
  const members = Object.entries(value as { readonly [name: string]: JsonValue });
  return Object.fromEntries(
    members.map(([name, member]) => [name, withTextsShown(member, isMasked ? schema : schemaOfMember(schema, name))]),
  );
}

/** Whether null is no value of this type, but says that there is none: so it is for a field without a default. */
function isUnset({ type, enum: values }: ValueSchema): boolean {
  return typeof type === "string" && type !== "null" && !(Array.isArray(values) && values.includes(null));
}

/** Whether a text would look like another value of its field: "null" like null, "1" like 1, "empty" like an empty text. */
function readsOtherwise(text: string, { type, enum: choices }: ValueSchema): boolean {
  if (["empty", "none"].includes(text)) return true;
  if (type === "string" || (Array.isArray(choices) && choices.every(choice => typeof choice === "string")))
    return false;
  return ["on", "off"].includes(text) || isJson(text);
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
