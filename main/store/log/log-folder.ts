import { open, readdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { type FileSystem, ignoreMissing } from "../../files/file-system.ts";
import { readHomeFile } from "../../files/foreign-file.ts";
import type { LogNumber, NewFinding } from "../types.ts";
import type { FoundSegment, LogOrigin } from "./frame.ts";

/** The maximum size of the log while the histories cannot keep up, apart from the last append. */
export const maxLogBytes = 64 * 1024 * 1024;

/** More than any log has, with its last append and what a renewal repeats: more is not read into memory. */
export const maxReadLog = 2 * maxLogBytes;

/** The file that marks a log as a copy: positions of the original log are not valid in it. */
export function copyMarkerIn(folder: string): string {
  return join(folder, "copy");
}

/** Marks a log as a copy. Throws the system's error. */
export async function markCopied(folder: string): Promise<void> {
  await using handle = await open(copyMarkerIn(folder), "w", 0o600);
  await handle.sync();
}

/** The file beside the folder that marks a log whose daemon stopped cleanly: an older copy of the folder does not bring it back. */
export function stopMarkerIn(folder: string): string {
  return join(dirname(folder), "clean-stop");
}

/**
 * What the last clean stop marked the log with; undefined after any other end. Removes the mark, as it is not to be trusted again, however
 * this run ends. The caller syncs its folder. Throws the system's error.
 */
export async function takeStop(folder: string, fileSystem: FileSystem): Promise<string | undefined> {
  // What cannot be read is not our mark.
  const stop = await readHomeFile(stopMarkerIn(folder)).then(
    content => content?.bytes.toString(),
    () => "",
  );
  if (stop !== undefined) await fileSystem.unlink(stopMarkerIn(folder));
  return stop;
}

/** Call at the end of a clean stop, once the index names the same `stop`. Throws the system's error. */
export function markStopped(folder: string, stop: string): Promise<void> {
  return writeFile(stopMarkerIn(folder), stop, { mode: 0o600 });
}

/**
 * The segments in a folder, the oldest first; those that are deleted meanwhile are left out. Throws the system's error, and
 * UnreadableFileError if together they have more than any log of ours.
 */
export async function readLog(folder: string): Promise<FoundSegment[]> {
  const names = (await readdir(folder).catch(ignoreMissing)) ?? [];
  const found: FoundSegment[] = [];
  let maximumBytes = maxReadLog;
  for (const name of names.filter(one => /^\d{10}\.log$/.test(one)).sort()) {
    const path = join(folder, name);
    const content = await readHomeFile(path, { maximumBytes });
    if (content === null) continue;
    const { bytes, stats } = content;
    maximumBytes -= bytes.length;
    found.push({ path, bytes, file: { inode: stats.ino, created: stats.birthtimeMs } });
  }
  return found;
}

/** Why a log goes on under a new id, and what a person should do. */
export function describeRenewal(
  folder: string,
  { newest, lost }: Pick<LogOrigin, "lost"> & { readonly newest: LogNumber },
  isBehind: boolean,
): NewFinding {
  if (isBehind)
    return {
      message: `The log in ${folder} ends at entry ${newest}, before changes that histories have: it was cut off, deleted, or replaced by an older copy. Changes that only the log had are lost. Check your last changes; programs that watch must read all values again.`,
    };
  if (lost.length > 0)
    return {
      message: `The log in ${folder} is damaged at entry ${lost[0]}: changes that were acknowledged cannot be read. Their repositories are unknown, so the revisions of all continue after a gap. The damaged files stay there with the ending .damaged. Compare the values of your repositories with those that you expect; a backup may have what is lost.`,
    };
  return {
    message: `This home was copied: its log in ${folder} is a copy, made at entry ${newest}. Nothing needs to be done; programs that watched the original read their values again.`,
    isNote: true,
  };
}
