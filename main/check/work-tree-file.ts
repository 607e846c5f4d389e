import { lstat, stat } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { limits } from "../../shared/limits.ts";
import { inTreeFileName } from "../daemon/store/work-tree.ts";
import { findWorkTree } from "../git.ts";
import { readTextFile } from "./read-text-file.ts";
import { scopesFolder } from "./work-tree-scopes.ts";

/** A file of values that is read without a daemon. */
export interface WorkTreeFile {
  /** Its folder, which also has the schemas that belong to it. */
  readonly folder: string;
  /** Absolute. It need not be there. */
  readonly path: string;
}

/**
 * The in-tree file for the current folder: the nearest one above it within the git work tree, else the path that one would have at the
 * root. Outside a work tree only the folder itself is searched, because other users may be able to write to the folders above.
 */
export async function findInTreeFile(current: string): Promise<WorkTreeFile> {
  const root = (await findWorkTree(current))?.folder ?? resolve(current);
  for (let folder = resolve(current); ; folder = dirname(folder)) {
    const path = join(folder, inTreeFileName);
    if (folder === root || dirname(folder) === folder || (await isThere(path))) return { folder, path };
  }
}

/** What a person named: a folder, its in-tree file, a schema beside it, or any other file of values; undefined if nothing is there. */
export async function namedFile(named: string): Promise<WorkTreeFile | undefined> {
  const path = resolve(named);
  const stats = await stat(path).catch(() => undefined);
  if (stats === undefined) return undefined;
  if (stats.isDirectory()) return inTreeFileOf(path);
  const parts = [basename(dirname(dirname(path))), basename(dirname(path))];
  if (join(...parts) === scopesFolder) return inTreeFileOf(dirname(dirname(dirname(path))));
  return { folder: dirname(path), path };
}

/** Its text, null if it is not there. Throws UnreadableFileError. */
export async function textOf({ path }: WorkTreeFile): Promise<string | null> {
  return (await isThere(path)) ? readTextFile(path, limits.repositoryFileBytes) : null;
}

function inTreeFileOf(folder: string): WorkTreeFile {
  return { folder, path: join(folder, inTreeFileName) };
}

/** Also a link that leads nowhere. */
async function isThere(path: string): Promise<boolean> {
  return (await lstat(path).catch(() => undefined)) !== undefined;
}
