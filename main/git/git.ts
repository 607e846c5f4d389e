import { lstat, readdir, realpath, stat } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { foreignDisks, UnreachableDiskError } from "../files/foreign-disks.ts";
import { readForeignText } from "../files/foreign-file.ts";
import { valueIn } from "./git-config.ts";

/** Bytes of a file in which git keeps one path. */
const pathFileBytes = 64 * 1024;
const configBytes = 1024 * 1024;

/** A git work tree. It is found by reading git's files, so git itself need not be installed. */
export interface WorkTree {
  readonly folder: string;
  /** Git's folder of this work tree: `.git`, or the folder that the file `.git` of a linked worktree or a submodule names. */
  readonly gitFolder: string;
  /**
   * Whether `gitFolder` is in the work tree, or names it in turn. Nothing may be written to another one: in an unpacked archive, the file
   * or link `.git` may name the folder of a stranger.
   */
  readonly isOwn: boolean;
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
  const stats = await ask(folder, () => lstat(entry));
  if (stats?.isDirectory()) return { folder, gitFolder: entry, isOwn: true };
  const target = stats?.isSymbolicLink() ? await ask(folder, () => stat(entry)) : stats;
  if (target?.isDirectory()) return { folder, gitFolder: entry, isOwn: await namesWorkTree(entry, folder) };
  if (!target?.isFile()) return undefined;
  const pointer = /^gitdir: (.+)$/m.exec((await readPath(entry)) ?? "")?.[1];
  if (pointer === undefined) return undefined;
  const gitFolder = resolve(folder, pointer);
  const isOwn = await namesWorkTree(gitFolder, folder);
  // A linked worktree names the shared folder; a submodule, which is a repository of its own, does not.
  const common = isOwn ? await commonFolderOf(gitFolder) : undefined;
  return { folder, gitFolder, isOwn, ...(common !== undefined && { mainFolder: dirname(common) }) };
}

/** Whether a git folder names the work tree: that of a linked worktree in its file `gitdir`, that of a submodule in its configuration. */
async function namesWorkTree(gitFolder: string, folder: string): Promise<boolean> {
  const entry = (await readPath(join(gitFolder, "gitdir")))?.trim();
  const named = entry ? dirname(entry) : valueIn((await readGitConfig(gitFolder)) ?? "", "core", undefined, "worktree");
  return named !== undefined && isSameFolder(resolve(gitFolder, named), folder);
}

/** The folder that linked worktrees share. Undefined if it does not contain this one: then the pointer to it is not git's. */
async function commonFolderOf(gitFolder: string): Promise<string | undefined> {
  const common = await readPath(join(gitFolder, "commondir"));
  if (common === null) return undefined;
  const folder = resolve(gitFolder, common.trim());
  return (await isSameFolder(join(folder, "worktrees", basename(gitFolder)), gitFolder)) ? folder : undefined;
}

/**
 * The main work tree of a linked one: the folder whose `.git` is the git folder that they share, or that this git folder names, as that of a
 * submodule does. Undefined if it is no linked one, if the repository is bare, and if the main one is not known. Throws UnreachableDiskError.
 */
export async function mainWorkTree({ gitFolder, mainFolder }: WorkTree): Promise<string | undefined> {
  const common = mainFolder === undefined ? undefined : await commonFolderOf(gitFolder);
  if (common === undefined) return undefined;
  const named = valueIn((await readGitConfig(common)) ?? "", "core", undefined, "worktree");
  for (const folder of [dirname(common), ...(named === undefined ? [] : [resolve(common, named)])]) {
    const found = await readWorkTree(folder);
    if (found !== undefined && (await isSameFolder(found.gitFolder, common)))
      return ask(folder, () => realpath(folder));
  }
  return undefined;
}

async function isSameFolder(one: string, other: string): Promise<boolean> {
  const [real, otherReal] = [await ask(one, () => realpath(one)), await ask(other, () => realpath(other))];
  return real !== undefined && real === otherReal;
}

/** The text of a git folder's configuration; null if it cannot be read. */
export function readGitConfig(gitFolder: string): Promise<string | null> {
  return readForeignText(join(gitFolder, "config"), { maximumBytes: configBytes, followsLinks: true });
}

/** Links are followed, because some tools link the files of a git folder. */
function readPath(file: string): Promise<string | null> {
  return readForeignText(file, { maximumBytes: pathFileBytes, followsLinks: true });
}

/** Undefined if there is nothing. Throws UnreachableDiskError. */
function ask<Result>(folder: string, call: () => Promise<Result>): Promise<Result | undefined> {
  return foreignDisks.ask(folder, () => call().catch(() => undefined));
}

/** The folder with the git configuration of a work tree; linked worktrees share that of the main one. Undefined if there is none. */
export async function commonGitFolder(folder: string): Promise<string | undefined> {
  const workTree = await readWorkTree(folder);
  if (workTree?.mainFolder === undefined) return workTree?.gitFolder;
  return commonFolderOf(workTree.gitFolder);
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
