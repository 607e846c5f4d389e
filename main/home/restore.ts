import { rename as renameFile, unlink } from "node:fs/promises";
import { basename, join } from "node:path";
import { isJsonObject } from "../../shared/json.ts";
import { describeCause } from "../files/describe-cause.ts";
import { syncFolder } from "../files/durable-text-file.ts";
import { realFileSystem } from "../files/file-system.ts";
import { readHomeFile } from "../files/foreign-file.ts";
import { systemClock } from "../time/clock.ts";
import type { Home } from "./home.ts";
import { HomeError, isThere, privateFile } from "./prepare-home.ts";

/** The home's folders that a backup contains. */
export const backedUpFolders = ["scopes", "repos", "local", "journal", "log", "removed"] as const;
/** What a restore replaces. The index and what was found are about the replaced repositories. */
const replaced = [...backedUpFolders, "settings.json", "plain-values.json", "index.json", "findings.json"] as const;

/** The content of `restore.json` while a restore moves files: the next daemon on the home completes it. */
interface Underway {
  /** Name of the folder in the home for the replaced files. */
  readonly before: string;
  /** The names in `replaced` that the backup contains. */
  readonly brings: readonly string[];
  /** The names in `replaced` that the home had before. */
  readonly keeps: readonly string[];
}

/** The folder into which a restore unpacks a backup. */
export function stagingOf(home: Home): string {
  return join(home.temporary, "restore");
}

/** A new name for the folder in which the contents that are replaced are kept. */
export function beforeFolder(home: Home, what: "restore" | "rejoin" | "copy"): string {
  return join(home.folder, `before-${what}-${new Date().toISOString().replaceAll(":", "-")}`);
}

/**
 * Moves the home's files to the folder `before`, and the unpacked files into the home. If one move fails, the earlier ones are
 * reverted and the failure is thrown; if the process ends in between, the next one that opens the home continues. Tests pass a
 * failing rename.
 */
export async function putInPlace(home: Home, before: string, rename = renameFile): Promise<void> {
  const staging = stagingOf(home);
  const brings = await thoseIn(staging);
  // Everything that restore.json names must be on disk before it is.
  for (const folder of backedUpFolders) if (brings.includes(folder)) await sync(join(staging, folder));
  for (const folder of [staging, home.temporary]) await sync(folder);
  const underway: Underway = { before: basename(before), brings, keeps: await thoseIn(home.folder) };
  await privateFile(home, home.restoreFile).write(`${JSON.stringify(underway)}\n`);
  const undo: (() => Promise<void>)[] = [];
  try {
    await exchange(home, underway, async (from, to) => {
      await rename(from, to);
      undo.push(() => rename(to, from));
    });
  } catch (error) {
    const cause = describeCause(error);
    try {
      for (const step of undo.reverse()) await step();
      await endRestore(home, before);
    } catch {
      const message = `The restore failed (${cause}), and so did taking it back. The next start of the daemon tries to complete it. The previous contents are in ${before}`;
      throw new HomeError(message);
    }
    throw new HomeError(`The restore failed, and nothing was changed: ${cause}`);
  }
  await endRestore(home, before);
}

/** Whether a restore is moving files, or was interrupted while it did. */
export function isRestoreUnderway(home: Home): Promise<boolean> {
  return isThere(home.restoreFile);
}

/**
 * Completes an interrupted restore; the caller must hold the lock. Returns the folder with the replaced files, undefined if
 * there was nothing to complete. Throws HomeError.
 */
export async function completeRestore(home: Home): Promise<string | undefined> {
  const underway = await readUnderway(home);
  if (underway === undefined) return undefined;
  const before = join(home.folder, underway.before);
  const [coming, here, aside] = [await thoseIn(stagingOf(home)), await thoseIn(home.folder), await thoseIn(before)];
  for (const name of underway.brings) {
    const isIn = here.includes(name) && (aside.includes(name) || !underway.keeps.includes(name));
    if (coming.includes(name) || isIn) continue;
    throw cannotComplete(home, `${join(stagingOf(home), name)} is missing`, before);
  }
  try {
    await exchange(home, underway, renameFile);
    await endRestore(home, before);
  } catch (error) {
    throw cannotComplete(home, describeCause(error), before);
  }
  return before;
}

/** The process may end after any step, so each step that is already done is skipped. */
async function exchange(
  home: Home,
  { before, brings }: Underway,
  rename: (from: string, to: string) => Promise<void>,
): Promise<void> {
  for (const name of replaced) {
    const [here, aside, coming] = [home.folder, join(home.folder, before), stagingOf(home)].map(at => join(at, name));
    if (here === undefined || aside === undefined || coming === undefined) continue;
    const isToCome = await isThere(coming);
    const isIn = brings.includes(name) && !isToCome;
    if (!isIn && !(await isThere(aside)) && (await isThere(here))) await rename(here, aside);
    if (isToCome) await rename(coming, here);
  }
}

/** Makes the completed moves durable and removes restore.json. */
async function endRestore(home: Home, before: string): Promise<void> {
  for (const folder of [before, home.folder]) await sync(folder);
  await unlink(home.restoreFile);
  await sync(home.folder);
}

async function readUnderway(home: Home): Promise<Underway | undefined> {
  const text = (await readHomeFile(home.restoreFile))?.bytes.toString();
  if (text === undefined) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    const { before, brings, keeps } = isJsonObject(value) ? value : {};
    const isName = typeof before === "string" && /^before-(restore|rejoin)-[\w.-]+$/.test(before);
    const of = (names: readonly unknown[]) => replaced.filter(name => names.includes(name));
    if (isName && Array.isArray(brings) && Array.isArray(keeps))
      return { before, brings: of(brings), keeps: of(keeps) };
  } catch {
    // Reported below.
  }
  throw cannotComplete(
    home,
    `${home.restoreFile} was changed by another program`,
    join(home.folder, "before-restore-..."),
  );
}

function cannotComplete(home: Home, cause: string, before: string): HomeError {
  return new HomeError(
    `A restore of the home ${home.folder} was interrupted and cannot be completed: ${cause}. The previous contents are in ${before}, what was to come in ${stagingOf(home)}. Put one of them in place, remove ${home.restoreFile}, and start again.`,
  );
}

function sync(folder: string): Promise<void> {
  return syncFolder(folder, realFileSystem, systemClock);
}

/** The names in `replaced` that exist in the folder. */
async function thoseIn(folder: string): Promise<string[]> {
  const names: string[] = [];
  for (const name of replaced) if (await isThere(join(folder, name))) names.push(name);
  return names;
}
