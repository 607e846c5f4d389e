import { randomBytes } from "node:crypto";
import { lstat, readdir } from "node:fs/promises";
import { basename, join } from "node:path";

/** Runs a task on the disk of a folder, which may be a slow one. */
export type Ask = <Result>(folder: string, task: () => Promise<Result>) => Promise<Result>;

/** A new name for a temporary file beside a file. */
export function temporaryName(path: string): string {
  return `${basename(path)}.${randomBytes(6).toString("hex")}.tmp`;
}

/** The file that a temporary file has the name of; undefined if it is no such name. */
export function fileOfTemporary(name: string): string | undefined {
  return /^(?<file>.+)\.[0-9a-f]{12}\.tmp$/.exec(name)?.groups?.["file"];
}

interface Inode {
  readonly ino: number;
  /** In milliseconds; inodes are used again. */
  readonly created?: number;
}

/** The files in these folders that have names of temporary files of this one. Unreadable ones are left out. */
export async function findLeft(
  file: string,
  folders: readonly string[],
  ask: Ask,
): Promise<{ readonly folder: string; readonly name: string; readonly ino: number; readonly created: number }[]> {
  const found = [];
  for (const folder of new Set(folders)) {
    const names = await ask(folder, () => readdir(folder)).catch(() => []);
    for (const name of names.filter(one => fileOfTemporary(one) === file)) {
      const stats = await ask(folder, () => lstat(join(folder, name))).catch(() => undefined);
      if (stats?.isFile()) found.push({ folder, name, ino: stats.ino, created: stats.birthtimeMs });
    }
  }
  return found;
}

/** Whether a file with this stamp has that inode, and no later file that got it again. */
export function isSameInode<Stamp extends Inode>(stamp: Stamp | undefined, { ino, created }: Inode): stamp is Stamp {
  return stamp?.ino === ino && (!stamp.created || !created || stamp.created === created);
}
