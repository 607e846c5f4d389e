import { isJsonObject, type JsonValue } from "../json.ts";
import type { ValueSchema } from "./scope-schema.ts";

/** The names of a schema's integers (`x-labels`), by number; undefined if they have none. */
export function numberLabels(schema: ValueSchema): ReadonlyMap<number, string> | undefined {
  const { "x-labels": labels, minimum } = schema;
  const first = typeof minimum === "number" ? minimum : 0;
  return labels && new Map(labels.map((text, index) => [first + index, text]));
}

/** A value as people read it: on or off, the number's name, or the number with its unit. */
export function showPlain(value: boolean | number, schema: ValueSchema): string {
  if (typeof value === "boolean") return value ? "on" : "off";
  const unit = schema["x-unit"];
  return numberLabels(schema)?.get(value) ?? (unit === undefined ? String(value) : `${value} ${unit}`);
}

/** A masked value: names stay, and `mask` replaces everything else. */
export function maskValue(value: JsonValue, mask: string): JsonValue {
  if (Array.isArray(value)) return value.map(inner => maskValue(inner, mask));
  if (!isJsonObject(value)) return mask;
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [name, name === "name" ? inner : maskValue(inner, mask)]),
  );
}
