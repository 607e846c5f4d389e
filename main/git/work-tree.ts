import { createHash } from "node:crypto";
import { lstat, readdir, realpath, stat, unlink, writeFile } from "node:fs/promises";
import { dirname, isAbsolute, join } from "node:path";
import { RepoconfError } from "../../shared/errors.ts";
import { systemErrorCode } from "../files/file-system.ts";
import { foreignDisks } from "../files/foreign-disks.ts";
import { readForeignFile, readForeignText } from "../files/foreign-file.ts";
import { parseJsonText } from "../files/json-text.ts";
import { realFolder } from "../files/real-folder.ts";
import { UnreadableFileError } from "../files/unreadable-file-error.ts";
import { findWorkTree } from "./git.ts";

/** Name of the file that holds an in-tree repository's values, in its work tree. */
export const inTreeFileName = ".repoconf.json";

/**
 * Whether a folder has an in-tree file, valid or not. Throws RepoconfError 1101 if something else has its name, because the values in it
 * cannot be used, and nobody who put it there expects the defaults.
 */
export async function hasInTreeFile(folder: string): Promise<boolean> {
  const path = join(folder, inTreeFileName);
  try {
    const stats = await foreignDisks.ask(folder, () => lstat(path));
    if (stats.isFile()) return true;
    const what = stats.isSymbolicLink()
      ? "a symbolic link, which Repoconf does not follow"
      : stats.isDirectory()
        ? "a folder, not a file"
        : "not a regular file";
    throw unusable(path, `is ${what}`);
  } catch (error) {
    if (error instanceof UnreadableFileError) throw unusable(path, error.message.replace(/^it /, ""));
    const code = systemErrorCode(error);
    if (code === "ENOENT") return false;
    throw code === undefined ? error : unusable(path, `cannot be read (${code})`);
  }
}

function unusable(path: string, why: string): RepoconfError {
  const message = `${path} ${why}. Fix or remove it, or keep the values in the home: repo add --in-home (inTree: false).`;
  return new RepoconfError(1101, message);
}

/**
 * The .git folder of the work tree that a folder is in, if it is that work tree's own and files can be renamed from there to the folder. Git neither shows nor commits,
 * stashes or cleans files in it.
 */
export async function gitFolderBeside(folder: string): Promise<string | undefined> {
  const gitFolder = await ownGitFolder(folder);
  if (gitFolder === undefined) return undefined;
  const deviceOf = (one: string) => foreignDisks.ask(one, () => stat(one)).then(({ dev }) => dev);
  const isBeside = async () => (await deviceOf(folder)) === (await deviceOf(gitFolder));
  return (await isBeside().catch(() => false)) ? gitFolder : undefined;
}

/** The git folder of the work tree that a folder is in, if it is that work tree's own. */
async function ownGitFolder(folder: string): Promise<string | undefined> {
  try {
    const { gitFolder, isOwn } = (await findWorkTree(folder)) ?? {};
    if (gitFolder === undefined || !isOwn) return undefined;
    const head = await foreignDisks.ask(gitFolder, () => stat(join(gitFolder, "HEAD")));
    return head.isFile() ? gitFolder : undefined;
  } catch {
    return undefined;
  }
}

/** What git's files, as they are now, say of the folder that a repository's file in a home points to. */
export interface GitEvidence {
  /** The outermost folder of the work tree of git that it is in. */
  readonly root?: string;
  /** Whether git's folder of this work tree is its own. */
  readonly isOwn: boolean;
  /** If it is its own. */
  readonly gitFolder?: string;
  /** Whether the mark of that file is in the git folder of this work tree, which is its own. */
  readonly isMarked: boolean;
  /** The name of the linked worktree that it is in, if git's folder names that in turn. */
  readonly linked?: string;
}

/** Reads git's files. Throws UnreachableDiskError. */
export async function gitEvidence(folder: string, pointer: string): Promise<GitEvidence> {
  const tree = await findWorkTree(folder);
  if (tree === undefined) return { isOwn: false, isMarked: false };
  const real = await realpath(pointer).catch(() => pointer);
  const { isOwn, gitFolder } = tree;
  const isMarked = isOwn && (await readMark(markOf(gitFolder, real))) === real;
  const linked = tree.linked === undefined ? {} : { linked: tree.linked.name };
  return { root: tree.folder, isOwn, ...(isOwn && { gitFolder }), isMarked, ...linked };
}

const markName = /^repoconf-home\.[0-9a-f]{12}$/;
/** Bytes of a mark, which is one path. */
const markBytes = 16 * 1024;
/** Each home leaves one mark. */
const maxMarks = 100;
/** Bytes of a repository's file in a home that only points to the work tree. */
const pointerBytes = 1024 * 1024;

/**
 * Writes a mark to the .git folder that `pointer`, a repository's file in a home, points here. By it a later start recognizes the folder,
 * and `repoconf doctor` reports two homes with the same file.
 */
export async function moveIn(folder: string, pointer: string): Promise<void> {
  const gitFolder = await ownGitFolder(folder);
  if (gitFolder === undefined) return;
  // Without the mark, the folder is only recognized by its inode, and that report is missing.
  await leaveMark(gitFolder, pointer).catch(() => {});
}

async function leaveMark(gitFolder: string, pointer: string): Promise<void> {
  const real = await realpath(pointer);
  const own = markOf(gitFolder, real);
  if ((await readMark(own)) !== real)
    await foreignDisks.ask(gitFolder, async () => {
      // Not written to: a pipe would block, and a link lead to another file.
      await unlink(own).catch(() => {});
      await writeFile(own, `${real}\n`, { flag: "wx" });
    });
  for (const mark of await readMarks(gitFolder)) {
    if (mark.path === own || mark.pointer === "") continue;
    const code = await foreignDisks
      .ask(dirname(mark.pointer), () => stat(mark.pointer))
      .then(() => "", systemErrorCode);
    if (code === "ENOENT" || code === "ENOTDIR") await foreignDisks.ask(gitFolder, () => unlink(mark.path));
  }
}

function markOf(gitFolder: string, pointer: string): string {
  return join(gitFolder, `repoconf-home.${markDigits(pointer)}`);
}

/** What distinguishes the marks of repositories and homes. `pointer`: without links. */
export function markDigits(pointer: string): string {
  return createHash("sha256").update(pointer).digest("hex").slice(0, 12);
}

/** The files that left a mark in the .git folder of the work tree that a folder is in. None if it is not that work tree's own. */
export async function pointersTo(folder: string): Promise<string[]> {
  const gitFolder = await ownGitFolder(folder);
  return gitFolder === undefined ? [] : pointersIn(gitFolder);
}

/** Whether a folder of git has the mark of a file, readable or not. `pointer`: without links. Throws what says nothing about that. */
export async function hasMark(gitFolder: string, pointer: string): Promise<boolean> {
  const error = await foreignDisks
    .ask(gitFolder, () => lstat(markOf(gitFolder, pointer)))
    .then(() => undefined, Object);
  if (error === undefined || systemErrorCode(error) === "ENOENT") return error === undefined;
  throw error;
}

/** The files that left a mark in a folder of git. */
async function pointersIn(gitFolder: string): Promise<string[]> {
  const marks = await readMarks(gitFolder);
  return marks.map(({ pointer }) => pointer).filter(pointer => pointer !== "");
}

/** Files in other homes that also point to the in-tree file in this folder, or cannot be read. */
export async function findOtherPointers(folder: string, pointer: string): Promise<string[]> {
  const home = dirname(await realpath(pointer));
  const others = (await pointersTo(folder)).filter(other => dirname(other) !== home);
  const pointing = await Promise.all(others.map(other => pointsTo(other, folder)));
  return others.filter((_, index) => pointing[index]);
}

/** The path in a mark; empty if it cannot be read. */
async function readMark(path: string): Promise<string> {
  const pointer = (await readForeignText(path, { maximumBytes: markBytes }))?.trim() ?? "";
  return isAbsolute(pointer) ? pointer : "";
}

async function readMarks(gitFolder: string): Promise<{ readonly path: string; readonly pointer: string }[]> {
  const names = (await namesIn(gitFolder, markName)).slice(0, maxMarks);
  const paths = names.map(name => join(gitFolder, name));
  return Promise.all(paths.map(async path => ({ path, pointer: await readMark(path) })));
}

async function pointsTo(pointer: string, folder: string): Promise<boolean> {
  try {
    const found = await readForeignFile(pointer, { maximumBytes: pointerBytes });
    const { inTree, path } = parseJsonText(found?.bytes.toString() ?? "").value;
    return inTree === true && typeof path === "string" && (await realOf(path)) === (await realOf(folder));
  } catch (error) {
    // The file is in another user's home.
    return error instanceof UnreadableFileError && systemErrorCode(error.cause) === "EACCES";
  }
}

function realOf(folder: string): Promise<string> {
  return foreignDisks.ask(folder, () => realFolder(folder));
}

/** None if the folder cannot be read. */
function namesIn(folder: string, pattern: RegExp): Promise<string[]> {
  const list = async () => (await readdir(folder)).filter(name => pattern.test(name)).sort();
  return foreignDisks.ask(folder, list).catch(() => []);
}
