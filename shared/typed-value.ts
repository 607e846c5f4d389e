import { InexactNumberError, parseExactJson } from "./exact-number.ts";
import type { JsonValue } from "./json.ts";

/** A field's schema, or a subschema of it. */
export type PlainSchema = { readonly [keyword: string]: unknown };

/** A typed `null` for a field that accepts both null and the text. */
export class UnclearNullError extends Error {}

/** A value for programs: strings as plain text, anything else as JSON. */
export function rawValue(value: JsonValue): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

/**
 * Parses a typed value by its field's schema: as the one choice that is written like this, else as plain text if the field accepts
 * strings, else as JSON. Invalid JSON is returned as text, because the daemon has the best error message for it. Throws
 * InexactNumberError.
 */
export function readValue(text: string, schema: PlainSchema | undefined): JsonValue {
  const [choice, ...others] = choicesWrittenAs(text, schema);
  if (choice !== undefined && others.length === 0) return choice;
  if (accepts(schema, "string")) return text;
  try {
    return parseExactJson(text);
  } catch (error) {
    if (error instanceof InexactNumberError) throw error;
    return text;
  }
}

/**
 * Like `readValue`, but also throws for JSON that is invalid although it starts like an object, array or string, and UnclearNullError if the
 * text is an argument itself (`isArgument`), not the content of a file.
 */
export function readTypedValue(text: string, schema: PlainSchema | undefined, isArgument: boolean): JsonValue {
  if (isArgument && isUnclearNull(text, schema)) throw new UnclearNullError();
  const read = readValue(text, schema);
  const looksLikeJson = read === text && schema !== undefined && !accepts(schema, "string") && /^\s*[[{"]/.test(text);
  return looksLikeJson ? parseExactJson(text) : read;
}

/** Whether a typed `null` may mean null or the text, both of which the schema accepts. */
export function isUnclearNull(text: string, schema: PlainSchema | undefined): boolean {
  const acceptsBoth = accepts(schema, "string") && accepts(schema, "null");
  return text === "null" && acceptsBoth && choicesWrittenAs(text, schema).length !== 1;
}

function choicesWrittenAs(text: string, schema: PlainSchema | undefined): readonly JsonValue[] {
  return choicesOf(schema).filter(one => rawValue(one) === text);
}

/** The values that a schema lists. */
export function choicesOf(schema: PlainSchema | undefined): readonly JsonValue[] {
  const choices = schema?.["enum"];
  return Array.isArray(choices) ? choices : [];
}

/** Whether a schema names this type, possibly beside others. */
export function accepts(schema: PlainSchema | undefined, type: "string" | "boolean" | "null"): boolean {
  return [schema?.["type"]].flat().includes(type);
}
