import { lstat } from "node:fs/promises";
import { join } from "node:path";
import { keepFile, moveFile } from "../files/durable-text-file.ts";
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

/** A path with an unused name, because existing files must not be overwritten. */
async function unusedPath(folder: string, name: string, clock: Clock): Promise<string> {
  for (let time = clock.now(); ; time++) {
    const path = join(folder, `${name}.${new Date(time).toISOString().replaceAll(":", "-")}.json`);
    const isFree = await lstat(path).then(
      () => false,
      () => true,
    );
    if (isFree) return path;
  }
}

/** Copies a file into the folder. Returns the path of the copy; undefined if there is no such file. Throws the system's error. */
export async function keepAside(
  { paths, fileSystem, clock }: RemovedFilesContext,
  name: string,
  path: string,
): Promise<string | undefined> {
  const kept = await unusedPath(paths.removed, name, clock);
  return (await keepFile(path, kept, fileSystem, clock)) ? kept : undefined;
}

/** Moves a repository's file into the folder. Returns its new path; undefined if it was already deleted by hand. Throws the system's error. */
export async function moveAside(
  { paths, fileSystem, clock }: RemovedFilesContext,
  id: string,
  path: string,
): Promise<string | undefined> {
  const movedTo = await unusedPath(paths.removed, id, clock);
  return (await moveFile(path, movedTo, fileSystem, clock)) ? movedTo : undefined;
}
