import { chmod, lstat, mkdir, readdir, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { DurableTextFile } from "../files/durable-text-file.ts";
import { type FileSystem, realFileSystem, systemErrorCode } from "../files/file-system.ts";
import { readHomeFile } from "../files/foreign-file.ts";
import { fileOfTemporary } from "../files/temporary-files.ts";
import { UnreadableFileError } from "../files/unreadable-file-error.ts";
import type { Home } from "./home.ts";

/**
 * The format of the files in a home. A version refuses a home with a higher number, and converts one with a lower number. In format 2 there
 * are local values: a version without them would serve others, and list their documents in the log as repositories.
 */
export const homeFormat = 2;

/** Brings a home of the format `from` to the next one. */
interface Conversion {
  readonly from: number;
  /** Runs again after a crash, also on files that it has converted already: it must leave those as they are. */
  convert(home: Home): Promise<void>;
}

/** Oldest first. A home of format 1 is one of format 2 without local values; tests add a conversion from an invented format 0. */
export const conversions: Conversion[] = [];

/** The home cannot be used; `message` says what to do. */
export class HomeError extends Error {
  override readonly name = "HomeError";
}

/** Creates the home's folder, accessible to its owner only. Throws HomeError if the path is something else, which is not changed. */
export async function makeHomeFolder(home: Home): Promise<void> {
  await assertNoOtherUse(home);
  await makePrivateFolder(home.folder);
}

/** A folder with other files is somebody's own, named by mistake: a daemon would change its mode and clean up `tmp` in it. */
async function assertNoOtherUse(home: Home): Promise<void> {
  const names: string[] = await readdir(home.folder).catch(error => {
    if (["ENOENT", "ENOTDIR"].includes(systemErrorCode(error) ?? "")) return [];
    throw new HomeError(`The home ${home.folder} cannot be read (${systemErrorCode(error) ?? String(error)}).`);
  });
  if (names.includes(basename(home.formatFile))) return;
  // People may put files into a home before its first start, and a crash may have interrupted that start.
  const own = new Set(Object.values<string>({ ...home }).map(path => basename(path)));
  const other = names.find(
    name => !own.has(name) && !/^(daemon\.log|desktop\.|before-(restore|rejoin)-|lost\+found$)/.test(name),
  );
  if (other === undefined) return;
  throw new HomeError(
    `${home.folder} is not a home of Repoconf: it contains ${JSON.stringify(other)}. Nothing was changed. Name a new or an empty folder (--home DIR).`,
  );
}

/** Throws HomeError for a home of a newer version, which is not changed. */
export async function assertKnownFormat(home: Home): Promise<void> {
  await readFormat(home);
}

/**
 * Creates missing folders in the home and converts its files to the present format. Call it before any file is opened, while the lock is
 * held. Throws HomeError for a home of a newer version, which is not changed.
 */
export async function prepareHome(home: Home): Promise<void> {
  const format = await readFormat(home);
  const { repositories, local, journal, log, removed, scopes, temporary } = home;
  const folders = [repositories, local, journal, log, removed, scopes, temporary];
  for (const folder of folders) await makePrivateFolder(folder);
  // Before the first start it may be somebody's own folder.
  if (format !== undefined) {
    await emptyFolder(home.temporary, home.repositories, () => true);
    await emptyFolder(local, local, name => fileOfTemporary(name) !== undefined);
  }
  if (format === homeFormat) return;
  for (const { from, convert } of conversions) if (format !== undefined && from >= format) await convert(home);
  // Last, so that after a crash the next start converts the home again.
  await privateFile(home, home.formatFile).write(`${homeFormat}\n`);
}

/**
 * Removes leftovers of crashes. An interrupted restore was completed before this, so it does not need them any more. Those of files in
 * `repositories` stay until these are read: a person may have edited one.
 */
async function emptyFolder(folder: string, repositories: string, isLeft: (name: string) => boolean): Promise<void> {
  for (const name of (await readdir(folder)).filter(isLeft)) {
    const of = fileOfTemporary(name);
    if (of !== undefined && (await isThere(join(repositories, of)))) continue;
    await rm(join(folder, name), { recursive: true, force: true }).catch(() => {});
  }
}

/** A file of the home that only its owner can read, written durably. */
export function privateFile(
  home: Home,
  path: string,
  fileSystem: FileSystem = realFileSystem,
  maximumBytes = 64 * 1024 * 1024,
): DurableTextFile {
  return new DurableTextFile({ path, temporaryFolder: home.temporary, mode: 0o600, maximumBytes, fileSystem });
}

/** The number that is the content of a file `format`; NaN if that is something else. */
export function parseFormat(text: string): number {
  return /^\d{1,9}\s*$/.test(text) ? Number(text) : Number.NaN;
}

/** The home's format; undefined before its first start. Throws HomeError if this version does not support it. */
async function readFormat(home: Home): Promise<number | undefined> {
  const found = await readHomeFile(home.formatFile).catch(error => {
    throw error instanceof UnreadableFileError ? new HomeError(error.message) : error;
  });
  const text = found?.bytes.toString();
  if (text === undefined) return undefined;
  const format = parseFormat(text);
  if (format <= homeFormat) return format;
  if (Number.isNaN(format))
    throw new HomeError(
      `${home.formatFile} does not contain a format number. Write "${homeFormat}" into it if this is a Repoconf home.`,
    );
  throw new HomeError(
    `The home ${home.folder} has format ${format}, but this version of Repoconf only supports formats up to ${homeFormat}. Nothing was changed. Install the newer version again, or use another home.`,
  );
}

/**
 * Creates a folder of a home and those above it, if they are missing; something else may be there. Node's own `recursive` never ends where
 * nothing can be created, such as in /proc. Throws HomeError.
 */
export async function makeFolder(folder: string): Promise<void> {
  const make = () => mkdir(folder, { mode: 0o700 }).catch((error: unknown) => systemErrorCode(error) ?? String(error));
  let code = await make();
  if (code === "ENOENT" && !(await isThere(dirname(folder)))) {
    await makeFolder(dirname(folder));
    code = await make();
  }
  if (code === undefined || code === "EEXIST" || (await isThere(folder))) return;
  throw new HomeError(`The folder ${folder} cannot be created (${code}). Name another home (--home DIR).`);
}

async function makePrivateFolder(folder: string): Promise<void> {
  await makeFolder(folder);
  const stats = await lstat(folder);
  if (!stats.isDirectory())
    throw new HomeError(`${folder} is not a folder (Repoconf does not follow links). Move it away.`);
  if (process.platform === "win32") return;
  if (process.getuid !== undefined && stats.uid !== process.getuid()) {
    throw new HomeError(`${folder} belongs to another user. Use your own home (--home DIR).`);
  }
  if ((stats.mode & 0o077) !== 0) await chmod(folder, 0o700);
}

export function isThere(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    () => false,
  );
}
