import { mkdir, rm, rmdir } from "node:fs/promises";
import { join } from "node:path";
import { findDaemon } from "../../client/locate.ts";
import { type Home, homeAt } from "../../home/home.ts";
import { takeLock } from "../../home/lock.ts";
import { assertKnownFormat, makeHomeFolder, prepareHome } from "../../home/prepare-home.ts";
import {
  beforeFolder,
  completeRestore,
  backedUpFolders as folders,
  isRestoreUnderway,
  putInPlace,
  stagingOf,
} from "../../home/restore.ts";
import { markCopied } from "../../store/log/log-folder.ts";
import { CommandError } from "../output/exit-codes.ts";
import { confirmOrThrow, print, showProgress } from "../output/terminal.ts";
import { countOf } from "./backup-archive.ts";
import { showBrought } from "./backup-review.ts";
import { checkArchive, extractArchive } from "./read-archive.ts";

/**
 * Replaces the contents of the home with a backup, and moves the old contents to `before-restore-<time>/`. The home's keys stay. Shows
 * first what the backup brings that runs programs. Throws CommandError if a daemon is running or the archive is invalid, and HomeError for other failures; in each case the home is unchanged.
 */
export async function restoreBackup(home: Home, file: string, yes: boolean): Promise<void> {
  const { createdAt, repositories } = await checkArchive(file);
  await assertKnownFormat(home);
  if ((await findDaemon(home)) !== undefined) throw homeInUse(home);
  await showBrought(home, file, !yes);
  const question = `Replace the contents of ${home.folder} with the backup of ${createdAt} (${countOf(repositories)})?`;
  if (!yes) await confirmOrThrow(question, "Nothing was restored.");
  await makeHomeFolder(home);
  const lock = takeLock(home.lockFile);
  if (lock === undefined) throw homeInUse(home);
  try {
    // An earlier restore may have been interrupted.
    await completeRestore(home);
    await prepareHome(home);
    const before = beforeFolder(home, "restore");
    const kept = await restoreInto(home, file, before);
    print(`Restored ${countOf(repositories)} from the backup of ${createdAt}.`);
    if (kept) print(`The previous contents are in ${before}`);
  } finally {
    lock.release();
  }
}

/** Returns whether there was anything to keep. */
async function restoreInto(home: Home, file: string, before: string): Promise<boolean> {
  const staging = stagingOf(home);
  // A killed restore may have left it behind.
  await rm(staging, { recursive: true, force: true });
  let empty = false;
  try {
    for (const folder of folders) await mkdir(join(staging, folder), { recursive: true, mode: 0o700 });
    const names = await extractArchive(file, staging);
    showProgress("");
    // It may be of an older format than the home.
    await prepareHome(homeAt(staging));
    // The original home may continue with this log, so the positions of one home mean nothing in the other.
    if (names.some(name => name.startsWith("log/"))) await markCopied(join(staging, "log"));
    await mkdir(before, { mode: 0o700 });
    try {
      await putInPlace(home, before);
      for (const folder of folders) await removeIfEmpty(join(before, folder));
    } finally {
      empty = await removeIfEmpty(before);
    }
    return !empty;
  } finally {
    // After an interrupted restore, the next start needs it.
    if (!(await isRestoreUnderway(home))) await rm(staging, { recursive: true, force: true });
  }
}

async function removeIfEmpty(folder: string): Promise<boolean> {
  return rmdir(folder).then(
    () => true,
    () => false,
  );
}

function homeInUse(home: Home): CommandError {
  return new CommandError(`A daemon is running on the home ${home.folder}. Stop it first: repoconf stop`);
}
