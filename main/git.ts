import { readdir, readFile, stat } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";

/** A git work tree. It is found by reading git's files, so git itself need not be installed. */
export interface WorkTree {
  readonly folder: string;
  /** Git's folder of this work tree: `.git`, or the folder that the file `.git` of a linked worktree or a submodule names. */
  readonly gitFolder: string;
  /** Only for a linked worktree: the folder of the main one. */
  readonly mainFolder?: string;
}

/** The work tree that contains the folder; undefined if there is none. */
export async function findWorkTree(folder: string): Promise<WorkTree | undefined> {
  for (let current = resolve(folder); ; current = dirname(current)) {
    const found = await readWorkTree(current);
    if (found !== undefined || dirname(current) === current) return found;
  }
}

async function readWorkTree(folder: string): Promise<WorkTree | undefined> {
  const entry = join(folder, ".git");
  const stats = await stat(entry).catch(() => undefined);
  if (stats?.isDirectory()) return { folder, gitFolder: entry };
  if (!stats?.isFile()) return undefined;
  const pointer = /^gitdir: (.+)$/m.exec(await readFile(entry, "utf8"))?.[1];
  if (pointer === undefined) return undefined;
  const gitFolder = resolve(folder, pointer);
  // A linked worktree names the shared folder; a submodule, which is a repository of its own, does not.
  const common = await readFile(join(gitFolder, "commondir"), "utf8").catch(() => undefined);
  if (common === undefined) return { folder, gitFolder };
  return { folder, gitFolder, mainFolder: dirname(resolve(gitFolder, common.trim())) };
}

/** The folder with the git configuration of a work tree; linked worktrees share that of the main one. Undefined if there is none. */
export async function commonGitFolder(folder: string): Promise<string | undefined> {
  const workTree = await readWorkTree(folder);
  if (workTree?.mainFolder === undefined) return workTree?.gitFolder;
  return resolve(workTree.gitFolder, (await readFile(join(workTree.gitFolder, "commondir"), "utf8")).trim());
}

/** Folders that are not searched: they contain no work trees of the user, or too many files. */
const skippedNames = new Set(["node_modules", ".git", ".cache", "Library", "AppData", "$Recycle.Bin"]);

/** The git work trees in a folder, including itself, but not those inside another one. Symbolic links are not followed. */
export async function* findWorkTreesBelow(
  folder: string,
  onProgress: (checked: number) => void,
): AsyncGenerator<string> {
  const folders = [folder];
  let checked = 0;
  for (let current = folders.pop(); current !== undefined; current = folders.pop()) {
    checked += 1;
    if (checked % 100 === 0) onProgress(checked);
    if ((await readWorkTree(current)) !== undefined) {
      yield current;
      continue;
    }
    const entries = await readdir(current, { withFileTypes: true }).catch(() => []);
    const below = entries
      .filter(entry => entry.isDirectory() && !skippedNames.has(entry.name))
      .map(entry => entry.name);
    for (const name of below.sort().reverse()) folders.push(join(current, name));
  }
}
