import { lstat, readdir, stat } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { foreignDisks, UnreachableDiskError } from "../files/foreign-disks.ts";
import { readForeignText } from "../files/foreign-file.ts";
import { realFolder } from "../files/real-folder.ts";
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
  readonly linked?: LinkedWorktree;
}

/** What a linked worktree says of itself, and the folder that all of its repository share says too. */
export interface LinkedWorktree {
  /** Git's folder that all work trees of the repository share, without links: it is the repository. */
  readonly common: string;
  /** Its name in the folder `worktrees` there. */
  readonly name: string;
}

/** The work tree that contains the folder; undefined if there is none. Throws UnreachableDiskError. */
export async function findWorkTree(folder: string): Promise<WorkTree | undefined> {
  for (let current = resolve(folder); ; current = dirname(current)) {
    const found = await readWorkTree(current);
    if (found !== undefined || dirname(current) === current) return found;
  }
}

/** The work tree in exactly this folder. Throws UnreachableDiskError. */
export async function readWorkTree(folder: string): Promise<WorkTree | undefined> {
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
  // A submodule, which is a repository of its own, names no shared folder.
  const linked = isOwn ? await linkedOf(gitFolder) : undefined;
  return { folder, gitFolder, isOwn, ...(linked !== undefined && { linked }) };
}

/** Whether a git folder names the work tree: that of a linked worktree in its file `gitdir`, that of a submodule in its configuration. */
async function namesWorkTree(gitFolder: string, folder: string): Promise<boolean> {
  const entry = (await readPath(join(gitFolder, "gitdir")))?.trim();
  const named = entry ? dirname(entry) : valueIn((await readGitConfig(gitFolder)) ?? "", "core", undefined, "worktree");
  return named !== undefined && isSameFolder(resolve(gitFolder, named), folder);
}

/** Undefined if the folder that it names as shared does not contain this one: then the pointer to it is not git's. */
async function linkedOf(gitFolder: string): Promise<LinkedWorktree | undefined> {
  const pointer = await readPath(join(gitFolder, "commondir"));
  if (pointer === null) return undefined;
  const named = resolve(gitFolder, pointer.trim());
  const name = basename(gitFolder);
  if (!(await isSameFolder(join(named, "worktrees", name), gitFolder))) return undefined;
  const common = await ask(named, () => realFolder(named));
  return common === undefined ? undefined : { common, name };
}

/**
 * The main work tree of a repository: the folder whose `.git` is the shared folder, or that this folder names, as that of a submodule does.
 * Undefined if the repository is bare, and if nothing in the shared folder names the main one (`--separate-git-dir`): a folder that only
 * points there could be an unpacked archive. Throws UnreachableDiskError.
 */
export async function mainWorkTree(common: string): Promise<string | undefined> {
  const named = valueIn((await readGitConfig(common)) ?? "", "core", undefined, "worktree");
  for (const folder of [dirname(common), ...(named === undefined ? [] : [resolve(common, named)])]) {
    const found = await readWorkTree(folder);
    if (found !== undefined && (await isSameFolder(found.gitFolder, common)))
      return ask(folder, () => realFolder(folder));
  }
  return undefined;
}

/** More linked worktrees of one repository are not read. */
const maxLinked = 1_000;

/** What git lists in a shared folder: where each linked worktree was when git last knew. It may be gone, or another one. */
export async function* listedWorktrees(
  common: string,
): AsyncGenerator<{ readonly gitFolder: string; readonly name: string; readonly folder: string | undefined }> {
  const names = (await ask(common, () => readdir(join(common, "worktrees")))) ?? [];
  for (const name of names.sort().slice(0, maxLinked)) {
    const gitFolder = join(common, "worktrees", name);
    yield { gitFolder, name, folder: await workTreeOf(gitFolder) };
  }
}

/** A reference with a longer name is not read. */
const headBytes = 1024;

/**
 * What is checked out in a work tree, by git's folder of it: the reference of a branch, or a commit. Undefined if that does not tell, as
 * where references are kept in tables. Git replaces this file last, after the files of the work tree.
 */
export async function readHead(gitFolder: string): Promise<string | undefined> {
  const text = await readForeignText(join(gitFolder, "HEAD"), { maximumBytes: headBytes }).catch(() => null);
  const [, reference, commit] = /^(?:ref: (refs\/[^\s\0]+)|([0-9a-f]{40,64}))\s*$/.exec(text ?? "") ?? [];
  return reference === "refs/heads/.invalid" ? undefined : (reference ?? commit);
}

/** Where a linked worktree was when git last knew, by git's folder of it. Throws UnreachableDiskError. */
export async function workTreeOf(gitFolder: string): Promise<string | undefined> {
  const entry = (await readPath(join(gitFolder, "gitdir")))?.trim();
  return entry ? resolve(gitFolder, dirname(entry)) : undefined;
}

/** The linked worktrees that a shared folder and they themselves know, by their folders without links. */
export async function* linkedWorktrees(common: string): AsyncGenerator<WorkTree & { readonly linked: LinkedWorktree }> {
  for await (const { name, folder: named } of listedWorktrees(common)) {
    const folder = named && (await ask(named, () => realFolder(named)));
    const found = folder ? await readWorkTree(folder) : undefined;
    if (found?.linked?.common === common && found.linked.name === name) yield { ...found, linked: found.linked };
  }
}

async function isSameFolder(one: string, other: string): Promise<boolean> {
  const [real, otherReal] = [await ask(one, () => realFolder(one)), await ask(other, () => realFolder(other))];
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
  return workTree?.linked?.common ?? workTree?.gitFolder;
}

/** The folder that all work trees of the repository share, without links; undefined if the git folder is not this work tree's own. */
export async function commonFolderOf({ gitFolder, isOwn, linked }: WorkTree): Promise<string | undefined> {
  if (linked !== undefined) return linked.common;
  return isOwn ? ask(gitFolder, () => realFolder(gitFolder)) : undefined;
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
