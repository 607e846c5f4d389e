import { closeSync, fchmodSync, lstatSync, openSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { HomeError } from "./home.ts";

/** One daemon for each home. Held until released, or until the process ends in whatever way. */
export interface Lock {
  release(): void;
}

/**
 * Takes the home's lock: an exclusive SQLite transaction, which is a lock of the kernel, so that no crash leaves it
 * behind. Undefined if another process holds it.
 */
export function takeLock(path: string): Lock | undefined {
  if (lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink()) {
    throw new HomeError(`${path} is a symbolic link. Remove it and start again.`);
  }
  // SQLite would make it readable to all.
  const handle = openSync(path, "a", 0o600);
  fchmodSync(handle, 0o600);
  closeSync(handle);
  let database: DatabaseSync;
  try {
    database = new DatabaseSync(path);
  } catch (error) {
    throw new HomeError(`${path} cannot be opened: ${error instanceof Error ? error.message : String(error)}`);
  }
  try {
    database.exec("PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE");
  } catch (error) {
    database.close();
    if (isBusy(error)) return undefined;
    throw new HomeError(`${path} cannot be locked: ${error instanceof Error ? error.message : String(error)}`);
  }
  return { release: () => database.close() };
}

function isBusy(error: unknown): boolean {
  const sqliteBusy = 5;
  return error instanceof Error && "errcode" in error && error.errcode === sqliteBusy;
}
