import { existsSync } from "node:fs";
import { realpath } from "node:fs/promises";
import { basename, dirname, relative, resolve } from "node:path";
import { isJsonObject, type JsonObject, type JsonValue } from "../../../shared/json.ts";
import { valueAt } from "../../../shared/value-edit.ts";
import { type JsonText, JsonTextError, parseJsonText } from "../../files/json-text.ts";
import { absoluteUri } from "../../scopes/schema-ids.ts";
import { CommandError, exitCodes } from "../output/exit-codes.ts";
import { readNamedFile } from "../system/named-file.ts";

export interface BundledSchema {
  readonly value: JsonObject;
  /** By their names in `$defs`: the files that were put there. */
  readonly files: ReadonlyMap<string, { readonly path: string; readonly json: JsonText }>;
}

/**
 * Puts the files that the references of a schema name beside it, such as `types.json#/port`, into its `$defs`, each with its relative path
 * as `$id`, which is what the references name, and with its own draft. Undefined if there are none. Throws CommandError if a file cannot
 * be read.
 */
export async function bundleSchema(file: string, schema: JsonObject): Promise<BundledSchema | undefined> {
  const folder = dirname(resolve(file));
  const bundled = new Map<string, JsonObject>();
  const files = new Map<string, { readonly path: string; readonly json: JsonText }>();
  const first = localized(schema, folder);
  if (first.names.size === 0) return undefined;
  const waiting = [...first.names].map(name => resolve(folder, name));
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    const name = relative(folder, path).replaceAll("\\", "/");
    // A file may refer back to the first one, which is the whole.
    if (bundled.has(name) || path === resolve(file)) continue;
    const real = await realpath(path).catch(() => path);
    if (name.startsWith("..") || relative(await realpath(folder), real).startsWith(".."))
      throw new CommandError(`${path} is not below ${folder}, so it cannot be added.`, exitCodes.refused);
    const json = parsed(path, await readNamedFile(path));
    files.set(name, { path, json });
    const { value, names } = localized(json.value, dirname(path));
    bundled.set(name, named(value, name, schema["$schema"]));
    for (const other of names) waiting.push(resolve(dirname(path), other));
  }
  const { $defs } = first.value;
  const defs = isJsonObject($defs ?? null) ? ($defs as JsonObject) : {};
  const whole = named(first.value, basename(file), undefined);
  return { value: { ...whole, $defs: { ...defs, ...Object.fromEntries(bundled) } }, files };
}

/**
 * The address by which the references of a schema without `$id` name the schema itself; undefined if that is not certain: it ends in the
 * file's name, no other one does, and all that they name in it is there.
 */
export function ownAddress(file: string, schema: JsonObject): string | undefined {
  if (schema["$id"] !== undefined || schema["id"] !== undefined) return undefined;
  const named = [...referencesIn(schema)].flatMap(reference => {
    const [address = "", fragment = ""] = reference.split("#");
    const last = /^https?:\/\/[^?]*\/([^/?]+)$/.exec(address)?.[1];
    return last !== undefined && decoded(last) === basename(file) ? [{ address, fragment }] : [];
  });
  const [first] = named;
  const isThis = named.every(({ address, fragment }) => {
    const isThere = fragment === "" || (fragment.startsWith("/") && valueAt(schema, decoded(fragment)) !== undefined);
    return address === first?.address && isThere;
  });
  return isThis ? first?.address : undefined;
}

function* referencesIn(value: JsonValue): Generator<string> {
  if (typeof value !== "object" || value === null) return;
  if (isJsonObject(value) && typeof value["$ref"] === "string") yield value["$ref"];
  for (const inner of Object.values(value)) yield* referencesIn(inner);
}

/** The schema of a file under the path by which the others know it, which is only relative to them if it has no other name. */
function named(schema: JsonObject, name: string, $schema: JsonValue | undefined): JsonObject {
  const { $id: _, id, ...rest } = schema;
  const draft = schema["$schema"] ?? $schema;
  const isId = typeof id === "string" && String(draft).includes("draft-04");
  return {
    ...(draft !== undefined && { $schema: draft }),
    $id: encodeURI(name),
    ...rest,
    ...(id !== undefined && !isId && { id }),
  };
}

/** Throws CommandError if it is no JSON. */
export function parsed(path: string, text: string): JsonText {
  try {
    return parseJsonText(text);
  } catch (error) {
    if (!(error instanceof JsonTextError)) throw error;
    const { line, column, message } = error;
    throw new CommandError(`${path}, line ${line}, column ${column}: ${message}.`, exitCodes.refused);
  }
}

/**
 * The schema of a file with references to other files by their relative paths, and with those paths. Where its `$id` is the address at which it is
 * published, a reference may name it, and a file beside it, by their addresses.
 */
function localized(schema: JsonObject, folder: string): { readonly value: JsonObject; readonly names: Set<string> } {
  const { $id, id } = schema;
  const own = [$id, id]
    .find(one => typeof one === "string" && URL.canParse(one))
    ?.toString()
    .replace(/#.*$/s, "");
  const above = (own === undefined ? undefined : URL.parse(".", own)?.href) ?? "";
  const within = new Set([...idsWithin(schema)].flatMap(one => [one, absoluteUri(one, own ?? "")]));
  const names = new Set<string>();
  const rewritten = (reference: string, isInside: boolean): string => {
    const [path = ""] = reference.split("#");
    const fragment = reference.slice(path.length);
    const uri = own === undefined ? path : absoluteUri(path, own);
    if (path === "" || within.has(path) || within.has(uri)) return reference;
    // A part with an id of its own is not the file.
    if (uri === own) return isInside ? reference : fragment || "#";
    const beside = above !== "" && uri.startsWith(above) ? uri.slice(above.length) : "";
    const isPath = !/^[a-z][a-z0-9+.-]*:|^\//i.test(path);
    const name = isPath ? path : beside !== "" && existsSync(resolve(folder, decoded(beside))) ? beside : undefined;
    if (name === undefined) return reference;
    names.add(decoded(name));
    return `${name}${fragment}`;
  };
  const copy = (value: JsonValue, isInside: boolean): JsonValue => {
    if (Array.isArray(value)) return value.map(item => copy(item, isInside));
    if (!isJsonObject(value)) return value;
    const inner = isInside || (value !== schema && typeof value["$id"] === "string");
    const members = Object.entries(value).map(([name, member]) => [
      name,
      name === "$ref" && typeof member === "string" ? rewritten(member, inner) : copy(member, inner),
    ]);
    return Object.fromEntries(members);
  };
  return { value: copy(schema, false) as JsonObject, names };
}

/** What parts of a schema call themselves. */
function* idsWithin(value: JsonValue, isWhole = true): Generator<string> {
  if (typeof value !== "object" || value === null) return;
  const { $id, id } = isJsonObject(value) ? value : {};
  if (!isWhole) for (const one of [$id, id]) if (typeof one === "string") yield one;
  for (const inner of Object.values(value)) yield* idsWithin(inner, false);
}

function decoded(path: string): string {
  try {
    return decodeURI(path);
  } catch {
    return path;
  }
}
