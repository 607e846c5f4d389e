/** Formats new values in a JSON text as a person would. */
import { isJsonObject, type JsonObject, type JsonValue } from "../../shared/json.ts";

/** A member, or an item of a list, which has no name. */
export type Entry = readonly [name: string | undefined, value: JsonValue];

/** What stands before the value. */
export function nameOf(name: string | undefined): string {
  return name === undefined ? "" : `${JSON.stringify(name)}: `;
}

/** The longest text to put on one line. */
export const lineLimit = 80;

export interface Style {
  readonly unit: string;
  readonly endOfLine: string;
}

export const defaultStyle: Style = { unit: "  ", endOfLine: "\n" };

/**
 * Formats a value over as many lines as a person would. The first line has no indentation; the others have at least
 * `indentation`. Undefined members are left out.
 */
export function formatValue(value: JsonValue, indentation: string, style: Style): string {
  if (!isContainer(value)) return JSON.stringify(value);
  const deeper = indentation + style.unit;
  const separator = style.endOfLine + deeper;
  const lines = isJsonObject(value)
    ? entriesOf(value).map(([name, member]) => `${nameOf(name)}${formatValue(member, deeper, style)}`)
    : value.map(element => formatValue(element, deeper, style));
  if (lines.length === 0) return inlineValue(value);
  if (isJsonArray(value) && !value.some(isContainer)) {
    const inline = inlineValue(value);
    if (inline.length <= lineLimit) return inline;
  }
  const [open, close] = isJsonObject(value) ? "{}" : "[]";
  return `${open}${separator}${lines.join(`,${separator}`)}${style.endOfLine}${indentation}${close}`;
}

/** A value on one line, however long. */
export function inlineValue(value: JsonValue): string {
  if (!isContainer(value)) return JSON.stringify(value);
  if (!isJsonObject(value)) return `[${value.map(inlineValue).join(", ")}]`;
  const parts = entriesOf(value).map(([name, member]) => `${nameOf(name)}${inlineValue(member)}`);
  return parts.length === 0 ? "{}" : `{ ${parts.join(", ")} }`;
}

function entriesOf(value: JsonObject): Entry[] {
  return Object.entries(value).filter(([, member]) => member !== undefined);
}

export function isJsonArray(value: JsonValue): value is readonly JsonValue[] {
  return Array.isArray(value);
}

export function isContainer(value: JsonValue): value is readonly JsonValue[] | JsonObject {
  return isJsonArray(value) || isJsonObject(value);
}
