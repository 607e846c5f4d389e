import {
  closeSync,
  constants,
  linkSync,
  openSync,
  readSync,
  renameSync,
  type Stats,
  statSync,
  unlinkSync,
} from "node:fs";
import * as promises from "node:fs/promises";
import { dirname } from "node:path";
import { foreignDisks } from "./foreign-disks.ts";

/** Windows does not have it. */
export const noFollow = constants.O_NOFOLLOW ?? 0;
// Links must be reported and not followed, and a pipe must not block. Windows has neither flag.
export const readFlags = constants.O_RDONLY | noFollow | (constants.O_NONBLOCK ?? 0);

/** The calls that durability depends on. Tests pass in ones that fail, stop or are recorded. */
export type FileSystem = Pick<typeof promises, "open" | "rename" | "unlink"> & {
  /**
   * Reads the first `length` bytes of a file synchronously, so that the answer is still true when it is used. Throws the system's
   * error.
   */
  readNow(path: string, length: number): Buffer;
  /**
   * Runs `assertUnchanged`, hard-links the file at `path` as `aside` if that is given and the file system supports it, and renames
   * `temporary` to `path`. All of it is synchronous, so that hardly any time passes between the check and the rename. Throws what
   * `assertUnchanged` throws, or the system's error of the rename.
   */
  replace(temporary: string, path: string, assertUnchanged: () => void, aside?: string): Promise<void>;
  /** What identifies a folder; undefined if there is no such folder, or its disk does not answer. */
  identityOf(folder: string): Promise<FolderIdentity | undefined>;
  /** The same, synchronously, so that the answer is still true when it is used. */
  identityNow(folder: string): FolderIdentity | undefined;
};

/** Distinguishes a folder from another one at the same path, such as the empty folder below a mount. */
export interface FolderIdentity {
  /** The number of its disk or mount. It changes with a restart of the system. */
  readonly device: number;
  readonly inode: number;
  /** When it was created, in milliseconds, as inodes are used again; undefined if the file system does not tell. */
  readonly created: number | undefined;
  /** Whether a disk is mounted right at this folder. */
  readonly isMount: boolean;
}

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
  // A rename in the thread pool would leave milliseconds after the check in which an edit could be lost.
  replace: async (temporary, path, assertUnchanged, aside) => {
    assertUnchanged();
    if (aside !== undefined) linkIfPossible(path, aside);
    renameSync(temporary, path);
  },
  identityOf: async folder => {
    const both = () => Promise.all([folder, dirname(folder)].map(path => promises.stat(path).catch(() => undefined)));
    const [stats, above] = await foreignDisks.ask(folder, both).catch(() => []);
    return identityFrom(stats, above);
  },
  identityNow: folder => {
    const [stats, above] = [folder, dirname(folder)].map(path => {
      try {
        return statSync(path, { throwIfNoEntry: false });
      } catch {
        return undefined;
      }
    });
    return identityFrom(stats, above);
  },
};

function identityFrom(stats: Stats | undefined, above: Stats | undefined): FolderIdentity | undefined {
  if (!stats?.isDirectory()) return undefined;
  const { dev, ino, birthtimeMs, ctimeMs } = stats;
  // Without a time of creation, Node returns that of the last change.
  return {
    device: dev,
    inode: ino,
    created: birthtimeMs === ctimeMs ? undefined : birthtimeMs,
    isMount: dev !== above?.dev,
  };
}

/** On a file system without hard links, an edit at the very moment of the rename is lost. */
function linkIfPossible(path: string, aside: string): void {
  try {
    linkSync(path, aside);
  } catch (error) {
    if (systemErrorCode(error) !== "EEXIST") return;
    unlinkSync(aside);
    linkIfPossible(path, aside);
  }
}

/** Writes all bytes. On a disk that gets full, the system may write fewer and only report their number. */
export async function writeAll(handle: promises.FileHandle, bytes: Buffer, position: number): Promise<void> {
  for (let at = 0; at < bytes.length; ) {
    const { bytesWritten } = await handle.write(bytes, at, bytes.length - at, position + at);
    if (bytesWritten === 0) throw new Error("the disk is full");
    at += bytesWritten;
  }
}

/** Reads `length` bytes, or fewer if the file ends before. One call to the system may return fewer. */
export async function readAll(handle: promises.FileHandle, length: number, position: number): Promise<Buffer> {
  const bytes = Buffer.allocUnsafe(length);
  for (let at = 0; at < length; ) {
    const { bytesRead } = await handle.read(bytes, at, length - at, position + at);
    if (bytesRead === 0) return bytes.subarray(0, at);
    at += bytesRead;
  }
  return bytes;
}

/** Syncs a file's content to the disk. Throws the system's error. */
export async function syncFile(path: string, fileSystem: FileSystem): Promise<void> {
  const handle = await fileSystem.open(path, "r+");
  try {
    await handle.datasync();
  } finally {
    await handle.close();
  }
}

/** For `catch`: undefined if there is no such file. Throws any other error. */
export function ignoreMissing(error: unknown): undefined {
  if (systemErrorCode(error) !== "ENOENT") throw error;
}

/** The error code of a failed system call, such as "ENOENT"; undefined for any other error. */
export function systemErrorCode(error: unknown): string | undefined {
  if (!(error instanceof Error) || !("code" in error)) return undefined;
  return typeof error.code === "string" ? error.code : undefined;
}
