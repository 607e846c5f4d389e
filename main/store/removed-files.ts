import { join } from "node:path";
import { keepFile, moveFile, stampOf } from "../files/durable-text-file.ts";
import type { FileSystem } from "../files/file-system.ts";
import type { Clock } from "../time/clock.ts";

/*
 * The home's folder `removed/` has files that were removed or replaced, so that a person can restore them.
 */

/** What the functions here need of the store's context. */
export interface RemovedFilesContext {
  readonly paths: { readonly removed: string };
  readonly fileSystem: FileSystem;
  readonly clock: Clock;
}

/** Copies a file into the folder. Returns the path of the copy; undefined if there is no such file. Throws the system's error. */
export function keepAside(context: RemovedFilesContext, name: string, path: string): Promise<string | undefined> {
  return putAside(keepFile, context, name, path);
}

/** Moves a file into the folder. Returns its new path; undefined if it was already deleted by hand. Throws the system's error. */
export function moveAside(context: RemovedFilesContext, name: string, path: string): Promise<string | undefined> {
  return putAside(moveFile, context, name, path);
}

async function putAside(
  take: typeof keepFile,
  { paths, fileSystem, clock }: RemovedFilesContext,
  name: string,
  path: string,
): Promise<string | undefined> {
  for (let time = clock.now(); ; time++) {
    const kept = join(paths.removed, `${name}.${new Date(time).toISOString().replaceAll(":", "-")}.json`);
    // Existing files must not be overwritten.
    if ((await stampOf(kept)) === undefined) return (await take(path, kept, fileSystem, clock)) ? kept : undefined;
  }
}
