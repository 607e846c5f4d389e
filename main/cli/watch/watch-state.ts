import { lstatSync, rmSync, type Stats } from "node:fs";
import { writeFile } from "node:fs/promises";
import { isJsonObject } from "../../../shared/json.ts";
import { describeCause } from "../../files/describe-cause.ts";
import { systemErrorCode } from "../../files/file-system.ts";
import { readForeignFile } from "../../files/foreign-file.ts";
import { plainText } from "../../files/utf8-text.ts";
import { type Lock, takeLock } from "../../home/lock.ts";
import { CommandError, exitCodes } from "../output/exit-codes.ts";
import { makeOutputFile } from "../output/output-file.ts";

/** How far `watch --exec` has come: everything up to here is handled. */
export interface WatchState {
  readonly repo: string;
  readonly revision: number;
  /** Of the log; undefined if only the revision is known. */
  readonly position?: string;
  /** What the command's own changes are marked with. */
  readonly batch: string;
}

/**
 * The lock of a state, in a file beside it, which its release removes if it was not there before. Held until the process ends for any reason.
 * Throws CommandError if another one has it: each of the two would count as handled what only the other one got.
 */
export function lockWatchState(file: string): Pick<Lock, "release"> {
  const path = `${file}.lock`;
  let stats: Stats | undefined;
  let lock: Lock | undefined;
  try {
    stats = lstatSync(path, { throwIfNoEntry: false });
    // Such as a package manager's.
    if (stats !== undefined && (!stats.isFile() || stats.size > 0))
      throw new CommandError(`${path} is no lock of a state. It is left as it is: name another file for the state.`);
    // An existing empty one is used, even if another program made it: nothing is written to it, and some disks have no modes to know ours by.
    lock = takeLock(path, false);
  } catch (error) {
    if (error instanceof CommandError) throw error;
    const cause = describeCause(error);
    if (systemErrorCode(error) === "ENAMETOOLONG")
      throw new CommandError(`${file} cannot be the state: with .lock, ${cause}. Name a file with a shorter name.`);
    throw new CommandError(`${file} cannot be locked: ${cause}. Name another file, in a folder that exists.`);
  }
  if (lock === undefined)
    throw new CommandError(
      `Another repoconf watch --exec has the state ${file}. End that one, or give each a file of its own.`,
      exitCodes.refused,
    );
  const { isInPlace, release } = lock;
  if (!isInPlace()) {
    // The one that had it has just removed it.
    release();
    return lockWatchState(file);
  }
  return {
    release: () => {
      // While it is locked: later, it could be the lock of the next one.
      if (stats === undefined && isInPlace()) removeIfAllowed(path);
      release();
    },
  };
}

/** Windows removes no file that is open; it stays, as after a crash. */
function removeIfAllowed(path: string): void {
  try {
    rmSync(path);
  } catch {
    // The next one uses it.
  }
}

/** Undefined if there is no file yet. Throws CommandError: starting over without being asked would miss changes. */
export async function readWatchState(file: string, repo: string): Promise<WatchState | undefined> {
  let text: string;
  try {
    const found = await readForeignFile(file, { maximumBytes: 65_536, followsLinks: true });
    if (found === null) return undefined;
    text = plainText(found.bytes);
  } catch (error) {
    throw new CommandError(`${file} cannot be read: ${describeCause(error)}`);
  }
  const state = asState(text);
  const again = "To start with what changes from now on, delete it.";
  if (state === undefined) throw new CommandError(`${file} is no state of repoconf watch --exec. ${again}`);
  if (state.repo !== repo)
    throw new CommandError(`${file} is the state of another repository, ${state.repo}. ${again}`);
  return state;
}

function asState(text: string): WatchState | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (!isJsonObject(value)) return undefined;
  const { repo, revision, position, batch } = value;
  if (typeof repo !== "string" || typeof batch !== "string" || !Number.isSafeInteger(revision)) return undefined;
  return { repo, revision: Number(revision), batch, ...(typeof position === "string" && { position }) };
}

/** Replaces the file as a whole; the new one is on the disk before it has the name. */
export async function writeWatchState(file: string, state: WatchState): Promise<void> {
  const text = `${JSON.stringify(state)}\n`;
  await makeOutputFile(file, true, temporary => writeFile(temporary, text, { mode: 0o600, flush: true }));
}
