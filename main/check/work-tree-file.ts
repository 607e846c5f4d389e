import { lstat, stat } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { limits } from "../../shared/limits.ts";
import { foreignDisks } from "../files/foreign-disks.ts";
import { findWorkTree } from "../git/git.ts";
import { inTreeFileName } from "../git/work-tree.ts";
import { readTextFile, scopesFolder } from "./work-tree-scopes.ts";

/** A values file that is read without a daemon. */
export interface WorkTreeFile {
  /** The folder of the file and of its schemas. */
  readonly folder: string;
  /** An absolute path; the file may be missing. */
  readonly path: string;
}

/**
 * The in-tree file for a folder: the nearest one in the folder or above it within the git work tree, else the path of a new one at the
 * work tree's root. Outside a work tree only the folder itself is searched, because other users may be able to write to its parents.
 */
export async function findInTreeFile(current: string): Promise<WorkTreeFile> {
  const root = (await findWorkTree(current))?.folder ?? resolve(current);
  for (let folder = resolve(current); ; folder = dirname(folder)) {
    const path = join(folder, inTreeFileName);
    if (folder === root || dirname(folder) === folder || (await exists(path))) return { folder, path };
  }
}

/** The values file for a path: of a folder, an in-tree file, a schema next to it, or any values file. Undefined if the path is missing. */
export async function namedFile(named: string): Promise<WorkTreeFile | undefined> {
  const path = resolve(named);
  const stats = await foreignDisks.ask(dirname(path), () => stat(path).catch(() => undefined));
  if (stats === undefined) return undefined;
  if (stats.isDirectory()) return inTreeFileOf(path);
  const parts = [basename(dirname(dirname(path))), basename(dirname(path))];
  if (join(...parts) === scopesFolder) return inTreeFileOf(dirname(dirname(dirname(path))));
  return { folder: dirname(path), path };
}

/** The text of the file; null if it is missing. Throws UnreadableFileError. */
export async function textOf({ path }: WorkTreeFile): Promise<string | null> {
  return (await exists(path)) ? readTextFile(path, limits.repositoryFileBytes) : null;
}

function inTreeFileOf(folder: string): WorkTreeFile {
  return { folder, path: join(folder, inTreeFileName) };
}

/** True for a dangling link too. Throws UnreachableDiskError. */
async function exists(path: string): Promise<boolean> {
  return (await foreignDisks.ask(dirname(path), () => lstat(path).catch(() => undefined))) !== undefined;
}
