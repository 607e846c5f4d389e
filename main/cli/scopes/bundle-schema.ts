import { realpath } from "node:fs/promises";
import { basename, dirname, relative, resolve } from "node:path";
import { isJsonObject, type JsonObject, type JsonValue } from "../../../shared/json.ts";
import { type JsonText, JsonTextError, parseJsonText } from "../../files/json-text.ts";
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
  const names = localFilesOf(schema);
  if (names.size === 0) return undefined;
  const waiting = [...names].map(name => resolve(folder, name));
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    const name = relative(folder, path).replaceAll("\\", "/");
    // A file may refer back to the first one, which is the whole.
    if (bundled.has(name) || path === resolve(file)) continue;
    const real = await realpath(path).catch(() => path);
    if (name.startsWith("..") || relative(await realpath(folder), real).startsWith(".."))
      throw new CommandError(`${path} is not below ${folder}, so it cannot be added.`, exitCodes.refused);
    const json = parsed(path, await readNamedFile(path));
    const { value } = json;
    files.set(name, { path, json });
    bundled.set(name, named(value, name, schema["$schema"]));
    for (const other of localFilesOf(value)) waiting.push(resolve(dirname(path), other));
  }
  const defs = isJsonObject(schema["$defs"]) ? schema["$defs"] : {};
  const whole = named(schema, basename(file), undefined);
  return { value: { ...whole, $defs: { ...defs, ...Object.fromEntries(bundled) } }, files };
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

/** The relative paths that references in a schema name. */
function localFilesOf(value: JsonValue, found = new Set<string>()): Set<string> {
  if (typeof value !== "object" || value === null) return found;
  for (const [name, inner] of Object.entries(value)) {
    const path = name === "$ref" && typeof inner === "string" ? (inner.split("#")[0] ?? "") : "";
    if (path !== "" && !/^[a-z][a-z0-9+.-]*:|^\//i.test(path)) found.add(decoded(path));
    localFilesOf(inner, found);
  }
  return found;
}

function decoded(path: string): string {
  try {
    return decodeURI(path);
  } catch {
    return path;
  }
}
