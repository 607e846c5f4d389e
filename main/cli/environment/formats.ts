import { type JsonValue, sameJson } from "../../../shared/json.ts";
import { fishQuoted, pwshQuoted, shellQuoted } from "../../../shared/shell-quoted.ts";
import { accepts, rawValue, readValue } from "../../../shared/typed-value.ts";
import type { Fields } from "../connect/fields.ts";
import type { EnvironmentFormat } from "../options.ts";
import { CommandError, exitCodes } from "../output/exit-codes.ts";

/** The first line of what `export --format env` writes: it says that the names are those of fields. */
const exportMark = "# repoconf export --format env: SVC_TIMEOUT is the field svc.timeout\n";

/** Whether a text begins as `export --format env` does. */
export function hasExportMark(content: string): boolean {
  return /^# repoconf export --format env\b/.test(content);
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
 * Lines like `SVC_TIMEOUT=30`, which POSIX shells, `parseEnv` of node:util, dotenv and `import` all read as the same values. If
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
  return { text: lines.length === 0 ? "" : exportMark + lines.join(""), problems: [...problems] };
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

/** Text that all read the same way between double quotes: parseEnv's only escape is \n, dotenv's are \n and \r, and all drop every CR. */
const plainBetweenDoubleQuotes = /^(?:[^"$`\\]|\\[^"$`\\\nnr])*$/;

/** Quotes a text so that POSIX shells, parseEnv and dotenv read it unchanged; undefined if that is impossible. */
function quote(text: string): string | undefined {
  if (/[\0\r]/.test(text) || !text.isWellFormed()) return undefined;
  if (!text.includes("'")) return `'${text}'`;
  return plainBetweenDoubleQuotes.test(text) ? `"${text}"` : undefined;
}

/** The output formats of `repoconf env`. */

/** An environment as text; ends with a newline unless it is empty. Throws CommandError for values that the format cannot express. */
export function environmentText(variables: { readonly [name: string]: string }, format: EnvironmentFormat): string {
  if (format === "json") return `${JSON.stringify(variables, null, 2)}\n`;
  const lines = Object.entries(variables).map(([name, value]) => `${writers[format](name, value)}\n`);
  return lines.length > 0 && format === "sh" ? [exporting, ...lines, exported].join("") : lines.join("");
}

/**
 * In zsh, an assignment to a variable that is read-only ends everything that is evaluated, and in other shells the shell itself. So a
 * subshell tries each one first.
 */
const exporting = `__repoconf_export() {
  (export "$1") 2>/dev/null && export "$1" || echo "repoconf: this shell does not let \${1%%=*} be set." >&2
}
`;
const exported = "unset -f __repoconf_export\n";

/** What `environmentText` printed for sh, as lines with `export` alone, each in its place. */
export function withPlainExports(text: string): string {
  if (!text.startsWith(exporting)) return text;
  const lines = text.slice(exporting.length).replace(new RegExp(`${exported}$`), "");
  return exporting.replace(/[^\n]+/g, "") + lines.replace(/^__repoconf_export(?= [A-Za-z_]\w*=')/gm, "export");
}

const writers: { readonly [format in Exclude<EnvironmentFormat, "json">]: (name: string, value: string) => string } = {
  dotenv: (name, value) => {
    const quoted = quote(value);
    if (quoted !== undefined) return `${name}=${quoted}`;
    const message = `${name} cannot be written so that all shells and env files read it the same way: it contains a carriage return, NUL, half of a character, or an apostrophe together with ", $, \` or \\. Use --format json instead.`;
    throw new CommandError(message, exitCodes.refused);
  },
  sh: (name, value) => `__repoconf_export ${name}=${shellQuoted(value)}`,
  fish: (name, value) => `set -gx ${name} ${fishQuoted(value)}`,
  pwsh: (name, value) => `\${env:${name}} = ${pwshQuoted(value)}`,
};
