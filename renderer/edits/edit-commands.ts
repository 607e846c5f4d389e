import { joinConfigPath } from "../../shared/config-path.ts";
import type { JsonValue } from "../../shared/json.ts";
import { masksAnything } from "../../shared/scopes/masks.ts";
import type { FieldSchema } from "../../shared/scopes/scope-schema.ts";

interface Edit {
  readonly repo: string;
  readonly scope: string;
  readonly field: string;
  /** Undefined: reset to the default. */
  readonly value: JsonValue | undefined;
}

/** Undefined if the field does not exist. */
type SchemaOf = (scope: string, field: string) => FieldSchema | undefined;

/**
 * The edits as POSIX shell commands, one per line: `repoconf set --repo ID scope.field=VALUE`, or `unset`. Masked values are left
 * out, because any program can read the clipboard; a line without effect names the field instead.
 */
export function editCommands(edits: Iterable<Edit>, schemaOf: SchemaOf): string {
  return Array.from(edits, edit => `${commandOf(edit, schemaOf)}\n`).join("");
}

function commandOf({ repo, scope, field, value }: Edit, schemaOf: SchemaOf): string {
  const path = joinConfigPath(scope, field);
  if (value === undefined) return `repoconf unset --repo ${quote(repo)} ${quote(path)}`;
  const schema = schemaOf(scope, field);
  // A value without a schema counts as masked, as everywhere. A comment would be an error in an interactive zsh.
  if (schema === undefined || masksAnything(schema))
    return `: ${quote(`${path} of ${repo} is masked and was not copied`)}`;
  const command = `repoconf set --repo ${quote(repo)}`;
  // The command reads a lone - as its standard input.
  if (value === "-") return `printf %s - | ${command} ${quote(`${path}=-`)}`;
  return `${command} ${quote(`${path}=${typed(value)}`)}`;
}

/** Formats a value as `repoconf set` reads it: text unchanged, with a leading @ doubled; everything else as JSON. */
function typed(value: JsonValue): string {
  if (typeof value !== "string") return JSON.stringify(value);
  return value.startsWith("@") ? `@${value}` : value;
}

function quote(text: string): string {
  return /^[\w.,:/@=+-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
