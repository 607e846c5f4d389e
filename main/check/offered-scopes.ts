import { join } from "node:path";
import type { JsonObject } from "../../shared/json.ts";
import { limits } from "../../shared/limits.ts";
import { hashOfValue } from "../daemon/store/trusted-values.ts";
import { UnreadableFileError } from "../files/durable-text-file.ts";
import { JsonTextError, parseJsonText } from "../files/json-text.ts";
import type { Home } from "../home.ts";
import { readTextFile } from "./read-text-file.ts";
import { readWorkTreeScopes, type SchemaFile } from "./work-tree-scopes.ts";

/** A scope that a work tree brings and the home does not have so. */
export interface OfferedScope extends SchemaFile {
  /** Of what it says; comments and the order of members do not count. */
  readonly hash: string;
  /** Where it would be in the home. */
  readonly homeFile: string;
  /** The schema that is there now under the same name; null if the name is free. */
  readonly serving: JsonObject | null;
}

/** The scopes of a work tree that a person can copy into the home. `repoconf check` reports invalid ones. */
export async function readOfferedScopes(folder: string, home: Home): Promise<readonly OfferedScope[]> {
  const { files } = await readWorkTreeScopes(folder);
  const offered = await Promise.all(
    files.map(async file => {
      const homeFile = join(home.scopes, `${file.scope}.schema.json`);
      return { ...file, hash: hashOfValue(file.value), homeFile, serving: await readSchema(homeFile) };
    }),
  );
  return offered.filter(({ hash, serving }) => serving === null || hashOfValue(serving) !== hash);
}

/** Null if there is none, or if it is invalid. */
async function readSchema(path: string): Promise<JsonObject | null> {
  try {
    return parseJsonText(await readTextFile(path, limits.scopeBytes)).value;
  } catch (error) {
    if (error instanceof UnreadableFileError || error instanceof JsonTextError) return null;
    throw error;
  }
}
