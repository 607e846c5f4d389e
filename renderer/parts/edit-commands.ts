import { joinConfigPath } from "../../shared/config-path.ts";
import type { JsonValue } from "../../shared/json.ts";
import { masksAnything } from "../../shared/scopes/masks.ts";
import type { FieldSchema } from "../../shared/scopes/scope-schema.ts";
import type { PendingEdit } from "../state/store.ts";
import { unreadPlaces } from "../state/unread-text.ts";
import { showJson } from "./show-json.ts";

type Edit = Pick<PendingEdit, "repo" | "scope" | "field" | "value" | "masks">;

/** Undefined if the field does not exist. */
type SchemaOf = (scope: string, field: string) => FieldSchema | undefined;

/**
 * The edits as POSIX shell commands, one per line: `repoconf set --repo ID scope.field=VALUE`, or `unset`. Masked values are left
 * out, because any program can read the clipboard; a line without effect names the field instead.
 */
export function editCommands(edits: Iterable<Edit>, schemaOf: SchemaOf): string {
  return Array.from(edits, edit => `${commandOf(edit, schemaOf)}\n`).join("");
}

function commandOf({ repo, scope, field, value, masks }: Edit, schemaOf: SchemaOf): string {
  const path = joinConfigPath(scope, field);
  if (value === undefined) return `repoconf unset --repo ${quote(repo)} ${quote(path)}`;
  const schema = schemaOf(scope, field);
  // A value without a schema counts as masked, as everywhere. A comment would be an error in an interactive zsh.
  if (schema === undefined || masks !== undefined || masksAnything(schema))
    return `: ${quote(`${path} of ${repo} is masked and was not copied`)}`;
  if (unreadPlaces(value).length > 0)
    return `: ${quote(`${path} of ${repo} is not a value yet and was not copied: ${showJson(value, schema)}`)}`;
  const command = `repoconf set --repo ${quote(repo)}`;
  // Of a field that accepts texts and other values, = would make a text of each.
  const { type } = schema;
  if (typeof type !== "string" || (type === "string") !== (typeof value === "string"))
    return `${command} ${quote(`${path}:=${JSON.stringify(value)}`)}`;
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
