import { chmod, lstat, mkdir, readdir, readFile, rm } from "node:fs/promises";
import { basename, join } from "node:path";
import { DurableTextFile } from "../files/durable-text-file.ts";
import { type FileSystem, realFileSystem, systemErrorCode } from "../files/file-system.ts";
import type { Home } from "./home.ts";

/**
 * The format of the files in a home. A daemon that supports only lower numbers does not change the home. 2: with a journal; 3: with a
 * log.
 */
export const homeFormat = 3;
/** The format of a home that follows a shared log instead of one of its own. The newest format. */
export const sharedHomeFormat = 4;

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
    name => !own.has(name) && !/^(daemon\.log|desktop\.|before-restore-|lost\+found$)/.test(name),
  );
  if (other === undefined) return;
  throw new HomeError(
    `${home.folder} is not a home of Repoconf: it contains ${JSON.stringify(other)}. Nothing was changed. Name a new or an empty folder (--home DIR).`,
  );
}

/** Throws HomeError for a home of a newer version, which is not changed. */
export async function assertKnownFormat(home: Home): Promise<void> {
  const format = await readFormat(home);
  if (format === undefined || format <= sharedHomeFormat) return;
  throw new HomeError(
    `The home ${home.folder} has format ${format}, but this version of Repoconf only supports formats up to ${sharedHomeFormat}. Nothing was changed. Install the newer version again, or use another home.`,
  );
}

/** Creates missing folders in the home; the lock is held and the format is known. */
export async function prepareHome(home: Home): Promise<void> {
  const folders = [home.repositories, home.journal, home.removed, home.scopes, home.temporary];
  for (const folder of folders) await makePrivateFolder(folder);
  // Before the first start it may be somebody's own folder.
  if ((await readFormat(home)) === undefined) return;
  // Leftovers of crashes. An interrupted restore was completed before this, so it does not need them any more.
  for (const name of await readdir(home.temporary))
    await rm(join(home.temporary, name), { recursive: true, force: true }).catch(() => {});
}

/**
 * Writes the format number of the home. This comes last: until then an older daemon can open the home. The journals of a home of
 * format 1 are created when each repository is first read; log and index are created at the start.
 */
export async function markFormat(home: Home, format: typeof homeFormat | typeof sharedHomeFormat): Promise<void> {
  if ((await readFormat(home)) !== format) await privateFile(home, home.formatFile).write(`${format}\n`);
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

async function readFormat(home: Home): Promise<number | undefined> {
  let text: string;
  try {
    text = await readFile(home.formatFile, "utf8");
  } catch (error) {
    if (systemErrorCode(error) === "ENOENT") return undefined;
    throw error;
  }
  const format = Number(text.trim());
  if (Number.isSafeInteger(format) && format > 0) return format;
  throw new HomeError(
    `${home.formatFile} does not contain a format number. Write "${homeFormat}" into it if this is a Repoconf home.`,
  );
}

async function makePrivateFolder(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const stats = await lstat(folder);
  if (!stats.isDirectory()) throw new HomeError(`${folder} is not a folder (Repoconf does not follow links).`);
  if (process.platform === "win32") return;
  if (process.getuid !== undefined && stats.uid !== process.getuid()) {
    throw new HomeError(`${folder} belongs to another user. Use your own home (--home DIR).`);
  }
  if ((stats.mode & 0o077) !== 0) await chmod(folder, 0o700);
}
