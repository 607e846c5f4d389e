import { isJsonObject, type JsonValue } from "../../shared/json.ts";
import { maskParts, masksAnything } from "../../shared/scopes/masks.ts";
import type { ValueSchema } from "../../shared/scopes/scope-schema.ts";
import { showPlain } from "../../shared/scopes/value-text.ts";

/** Shown in place of a masked value. */
export const mask = "••••";

/** For a field whose schema is missing or broken: its values may be masked, so they are not shown. */
export const unknownSchema: ValueSchema = { "x-masked": true };

/** A value in one readable line; masked parts are hidden. */
export function showJson(value: JsonValue | undefined, schema: ValueSchema): string {
  if (value === undefined) return "";
  if (Array.isArray(value) && value.length === 0) return "none";
  const isFilled = typeof value === "object" && value !== null;
  if (schema["x-masked"] === true || (isFilled && masksAnything(schema)))
    return JSON.stringify(maskParts(value, schema, mask));
  if (value === "") return "empty";
  if (typeof value === "string") return value;
  if (typeof value === "boolean" || typeof value === "number") return showPlain(value, schema);
  if (isJsonObject(value) && Object.keys(value).length === 0) return "none";
  return JSON.stringify(value);
}
