import { realpath } from "node:fs/promises";
import { dirname, relative, resolve } from "node:path";
import { isJsonObject, type JsonObject, type JsonValue } from "../../../shared/json.ts";
import { parseJsonText } from "../../files/json-text.ts";
import { CommandError, exitCodes } from "../output/exit-codes.ts";
import { readNamedFile } from "../system/named-file.ts";

/**
 * Puts the files that the references of a schema name beside it, such as `types.json#/port`, into its `$defs`, each with its relative path
 * as `$id`, which is what the references name. Undefined if there are none. Throws CommandError if a file cannot be read.
 */
export async function bundleSchema(file: string, schema: JsonObject): Promise<JsonObject | undefined> {
  const folder = dirname(resolve(file));
  const bundled = new Map<string, JsonValue>();
  const waiting = [...localFilesOf(schema)].map(name => resolve(folder, name));
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    const name = relative(folder, path).replaceAll("\\", "/");
    if (bundled.has(name) || path === resolve(file)) continue;
    const real = await realpath(path).catch(() => path);
    if (name.startsWith("..") || relative(await realpath(folder), real).startsWith(".."))
      throw new CommandError(`${path} is not below ${folder}, so it cannot be added.`, exitCodes.refused);
    const { value } = parseJsonText(await readNamedFile(path));
    bundled.set(name, { ...value, $id: name });
    for (const other of localFilesOf(value)) waiting.push(resolve(dirname(path), other));
  }
  if (bundled.size === 0) return undefined;
  // Relative paths are only relative to the file if it has no other name.
  const { $id: _, ...rest } = schema;
  const defs = isJsonObject(schema["$defs"] ?? null) ? (schema["$defs"] as JsonObject) : {};
  return { ...rest, $defs: { ...defs, ...Object.fromEntries(bundled) } };
}

/** The relative paths that references in a schema name. */
function localFilesOf(value: JsonValue, found = new Set<string>()): Set<string> {
  if (typeof value !== "object" || value === null) return found;
  for (const [name, inner] of Object.entries(value)) {
    const path = name === "$ref" && typeof inner === "string" ? (inner.split("#")[0] ?? "") : "";
    if (path !== "" && !/^[a-z][a-z0-9+.-]*:|^\//i.test(path)) found.add(decodeURI(path));
    localFilesOf(inner, found);
  }
  return found;
}
