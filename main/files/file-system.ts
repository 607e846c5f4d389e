import { closeSync, constants, openSync, readSync } from "node:fs";
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
  /** The number of the disk (or whatever is mounted) that a folder is on; undefined if there is no folder. */
  deviceOf(folder: string): Promise<number | undefined>;
};

export const realFileSystem: FileSystem = {
  open: promises.open,
  // By a thread of the pool, though that leaves a gap behind a last look: beside many syncs a rename waits for milliseconds,
  // and all other requests would wait with it.
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
  deviceOf: async folder => {
    const stats = await promises.stat(folder).catch(() => undefined);
    return stats?.isDirectory() ? stats.dev : undefined;
  },
};

/** Writes all of it. The system may take fewer bytes than it is given, and says so by their number only: a disk that gets full. */
export async function writeAll(handle: promises.FileHandle, bytes: Buffer, position: number): Promise<void> {
  for (let at = 0; at < bytes.length; ) {
    const { bytesWritten } = await handle.write(bytes, at, bytes.length - at, position + at);
    if (bytesWritten === 0) throw new Error("the disk takes no more bytes");
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

/** The error code of a failed system call, such as "ENOENT"; undefined for any other error. */
export function systemErrorCode(error: unknown): string | undefined {
  if (!(error instanceof Error) || !("code" in error)) return undefined;
  return typeof error.code === "string" ? error.code : undefined;
}
