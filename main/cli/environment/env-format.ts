import { parseEnv } from "node:util";
import { InexactNumberError } from "../../../shared/exact-number.ts";
import { type JsonValue, sameJson } from "../../../shared/json.ts";
import { accepts, type Fields, rawValue, readValue } from "../connect/fields.ts";

/** Values by `<scope>.<field>`, and sentences about those that could not be read. */
export interface ReadValues {
  readonly values: ReadonlyMap<string, JsonValue>;
  readonly problems: readonly string[];
}

/** `SVC_TIMEOUT` for `svc.timeout`: upper case, with `_` for every character that a variable name cannot contain. */
export function variableName(path: string): string {
  return path.toUpperCase().replace(/[^A-Z0-9]/g, "_");
}

/** The fields of each variable; several if their names result in the same variable. */
export function fieldsByVariable(fields: Fields): ReadonlyMap<string, readonly string[]> {
  return Map.groupBy(fields.keys(), variableName);
}

/**
 * Lines like `SVC_TIMEOUT=30`, which POSIX shells, `parseEnv` of node:util and `readEnvironment` all read as the same values. If
 * `problems` names values that cannot be written this way, do not use `text`.
 */
export function formatEnvironment(
  values: ReadonlyMap<string, JsonValue>,
  fields: Fields,
): { readonly text: string; readonly problems: readonly string[] } {
  const lines: string[] = [];
  const problems = new Set<string>();
  const byVariable = fieldsByVariable(fields);
  for (const [path, value] of values) {
    const name = variableName(path);
    const namesakes = byVariable.get(name) ?? [];
    if (namesakes.length > 1) {
      problems.add(`${namesakes.join(" and ")} would both be ${name}.`);
      continue;
    }
    const written = writeValue(path, value, fields);
    if (written === undefined && typeof value !== "string" && accepts(fields.get(path), "string")) {
      problems.add(`${path} accepts text too, so a value that is no text would be read as text.`);
    } else if (written === undefined) {
      problems.add(
        `${path} cannot be written so that all shells and env files read it the same way: it contains an apostrophe together with ", $, \` or \\, or a carriage return.`,
      );
    } else lines.push(`${name}=${written}\n`);
  }
  return { text: lines.join(""), problems: [...problems] };
}

/** Reads an env file; each value is parsed by its field's schema. Variables without a field are problems, unless ignored. */
export function readEnvironment(text: string, fields: Fields, ignoreUnknown: boolean): ReadValues {
  const values = new Map<string, JsonValue>();
  const problems: string[] = [];
  const byVariable = fieldsByVariable(fields);
  const variables = Object.entries(parseEnv(text));
  if (variables.length === 0 && text.split("\n").some(isContent)) problems.push("No line has the form NAME=value.");
  for (const [name, value = ""] of variables) {
    const [path, ...namesakes] = byVariable.get(name) ?? [];
    if (namesakes.length > 0)
      problems.push(`${name} is ambiguous: it may be any of ${[path, ...namesakes].join(", ")}.`);
    else if (path !== undefined) readInto(values, problems, path, value, fields);
    else if (!ignoreUnknown) problems.push(`There is no field for the variable ${name}.`);
  }
  return { values, problems };
}

function readInto(
  values: Map<string, JsonValue>,
  problems: string[],
  path: string,
  text: string,
  fields: Fields,
): void {
  try {
    values.set(path, readValue(text, fields.get(path)));
  } catch (error) {
    if (!(error instanceof InexactNumberError)) throw error;
    problems.push(`${path}: ${error.message}.`);
  }
}

function isContent(line: string): boolean {
  const trimmed = line.trim();
  return trimmed !== "" && !trimmed.startsWith("#");
}

/** The text after `NAME=`; undefined if there is no form that all programs read the same way. */
function writeValue(path: string, value: JsonValue, fields: Fields): string | undefined {
  const readsAs = (text: string) => sameJson(readValue(text, fields.get(path)), value);
  if (typeof value === "number" || typeof value === "boolean") return readsAs(rawValue(value)) ? `${value}` : undefined;
  if (typeof value === "string" && readsAs(value)) return quote(value);
  // JSON can escape apostrophes, so single quotes always work.
  const json = JSON.stringify(value).replaceAll("'", "\\u0027");
  return readsAs(json) ? quote(json) : undefined;
}

/** Text that shells and parseEnv read the same way between double quotes. parseEnv's only escape is \n, and it drops every \r. */
const plainBetweenDoubleQuotes = /^(?:[^"$`\\]|\\[^"$`\\\nn])*$/;

/** Quotes a text so that POSIX shells and parseEnv both read it unchanged; undefined if that is impossible. */
export function quote(text: string): string | undefined {
  if (/[\0\r]/.test(text) || !text.isWellFormed()) return undefined;
  if (!text.includes("'")) return `'${text}'`;
  return plainBetweenDoubleQuotes.test(text) ? `"${text}"` : undefined;
}
