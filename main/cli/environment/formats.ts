import { parseEnv } from "node:util";
import { joinConfigPath } from "../../../shared/config-path.ts";
import { InexactNumberError } from "../../../shared/exact-number.ts";
import { isJsonObject, type JsonObject, type JsonValue, sameJson } from "../../../shared/json.ts";
import { accepts, rawValue, readValue } from "../../../shared/typed-value.ts";
import { JsonTextError, parseJsonText } from "../../files/json-text.ts";
import { type Fields, unknownField } from "../connect/fields.ts";
import type { EnvironmentFormat } from "../options.ts";
import { CommandError, exitCodes } from "../output/exit-codes.ts";
import { shellQuoted } from "../output/messages.ts";

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
function fieldsByVariable(fields: Fields): ReadonlyMap<string, readonly string[]> {
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
        `${path} cannot be written so that all shells and env files read it the same way: it contains a carriage return, NUL, half of a character, or an apostrophe together with ", $, \` or \\.`,
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
  const unread = unreadLine(text);
  // What parseEnv makes of the text behind such a line is not what is meant.
  if (unread !== undefined) return { values, problems: [unread] };
  for (const [name, value = ""] of Object.entries(parseEnv(text))) {
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

/** A line of an env file, or several with a value in quotes. */
const environmentLine =
  /[^\S\n]*(?:#[^\n]*|(?:export[^\S\n]+)?[^\s=#]+[^\S\n]*=[^\S\n]*(?:[^\s"'`#][^\n]*|(?:"[^"]*"|'[^']*'|`[^`]*`)?[^\S\n]*(?:#[^\n]*)?))?(?:\n|$)/y;

/** What is wrong with the first line that parseEnv would skip or cut without a word; undefined if there is none. */
function unreadLine(text: string): string | undefined {
  environmentLine.lastIndex = 0;
  for (let at = 0; at < text.length; at = environmentLine.lastIndex) {
    if (environmentLine.test(text)) continue;
    const line = text.slice(0, at).split("\n").length;
    return `Line ${line} is not in the form NAME=value, or the quotes around its value do not end with it.`;
  }
  return undefined;
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
function quote(text: string): string | undefined {
  if (/[\0\r]/.test(text) || !text.isWellFormed()) return undefined;
  if (!text.includes("'")) return `'${text}'`;
  return plainBetweenDoubleQuotes.test(text) ? `"${text}"` : undefined;
}

/** The output formats of `repoconf env`. */

/** An environment as text; ends with a newline unless it is empty. Throws CommandError for values that the format cannot express. */
export function environmentText(variables: { readonly [name: string]: string }, format: EnvironmentFormat): string {
  if (format === "json") return `${JSON.stringify(variables, null, 2)}\n`;
  return Object.entries(variables)
    .map(([name, value]) => `${writers[format](name, value)}\n`)
    .join("");
}

const writers: { readonly [format in Exclude<EnvironmentFormat, "json">]: (name: string, value: string) => string } = {
  dotenv: (name, value) => {
    const quoted = quote(value);
    if (quoted !== undefined) return `${name}=${quoted}`;
    const message = `${name} cannot be written so that all shells and env files read it the same way: it contains a carriage return, NUL, half of a character, or an apostrophe together with ", $, \` or \\. Use --format json instead.`;
    throw new CommandError(message, exitCodes.refused);
  },
  sh: (name, value) => `export ${name}=${shellQuoted(value)}`,
  fish: (name, value) => `set -gx ${name} '${value.replace(/['\\]/g, "\\$&")}'`,
  // PowerShell treats typographic apostrophes like plain ones.
  pwsh: (name, value) => `\${env:${name}} = '${value.replace(/['\u2018-\u201b]/g, "$&$&")}'`,
};

/**
 * Reads values in the format of `repoconf export`, `{ "svc": { "timeout": 30 } }`, with comments allowed. Unknown fields are problems,
 * unless ignored. Throws CommandError, which says the file's `name`, if the text is not JSON.
 */
export function readJson(content: string, fields: Fields, ignoreUnknown: boolean, name: string): ReadValues {
  const values = new Map<string, JsonValue>();
  const problems: string[] = [];
  for (const [scope, scopeValues] of Object.entries(parse(content, name))) {
    if (!isJsonObject(scopeValues)) {
      problems.push(`"${scope}" is not a scope with fields. The expected form is { "svc": { "timeout": 30 } }.`);
      continue;
    }
    for (const [field, value] of Object.entries(scopeValues)) {
      const path = joinConfigPath(scope, field);
      if (fields.has(path)) values.set(path, value);
      else if (!ignoreUnknown) problems.push(unknownField(path, fields).message);
    }
  }
  return { values, problems };
}

function parse(content: string, name: string): JsonObject {
  try {
    return parseJsonText(content).value;
  } catch (error) {
    if (!(error instanceof JsonTextError)) throw error;
    const { line, column, message } = error;
    throw new CommandError(`This cannot be read as JSON: ${name}, line ${line}, column ${column}: ${message}`);
  }
}
