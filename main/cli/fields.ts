import { type RepoconfClient, RequestError } from "../../shared/client/client.ts";
import { joinConfigPath, splitConfigPath } from "../../shared/config-path.ts";
import type { JsonValue } from "../../shared/json.ts";
import { masksAnything, withMasks } from "../../shared/scopes/masks.ts";
import type { FieldSchema } from "../../shared/scopes/scope-schema.ts";
import { maskValue } from "../../shared/scopes/value-text.ts";
import { CommandError, exitCodes } from "./exit-codes.ts";
import { nearest } from "./suggestion.ts";

/** Every field that the key may read, by `<scope>.<field>`. */
export type Fields = ReadonlyMap<string, FieldSchema>;

/** A field's schema, or one inside it. */
export type PlainSchema = { readonly [keyword: string]: unknown };

export async function listFields(client: RepoconfClient): Promise<Fields> {
  const fields = new Map<string, FieldSchema>();
  for (const { scope, schema } of await client.run("scope/list", {})) {
    for (const [field, fieldSchema] of Object.entries(withMasks(schema).properties))
      fields.set(joinConfigPath(scope, field), fieldSchema);
  }
  return fields;
}

/** Shown in place of a masked value. */
export const mask = "••••••";

/**
 * Whether a field's value, or a part of it, is shown only on request. True without a schema: it may be missing, broken, or not read
 * yet.
 */
export function isMasked(schema: FieldSchema | undefined): boolean {
  return schema === undefined || masksAnything(schema);
}

/** A value as people read it: a text as it is (an empty one as ""), anything else as JSON; what is masked only on request. */
export function showValue(value: JsonValue, schema: FieldSchema | undefined, reveal: boolean): string {
  if (!reveal && isMasked(schema)) return showValue(maskValue(value, mask), undefined, true);
  return value === "" ? '""' : rawValue(value);
}

/** A value as programs take it: a text as it is, anything else as JSON. */
export function rawValue(value: JsonValue): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

/**
 * A value as it was typed, read by its field's schema: text where the field takes text, else JSON. What cannot be read
 * goes to the daemon as it is, which says best what is wrong with it.
 */
export function readValue(text: string, schema: PlainSchema | undefined): JsonValue {
  if (schema !== undefined && [schema["type"]].flat().includes("string")) return text;
  try {
    // Made by JSON.parse.
    return JSON.parse(text) as JsonValue;
  } catch {
    return text;
  }
}

/** Says which field may have been meant, if a request failed because of one that is not there. */
export async function withSuggestion(client: RepoconfClient, error: unknown): Promise<unknown> {
  if (!(error instanceof RequestError) || (error.code !== 1007 && error.code !== 1011) || error.field === undefined)
    return error;
  const fields = await listFields(client).catch(() => new Map<string, FieldSchema>());
  // One that is there was refused for want of a right.
  return fields.has(error.field) ? error : unknownField(error.field, fields);
}

/** Whether what was typed is what the field at a path was called before. */
function isOldName(typed: string, path: string, schema: FieldSchema): boolean {
  const [old, now] = [splitConfigPath(typed), splitConfigPath(path)];
  const names = [schema["x-renamedFrom"] ?? []].flat();
  return old !== undefined && old.scope === now?.scope && names.includes(old.field);
}

/** The error for an unknown field, with the fields that may have been meant. */
export function unknownField(typed: string, fields: Fields): CommandError {
  if (isScope(typed, fields)) {
    const message = `"${typed}" is a scope, not a field. To list its fields: repoconf list ${typed}`;
    return new CommandError(message, exitCodes.refused);
  }
  const renamed = [...fields].find(([path, schema]) => isOldName(typed, path, schema))?.[0];
  if (renamed !== undefined)
    return new CommandError(`There is no field "${typed}". It is now called "${renamed}".`, exitCodes.refused);
  const like = sameFieldElsewhere(typed, fields) ?? nearest(typed, fields.keys());
  const hint = like === undefined ? "To list all fields: repoconf describe" : `Did you mean "${like}"?`;
  return new CommandError(`There is no field "${typed}". ${hint}`, exitCodes.refused);
}

function isScope(name: string, fields: Fields): boolean {
  for (const path of fields.keys()) if (splitConfigPath(path)?.scope === name) return true;
  return false;
}

/** `timeout` for `svc.timeout`. */
function sameFieldElsewhere(typed: string, fields: Fields): string | undefined {
  const wanted = splitConfigPath(typed)?.field ?? typed;
  for (const path of fields.keys()) if (splitConfigPath(path)?.field === wanted) return path;
  return undefined;
}
