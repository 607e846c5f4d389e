import { CommandError, exitCodes } from "../output/exit-codes.ts";
import { quote } from "./env-format.ts";
import { shellQuoted } from "./shell-quoted.ts";

/** The output formats of `repoconf env`. */
export const environmentFormats = ["dotenv", "sh", "fish", "pwsh", "json"] as const;
export type EnvironmentFormat = (typeof environmentFormats)[number];

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
    const message = `${name} cannot be written so that all shells and env files read it the same way: it contains an apostrophe together with ", $, \` or \\, or a carriage return. Use --format json instead.`;
    throw new CommandError(message, exitCodes.refused);
  },
  sh: (name, value) => `export ${name}=${shellQuoted(value)}`,
  fish: (name, value) => `set -gx ${name} '${value.replace(/['\\]/g, "\\$&")}'`,
  // PowerShell treats typographic apostrophes like plain ones.
  pwsh: (name, value) => `\${env:${name}} = '${value.replace(/['\u2018-\u201b]/g, "$&$&")}'`,
};
