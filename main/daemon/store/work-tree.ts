import { createHash } from "node:crypto";
import { lstat, readdir, readFile, realpath, stat, unlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { RepoconfError } from "../../../shared/errors.ts";
import { systemErrorCode } from "../../files/file-system.ts";
import { parseJsonText } from "../../files/json-text.ts";
import { findWorkTree } from "../../git.ts";

/** Name of the file that holds an in-tree repository's values, in its work tree. */
export const inTreeFileName = ".repoconf.json";

/**
 * Whether a folder has an in-tree file, valid or not. Throws RepoconfError 1101 if something else has its name, because the values in it
 * cannot be used, and nobody who put it there expects the defaults.
 */
export async function hasInTreeFile(folder: string): Promise<boolean> {
  const path = join(folder, inTreeFileName);
  try {
    const stats = await lstat(path);
    if (stats.isFile()) return true;
    const what = stats.isSymbolicLink()
      ? "a symbolic link, which Repoconf does not follow"
      : stats.isDirectory()
        ? "a folder, not a file"
        : "not a regular file";
    throw unusable(path, `is ${what}`);
  } catch (error) {
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
 * The .git folder of the work tree that a folder is in, if files can be renamed from there to the folder. Git neither shows nor commits,
 * stashes or cleans files in it.
 */
export async function gitFolderBeside(folder: string): Promise<string | undefined> {
  try {
    const gitFolder = (await findWorkTree(folder))?.gitFolder;
    if (gitFolder === undefined) return undefined;
    const [here, there] = await Promise.all([stat(folder), stat(gitFolder)]);
    return here.dev === there.dev && (await stat(join(gitFolder, "HEAD"))).isFile() ? gitFolder : undefined;
  } catch {
    return undefined;
  }
}

const temporaryName = /^\.repoconf\.json\.[0-9a-f]{12}\.tmp$/;
const markName = /^repoconf-home\.[0-9a-f]{12}$/;

/**
 * Removes temporary files of the in-tree file that a crash left in this folder, and writes a mark to the .git folder that `pointer`, a
 * repository's file in a home, points here. By it a later start recognizes the folder, and `repoconf doctor` reports two homes with
 * the same file.
 */
export async function moveIn(folder: string, pointer: string): Promise<void> {
  const gitFolder = await gitFolderBeside(folder);
  for (const place of [folder, gitFolder]) {
    if (place === undefined) continue;
    const names = await readdir(place).catch(() => []);
    for (const name of names) if (temporaryName.test(name)) await unlink(join(place, name)).catch(() => {});
  }
  if (gitFolder === undefined) return;
  // Without the mark, the folder is only recognized by its inode, and that report is missing.
  await leaveMark(gitFolder, pointer).catch(() => {});
}

async function leaveMark(gitFolder: string, pointer: string): Promise<void> {
  const real = await realpath(pointer);
  const id = createHash("sha256").update(real).digest("hex").slice(0, 12);
  await writeFile(join(gitFolder, `repoconf-home.${id}`), `${real}\n`);
  for (const mark of await readMarks(gitFolder)) {
    const code = await stat(mark.pointer).then(() => undefined, systemErrorCode);
    if (code === "ENOENT" || code === "ENOTDIR") await unlink(mark.path);
  }
}

/** Whether the .git folder of a work tree has the mark that `moveIn` leaves there. */
export async function hasMark(folder: string, pointer: string): Promise<boolean> {
  const gitFolder = await gitFolderBeside(folder);
  if (gitFolder === undefined) return false;
  const real = await realpath(pointer).catch(() => pointer);
  return (await readMarks(gitFolder)).some(mark => mark.pointer === real);
}

/** Files in other homes that also point to the in-tree file in this folder, or cannot be read. */
export async function findOtherPointers(folder: string, pointer: string): Promise<string[]> {
  const gitFolder = await gitFolderBeside(folder);
  const marks = gitFolder === undefined ? [] : await readMarks(gitFolder);
  const home = dirname(await realpath(pointer));
  const others = marks.map(mark => mark.pointer).filter(other => dirname(other) !== home);
  const pointing = await Promise.all(others.map(other => pointsTo(other, folder)));
  return others.filter((_, index) => pointing[index]);
}

async function readMarks(gitFolder: string): Promise<{ readonly path: string; readonly pointer: string }[]> {
  const names = await readdir(gitFolder).catch(() => []);
  const paths = names.filter(name => markName.test(name)).map(name => join(gitFolder, name));
  const texts = await Promise.all(paths.map(path => readFile(path, "utf8").catch(() => "")));
  return paths.map((path, index) => ({ path, pointer: texts[index]?.trim() ?? "" }));
}

async function pointsTo(pointer: string, folder: string): Promise<boolean> {
  try {
    const { inTree, path } = parseJsonText(await readFile(pointer, "utf8")).value;
    return inTree === true && typeof path === "string" && (await realpath(path)) === (await realpath(folder));
  } catch (error) {
    // The file is in another user's home.
    return systemErrorCode(error) === "EACCES";
  }
}
