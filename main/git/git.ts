import type { Stats } from "node:fs";
import { readdir, stat } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { foreignDisks, UnreachableDiskError } from "../files/foreign-disks.ts";
import { readForeignText } from "../files/foreign-file.ts";

/** Bytes of a file in which git keeps one path. */
const pathFileBytes = 64 * 1024;

/** A git work tree. It is found by reading git's files, so git itself need not be installed. */
export interface WorkTree {
  readonly folder: string;
  /** Git's folder of this work tree: `.git`, or the folder that the file `.git` of a linked worktree or a submodule names. */
  readonly gitFolder: string;
  /** Only for a linked worktree: the folder of the main one. */
  readonly mainFolder?: string;
}

/** The work tree that contains the folder; undefined if there is none. Throws UnreachableDiskError. */
export async function findWorkTree(folder: string): Promise<WorkTree | undefined> {
  for (let current = resolve(folder); ; current = dirname(current)) {
    const found = await readWorkTree(current);
    if (found !== undefined || dirname(current) === current) return found;
  }
}

async function readWorkTree(folder: string): Promise<WorkTree | undefined> {
  const entry = join(folder, ".git");
  const stats = await statAt(folder, entry);
  if (stats?.isDirectory()) return { folder, gitFolder: entry };
  if (!stats?.isFile()) return undefined;
  const pointer = /^gitdir: (.+)$/m.exec((await readPath(entry)) ?? "")?.[1];
  if (pointer === undefined) return undefined;
  const gitFolder = resolve(folder, pointer);
  // A linked worktree names the shared folder; a submodule, which is a repository of its own, does not.
  const common = await readPath(join(gitFolder, "commondir"));
  if (common === null) return { folder, gitFolder };
  return { folder, gitFolder, mainFolder: dirname(resolve(gitFolder, common.trim())) };
}

/** Links are followed, because some tools link the files of a git folder. */
function readPath(file: string): Promise<string | null> {
  return readForeignText(file, { maximumBytes: pathFileBytes, followsLinks: true });
}

/** Undefined if there is nothing. Throws UnreachableDiskError. */
function statAt(folder: string, path: string): Promise<Stats | undefined> {
  return foreignDisks.ask(folder, () => stat(path).catch(() => undefined));
}

/** The folder with the git configuration of a work tree; linked worktrees share that of the main one. Undefined if there is none. */
export async function commonGitFolder(folder: string): Promise<string | undefined> {
  const workTree = await readWorkTree(folder);
  if (workTree?.mainFolder === undefined) return workTree?.gitFolder;
  return resolve(workTree.gitFolder, ((await readPath(join(workTree.gitFolder, "commondir"))) ?? "").trim());
}

/** Folders that are not searched: they contain no work trees of the user, or too many files. */
const skippedNames = new Set(["node_modules", ".git", ".cache", "Library", "AppData", "$Recycle.Bin"]);

/**
 * The git work trees in a folder, including itself, but not those inside another one. Symbolic links are not followed, and disks that do
 * not answer are skipped.
 */
export async function* findWorkTreesBelow(
  folder: string,
  onProgress: (checked: number) => void,
): AsyncGenerator<string> {
  const folders = [folder];
  let checked = 0;
  for (let current = folders.pop(); current !== undefined; current = folders.pop()) {
    checked += 1;
    if (checked % 100 === 0) onProgress(checked);
    const found = await readWorkTree(current).catch(skipUnreachable);
    if (found !== undefined) {
      yield current;
      continue;
    }
    const list = () => readdir(current, { withFileTypes: true }).catch(() => []);
    const entries = (await foreignDisks.ask(current, list).catch(skipUnreachable)) ?? [];
    const below = entries
      .filter(entry => entry.isDirectory() && !skippedNames.has(entry.name))
      .map(entry => entry.name);
    for (const name of below.sort().reverse()) folders.push(join(current, name));
  }
}

function skipUnreachable(error: unknown): undefined {
  if (!(error instanceof UnreachableDiskError)) throw error;
}
