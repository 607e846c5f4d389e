import { isJsonObject, type JsonValue } from "../../shared/json.ts";
import type { ValueSchema } from "../../shared/scopes/scope-schema.ts";

const hidden = "••••";

/** A value in one line, as a person reads it; what is masked does not show. */
export function showJson(value: JsonValue | undefined, schema: ValueSchema): string {
  if (value === undefined) return "";
  if (Array.isArray(value) && value.length === 0) return "none";
  if (schema["x-masked"] === true) return JSON.stringify(masked(value));
  const labels = schema["x-labels"];
  if (labels !== undefined && typeof value === "number") {
    const first = typeof schema["minimum"] === "number" ? schema["minimum"] : 0;
    return labels[value - first] ?? String(value);
  }
  if (value === "") return "empty";
  if (typeof value === "boolean") return value ? "on" : "off";
  if (typeof value === "string") return value;
  if (typeof value === "number") return schema["x-unit"] === undefined ? String(value) : `${value} ${schema["x-unit"]}`;
  if (isJsonObject(value) && Object.keys(value).length === 0) return "none";
  return JSON.stringify(value);
}

/** The names of things stay; what they hold does not show. */
function masked(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(masked);
  if (!isJsonObject(value)) return hidden;
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [name, name === "name" ? inner : masked(inner)]),
  );
}
