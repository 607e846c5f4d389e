import { join } from "node:path";
import { type JsonObject, sameJson } from "../../shared/json.ts";
import { limits } from "../../shared/limits.ts";
import { UnreadableFileError } from "../files/durable-text-file.ts";
import { JsonTextError, parseJsonText } from "../files/json-text.ts";
import type { Home } from "../home/home.ts";
import { readTextFile, readWorkTreeScopes, type SchemaFile } from "./work-tree-scopes.ts";

/** A scope in a work tree that the home does not have, or has with another schema. */
export interface OfferedScope extends SchemaFile {
  /** The path of its file in the home. */
  readonly homeFile: string;
  /** The schema of this name that the home uses now; null if there is none. */
  readonly serving: JsonObject | null;
}

/** The scopes of a work tree that a user can copy into the home, and whether it has others, on which `repoconf check` reports. */
export async function readOfferedScopes(
  folder: string,
  home: Home,
): Promise<{ readonly offered: readonly OfferedScope[]; readonly hasOthers: boolean }> {
  const { files, problems } = await readWorkTreeScopes(folder);
  const all = await Promise.all(
    files.map(async file => {
      const homeFile = join(home.scopes, `${file.scope}.schema.json`);
      return { ...file, homeFile, serving: await readSchema(homeFile) };
    }),
  );
  const offered = all.filter(({ value, serving }) => serving === null || !sameJson(serving, value));
  return { offered, hasOthers: problems.length > 0 };
}

/** Null if the file is missing or invalid. */
export async function readSchema(path: string): Promise<JsonObject | null> {
  try {
    return parseJsonText(await readTextFile(path, limits.scopeBytes)).value;
  } catch (error) {
    if (error instanceof UnreadableFileError || error instanceof JsonTextError) return null;
    throw error;
  }
}
