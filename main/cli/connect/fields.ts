import { distance } from "fastest-levenshtein";
import { RequestError } from "../../../shared/client/request-error.ts";
import { type Config, configValue } from "../../../shared/config.ts";
import { joinConfigPath, splitConfigPath } from "../../../shared/config-path.ts";
import { itemNamesOf } from "../../../shared/item-names.ts";
import type { JsonValue } from "../../../shared/json.ts";
import type { Layer, OperationArguments, OperationResults, Reply } from "../../../shared/protocol.ts";
import { masksAnything, withMasks } from "../../../shared/scopes/masks.ts";
import type { FieldSchema } from "../../../shared/scopes/scope-schema.ts";
import { maskValue } from "../../../shared/scopes/value-text.ts";
import { choicesOf, type PlainSchema, rawValue } from "../../../shared/typed-value.ts";
import { CommandError, exitCodes } from "../output/exit-codes.ts";
import type { Requests } from "./requests.ts";

/** Every field that the key may read, by `<scope>.<field>`. */
export type Fields = ReadonlyMap<string, FieldSchema>;

export type ReadFields = () => Promise<Fields>;

export async function listFields(client: Requests): Promise<Fields> {
  return fieldsIn(await client.run("scope/list", {}));
}

/** The fields in a reply to `scope/list`. */
export function fieldsIn(scopes: OperationResults["scope/list"]): Fields {
  const fields = new Map<string, FieldSchema>();
  for (const { scope, schema } of scopes)
    for (const [field, fieldSchema] of Object.entries(withMasks(schema).properties))
      fields.set(joinConfigPath(scope, field), fieldSchema);
  return fields;
}

/** Shown in place of a masked value. */
export const mask = "••••••";

/**
 * Whether a field's value, or a part of it, is shown only on request. True without a schema, which may be missing, invalid or not loaded
 * yet.
 */
export function isMasked(schema: FieldSchema | undefined): boolean {
  return schema === undefined || masksAnything(schema);
}

/**
 * A value for people: anything but strings as JSON, and strings as plain text, in quotes if they are empty or would be read as something else
 * where they stand. Masked parts are shown only with `reveal`. `at`: the schema of the place inside the field's value that has it.
 */
export function showValue(
  value: JsonValue,
  schema: FieldSchema | undefined,
  reveal: boolean,
  at: PlainSchema | undefined = schema,
): string {
  if (!reveal && isMasked(schema)) return showValue(maskValue(value, mask), undefined, true);
  return typeof value === "string" && (value === "" || readsAsOther(value, at))
    ? JSON.stringify(value)
    : rawValue(value);
}

/** Whether a text looks like JSON of another type where its schema accepts more than texts, or is not known. */
function readsAsOther(text: string, schema: PlainSchema | undefined): boolean {
  if (text === "null") return true;
  if (schema?.["type"] === "string" || !/^(true$|false$|-?\d[\d.eE+-]*$|[[{"])/.test(text)) return false;
  const choices = choicesOf(schema);
  return choices.length === 0 || choices.some(one => typeof one !== "string" && rawValue(one) === text);
}

/** If a request failed because of an unknown field, an error that suggests similar fields; else the same error. */
export async function withSuggestion(readFields: ReadFields, error: unknown): Promise<unknown> {
  if (!(error instanceof RequestError) || (error.code !== 1007 && error.code !== 1011) || error.field === undefined)
    return error;
  const fields = await readFields().catch(() => new Map<string, FieldSchema>());
  // The field exists, so the key may not access it.
  return fields.has(error.field) ? error : unknownField(error.field, fields);
}

/** Whether a typed name is an earlier name of the field. */
function isOldName(typed: string, path: string, schema: FieldSchema): boolean {
  const [old, now] = [splitConfigPath(typed), splitConfigPath(path)];
  const names = [schema["x-renamedFrom"] ?? []].flat();
  return old !== undefined && old.scope === now?.scope && names.includes(old.field);
}

/** The error for an unknown field, with a suggestion. */
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

/** Finds `svc.timeout` for `timeout`. */
function sameFieldElsewhere(typed: string, fields: Fields): string | undefined {
  const wanted = splitConfigPath(typed)?.field ?? typed;
  for (const path of fields.keys()) if (splitConfigPath(path)?.field === wanted) return path;
  return undefined;
}

/** The candidate that is most similar to the typed text; undefined if none is similar enough. */
export function nearest(typed: string, candidates: Iterable<string>): string | undefined {
  // In a short word, a second difference usually makes it another word.
  const limit = typed.length < 4 ? 1 : Math.max(2, Math.floor(typed.length / 3));
  let best: { readonly candidate: string; readonly away: number } | undefined;
  for (const candidate of candidates) {
    const away = distance(typed.toLowerCase(), candidate.toLowerCase());
    if (away <= limit && away < (best?.away ?? Number.POSITIVE_INFINITY)) best = { candidate, away };
  }
  return best?.candidate;
}

/** Values and their revision, so that a caller can refuse to overwrite changes made in between. */
export interface ReadConfig {
  readonly config: Config;
  readonly revision: number;
  /** Fields whose values the key may not see; they are not in `config`. */
  readonly masked: readonly string[];
  /** The stored values of each layer, if the request asked for them. */
  readonly layers: NonNullable<Reply["layers"]>;
}

/** Reads values. Throws RequestError, or CommandError with a suggestion for an unknown field. */
export async function readConfig(client: Requests, args: OperationArguments<"config/list">): Promise<ReadConfig> {
  const reply = await client.request("config/list", args);
  const [first] = reply.errors;
  if (first !== undefined) throw await withSuggestion(() => listFields(client), new RequestError(first, reply));
  const { result: config, revision = 0, masked = [], layers = { shared: {} } } = reply;
  return { config, revision, masked, layers };
}

/**
 * What an edit of a field in one layer starts from, as in the daemon: the layer's own value, or else what is below it. Never what is above,
 * since a private value would get into the layer that everyone has.
 */
export function startOfLayer(
  { masked, layers }: ReadConfig,
  layer: Layer,
  path: string,
  schema: FieldSchema | undefined,
): Config {
  const { scope = "", field = "" } = splitConfigPath(path) ?? {};
  const isMerged = itemNamesOf(schema) !== undefined;
  const below = isMerged ? [] : [layers.base, layers.shared];
  const all = [layers[layer], ...(layer === "local" ? below : [])];
  const known = all.map(values => configValue(values ?? {}, scope, field));
  const value = known.find(one => one !== undefined) ?? schema?.default;
  return masked.includes(path) || value === undefined ? {} : { [scope]: { [field]: value } };
}
