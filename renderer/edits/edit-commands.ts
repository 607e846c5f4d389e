import { joinConfigPath } from "../../shared/config-path.ts";
import type { JsonValue } from "../../shared/json.ts";
import { masksAnything } from "../../shared/scopes/masks.ts";
import type { FieldSchema } from "../../shared/scopes/scope-schema.ts";

interface Edit {
  readonly repo: string;
  readonly scope: string;
  readonly field: string;
  /** Undefined: back to the default. */
  readonly value: JsonValue | undefined;
}

/** Undefined: the field does not exist, or no longer does. */
type SchemaOf = (scope: string, field: string) => FieldSchema | undefined;

/**
 * The edits as commands, a line each, for a POSIX shell: `repoconf set --repo ID scope.field=VALUE`, or `unset`. Masked values
 * are left out, for what is copied can be read by any program: a line that does nothing names the field.
 */
export function editCommands(edits: Iterable<Edit>, schemaOf: SchemaOf): string {
  return Array.from(edits, edit => `${commandOf(edit, schemaOf)}\n`).join("");
}

function commandOf({ repo, scope, field, value }: Edit, schemaOf: SchemaOf): string {
  const path = joinConfigPath(scope, field);
  if (value === undefined) return `repoconf unset --repo ${quote(repo)} ${quote(path)}`;
  const schema = schemaOf(scope, field);
  // One whose schema is missing is masked, as everywhere. A comment would be an error in an interactive zsh.
  if (schema === undefined || masksAnything(schema))
    return `: ${quote(`${path} of ${repo} is masked and was not copied`)}`;
  const command = `repoconf set --repo ${quote(repo)}`;
  // The command takes a lone - for its standard input.
  if (value === "-") return `printf %s - | ${command} ${quote(`${path}=-`)}`;
  return `${command} ${quote(`${path}=${typed(value)}`)}`;
}

/** As `repoconf set` reads it: text as it is, with @ doubled at its beginning; all else as JSON. */
function typed(value: JsonValue): string {
  if (typeof value !== "string") return JSON.stringify(value);
  return value.startsWith("@") ? `@${value}` : value;
}

function quote(text: string): string {
  return /^[\w.,:/@=+-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
