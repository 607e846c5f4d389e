import { mkdir, open, rename as renameFile, rm, rmdir } from "node:fs/promises";
import { join } from "node:path";
import pLimit from "p-limit";
import { findDaemon } from "../client/locate.ts";
import { makeHomeFolder, prepareHome } from "../daemon/home.ts";
import { takeLock } from "../daemon/lock.ts";
import { systemErrorCode } from "../daemon/store/file-system.ts";
import type { Home } from "../home.ts";
import { checkArchive, countOf, extractArchive, folders, showProgress } from "./backup-archive.ts";
import { CommandError } from "./exit-codes.ts";
import { confirm, print } from "./terminal.ts";

/** What a restore replaces. The index is a cache of the repositories that were there. */
const replaced = [...folders, "settings.json", "index.json"] as const;

/**
 * Puts a backup in place of what is in the home, which is kept in `before-restore-<time>/`; the home's keys stay. Throws
 * CommandError, the home being as it was, if a daemon runs, the archive is not good, or something fails on the way.
 */
export async function restoreBackup(home: Home, file: string, yes: boolean): Promise<void> {
  const { createdAt, repositories } = await checkArchive(file);
  if ((await findDaemon(home)) !== undefined) throw homeInUse(home);
  const question = `Put the backup of ${createdAt} with ${countOf(repositories)} in place of what is in ${home.folder}?`;
  if (!yes && !(await confirm(question))) {
    throw new CommandError("Nothing was restored. Say yes at the question, or give --yes.");
  }
  await makeHomeFolder(home);
  const lock = takeLock(home.lockFile);
  if (lock === undefined) throw homeInUse(home);
  try {
    await prepareHome(home);
    const before = join(home.folder, `before-restore-${new Date().toISOString().replaceAll(":", "-")}`);
    const kept = await restoreInto(home, file, before);
    print(`Restored ${countOf(repositories)} from the backup of ${createdAt}.`);
    if (kept) print(`What was there before is in ${before}`);
  } finally {
    lock.release();
  }
}

/** Returns whether there was anything to keep. */
async function restoreInto(home: Home, file: string, before: string): Promise<boolean> {
  const staging = join(home.temporary, "restore");
  // A restore that was killed may have left it.
  await rm(staging, { recursive: true, force: true });
  let empty = false;
  try {
    for (const folder of folders) await mkdir(join(staging, folder), { recursive: true, mode: 0o700 });
    const names = await extractArchive(file, staging);
    const atOnce = pLimit(64);
    await Promise.all(names.map(name => atOnce(() => makeDurable(join(staging, name)))));
    showProgress("");
    await mkdir(before, { mode: 0o700 });
    try {
      await exchange(home.folder, staging, before);
      for (const folder of folders) await removeIfEmpty(join(before, folder));
    } finally {
      empty = await removeIfEmpty(before);
    }
    return !empty;
  } finally {
    await rm(staging, { recursive: true, force: true });
  }
}

/**
 * Moves what is in `home` to `before` and what is in `staging` to `home`. If one move fails, those made so far are taken
 * back, and the failure is thrown on. Tests hand in a rename that fails.
 */
export async function exchange(home: string, staging: string, before: string, rename = renameFile): Promise<void> {
  const undo: (() => Promise<void>)[] = [];
  const move = async (from: string, to: string) => {
    try {
      await rename(from, to);
    } catch (error) {
      if (systemErrorCode(error) === "ENOENT") return;
      throw error;
    }
    undo.push(() => rename(to, from));
  };
  try {
    for (const name of replaced) await move(join(home, name), join(before, name));
    for (const name of replaced) await move(join(staging, name), join(home, name));
  } catch (error) {
    const cause = error instanceof Error ? error.message : String(error);
    try {
      for (const step of undo.reverse()) await step();
    } catch {
      throw new CommandError(
        `The restore failed (${cause}), and so did taking it back. What was there is in ${before}`,
      );
    }
    throw new CommandError(`The restore failed, and everything is as it was: ${cause}`);
  }
}

/** On the disk, and for its owner alone, whatever the archive says. */
async function makeDurable(path: string): Promise<void> {
  await using handle = await open(path, "r+");
  await handle.chmod(0o600);
  await handle.sync();
}

async function removeIfEmpty(folder: string): Promise<boolean> {
  return rmdir(folder).then(
    () => true,
    () => false,
  );
}

function homeInUse(home: Home): CommandError {
  return new CommandError(`A daemon runs on the home ${home.folder}. Stop it first: repoconf stop`);
}
