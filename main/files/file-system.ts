import { closeSync, constants, linkSync, openSync, readSync, renameSync, unlinkSync } from "node:fs";
import * as promises from "node:fs/promises";

// A link is reported, never followed, and a pipe must not block. Windows knows neither flag.
export const readFlags = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);

/** The calls that durability rests on, as an argument: tests hand in ones that fail, stop or are recorded. */
export type FileSystem = Pick<typeof promises, "open" | "rename" | "unlink"> & {
  /**
   * The first `length` bytes of a file, read while this process does nothing else: for a look whose answer must not be old
   * when it is used. Throws the system's error.
   */
  readNow(path: string, length: number): Buffer;
  /**
   * Runs `lastLook`, gives what stands at `path` the name `aside` too, where one is given and the file system has such links,
   * and renames `temporary` over it: all while this process does nothing else, so that no more time is between them than the
   * system takes. Throws what `lastLook` throws, or the system's error of the rename.
   */
  replace(temporary: string, path: string, lastLook: () => void, aside?: string): Promise<void>;
  /** The number of the disk (or whatever is mounted) that a folder is on; undefined if there is no folder. */
  deviceOf(folder: string): Promise<number | undefined>;
};

export const realFileSystem: FileSystem = {
  open: promises.open,
  rename: promises.rename,
  unlink: promises.unlink,
  readNow: (path, length) => {
    const file = openSync(path, readFlags);
    try {
      const buffer = Buffer.allocUnsafe(length);
      return buffer.subarray(0, readSync(file, buffer, 0, length, 0));
    } finally {
      closeSync(file);
    }
  },
  // A rename by a thread of the pool would leave a gap of milliseconds behind the last refresh, in which an edit got lost.
  replace: async (temporary, path, lastLook, aside) => {
    lastLook();
    if (aside !== undefined) linkIfPossible(path, aside);
    renameSync(temporary, path);
  },
  deviceOf: async folder => {
    const stats = await promises.stat(folder).catch(() => undefined);
    return stats?.isDirectory() ? stats.dev : undefined;
  },
};

/** Without it an edit that comes in the moment of the rename is lost, as it is where file systems have no links. */
function linkIfPossible(path: string, aside: string): void {
  try {
    linkSync(path, aside);
  } catch (error) {
    if (systemErrorCode(error) !== "EEXIST") return;
    unlinkSync(aside);
    linkIfPossible(path, aside);
  }
}

/** Writes all of it. The system may take fewer bytes than it is given, and says so by their number only: a disk that gets full. */
export async function writeAll(handle: promises.FileHandle, bytes: Buffer, position: number): Promise<void> {
  for (let at = 0; at < bytes.length; ) {
    const { bytesWritten } = await handle.write(bytes, at, bytes.length - at, position + at);
    if (bytesWritten === 0) throw new Error("the disk is full");
    at += bytesWritten;
  }
}

/** Reads so many bytes, fewer only where the file ends before. As with writing, one call may give fewer. */
export async function readAll(handle: promises.FileHandle, length: number, position: number): Promise<Buffer> {
  const bytes = Buffer.allocUnsafe(length);
  for (let at = 0; at < length; ) {
    const { bytesRead } = await handle.read(bytes, at, length - at, position + at);
    if (bytesRead === 0) return bytes.subarray(0, at);
    at += bytesRead;
  }
  return bytes;
}

/** Puts what was written to a file on the disk. Throws the system's error. */
export async function syncFile(path: string, fileSystem: FileSystem): Promise<void> {
  const handle = await fileSystem.open(path, "r+");
  try {
    await handle.datasync();
  } finally {
    await handle.close();
  }
}

/** The error code of a failed system call, such as "ENOENT"; undefined for any other error. */
export function systemErrorCode(error: unknown): string | undefined {
  if (!(error instanceof Error) || !("code" in error)) return undefined;
  return typeof error.code === "string" ? error.code : undefined;
}
