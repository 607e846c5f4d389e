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
};

/** The error code of a failed system call, such as "ENOENT"; undefined for any other error. */
export function systemErrorCode(error: unknown): string | undefined {
  if (!(error instanceof Error) || !("code" in error)) return undefined;
  return typeof error.code === "string" ? error.code : undefined;
}
