import { accessSync, chmodSync, closeSync, constants, lstatSync, openSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { describeCause } from "../files/describe-cause.ts";
import { systemErrorCode } from "../files/file-system.ts";
import { HomeError } from "./prepare-home.ts";

/** Allows one daemon for each home. Held until released, or until the process ends for any reason. */
export interface Lock {
  /** Whether the locked file is still at its path; if not, another daemon may have locked the file that is now there. */
  isInPlace(): boolean;
  release(): void;
}

/**
 * Takes the home's lock: an exclusive SQLite transaction, which uses a kernel lock, so a crash releases it. Undefined if another
 * process holds it. `isOfHome`: false for a lock elsewhere, whose existing file keeps its mode.
 */
export function takeLock(path: string, isOfHome = true): Lock | undefined {
  const stats = lstatSync(path, { throwIfNoEntry: false });
  if (stats !== undefined && !stats.isFile())
    throw new HomeError(`${path} is not a regular file. Remove it and start again.`);
  // SQLite would make it readable by all users. An existing file is never opened here: closing it would release every lock
  // that this process holds on it.
  if (stats === undefined) makeLockFile(path);
  else if (isOfHome && process.platform !== "win32") chmodSync(path, 0o600);
  // Of a file that this user may only read, SQLite would let everybody have the lock.
  accessSync(path, constants.W_OK);
  // Before it is opened: if it is replaced meanwhile, the one that is then there is not what is locked.
  const locked = identityOf(path);
  let database: DatabaseSync;
  try {
    database = new DatabaseSync(path);
  } catch (error) {
    throw new HomeError(`${path} cannot be opened: ${describeCause(error)}`);
  }
  try {
    // The journal is in memory because it could not be created on a full disk, and nothing is ever written.
    database.exec("PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE");
  } catch (error) {
    database.close();
    if (isBusy(error)) return undefined;
    throw new HomeError(`${path} cannot be locked: ${describeCause(error)}. Remove it and start again.`);
  }
  return {
    isInPlace: () => {
      try {
        return locked !== undefined && identityOf(path) === locked;
      } catch {
        // If this process cannot check the file now, no other daemon can lock it either.
        return true;
      }
    },
    release: () => database.close(),
  };
}

/** Identifies the file as long as it is open; undefined if there is no file. */
function identityOf(path: string): string | undefined {
  const stats = lstatSync(path, { bigint: true, throwIfNoEntry: false });
  return stats && `${stats.dev} ${stats.ino}`;
}

function makeLockFile(path: string): void {
  try {
    closeSync(openSync(path, "ax", 0o600));
  } catch (error) {
    // Another daemon was faster, and will also lock it.
    if (systemErrorCode(error) !== "EEXIST") throw error;
  }
}

function isBusy(error: unknown): boolean {
  const sqliteBusy = 5;
  return error instanceof Error && "errcode" in error && error.errcode === sqliteBusy;
}
