import { existsSync, mkdirSync, readdirSync, rmSync, statfsSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Linux's disk in memory, of which a container may have little, and what this run keeps there. */
const memory = "/dev/shm";
const folder = join(memory, `repoconf-homes-${process.pid}`);

/**
 * For projects whose tests ask a daemon or a command for what they have done: their homes are in memory, where there is room, because most
 * of what a test's daemon takes is the disk's. The files of the store's own tests and those of the promises stay on the disk.
 */
export const homesInMemory: { readonly TEST_HOMES?: string } = hasRoom() ? { TEST_HOMES: folder } : {};

/** Where a test makes homes. */
export const homesFolder = process.env["TEST_HOMES"] ?? tmpdir();

/** Runs before the tests of such a project; what it returns runs after them. */
export function setup(): () => void {
  if (homesInMemory.TEST_HOMES === undefined) return () => {};
  // A run that was killed could not remove its folder.
  for (const name of readdirSync(memory)) {
    const pid = /^repoconf-homes-(\d+)$/.exec(name)?.[1];
    if (pid !== undefined && !existsSync(`/proc/${pid}`)) rmSync(join(memory, name), { recursive: true, force: true });
  }
  mkdirSync(folder, { recursive: true });
  // The last daemons may still be exiting.
  return () => rmSync(folder, { recursive: true, force: true, maxRetries: 10 });
}

function hasRoom(): boolean {
  if (!existsSync(memory)) return false;
  const { bavail, bsize } = statfsSync(memory);
  return bavail * bsize > 2 * 1024 ** 3;
}
