import { parseEnv } from "node:util";
import { type JsonValue, sameJson } from "../../shared/json.ts";
import { type Fields, rawValue, readValue } from "./fields.ts";

/** Values by `<scope>.<field>`, and in sentences what kept others from being among them. */
export interface ReadValues {
  readonly values: ReadonlyMap<string, JsonValue>;
  readonly problems: readonly string[];
}

/** `SVC_TIMEOUT` for `svc.timeout`: upper case, and `_` for every character that a variable's name cannot have. */
export function variableName(path: string): string {
  return path.toUpperCase().replace(/[^A-Z0-9]/g, "_");
}

/** The fields by their variable; more than one if their names give the same variable. */
export function fieldsByVariable(fields: Fields): ReadonlyMap<string, readonly string[]> {
  return Map.groupBy(fields.keys(), variableName);
}

/**
 * Lines `SVC_TIMEOUT=30` that a POSIX shell and `parseEnv` of node:util read alike, and `readEnvironment` as the same
 * values. What cannot be written so is named in `problems`, and then `text` is not to be used.
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
    if (written === undefined) {
      problems.add(
        `${path} cannot be written so that all shells and env files read it the same way: an apostrophe beside ", $, \` or \\, or a carriage return.`,
      );
    } else lines.push(`${name}=${written}\n`);
  }
  return { text: lines.join(""), problems: [...problems] };
}

/** The values in an env file, each read by its field's schema. Variables without a field are problems, unless ignored. */
export function readEnvironment(text: string, fields: Fields, ignoreUnknown: boolean): ReadValues {
  const values = new Map<string, JsonValue>();
  const problems: string[] = [];
  const byVariable = fieldsByVariable(fields);
  const variables = Object.entries(parseEnv(text));
  if (variables.length === 0 && /^\s*[^#\s]/m.test(text)) problems.push("No line has the form NAME=value.");
  for (const [name, value = ""] of variables) {
    const [path, ...namesakes] = byVariable.get(name) ?? [];
    if (namesakes.length > 0)
      problems.push(`${name} is ambiguous: it may be any of ${[path, ...namesakes].join(", ")}.`);
    else if (path !== undefined) values.set(path, readValue(value, fields.get(path)));
    else if (!ignoreUnknown) problems.push(`There is no field for the variable ${name}.`);
  }
  return { values, problems };
}

/** The right side of the line; undefined if no form is read the same by all programs. */
function writeValue(path: string, value: JsonValue, fields: Fields): string | undefined {
  const readsAs = (text: string) => sameJson(readValue(text, fields.get(path)), value);
  if (typeof value === "number" || typeof value === "boolean") return readsAs(rawValue(value)) ? `${value}` : undefined;
  if (typeof value === "string" && readsAs(value)) return quote(value);
  // In JSON an apostrophe has another spelling, so that single quotes always do.
  const json = JSON.stringify(value).replaceAll("'", "\\u0027");
  return readsAs(json) ? quote(json) : undefined;
}

/** Characters that shells and parseEnv keep between double quotes: parseEnv's only escape is \n, and it drops every \r. */
const plainBetweenDoubleQuotes = /^(?:[^"$`\\]|\\[^"$`\\\nn])*$/;

/** A form that a POSIX shell and parseEnv both read as this text; undefined if there is none. */
export function quote(text: string): string | undefined {
  if (/[\0\r]/.test(text) || !text.isWellFormed()) return undefined;
  if (!text.includes("'")) return `'${text}'`;
  return plainBetweenDoubleQuotes.test(text) ? `"${text}"` : undefined;
}
