import { fstatSync, type Stats } from "node:fs";
import { type FileHandle, stat } from "node:fs/promises";
import { dirname } from "node:path";
import type { Clock } from "../time/clock.ts";
import { type FileSystem, noFollow, readFlags, realFileSystem, systemErrorCode } from "./file-system.ts";
import { foreignDisks } from "./foreign-disks.ts";
import { FileTooLargeError, UnreadableFileError } from "./unreadable-file-error.ts";

export interface ReadOptions {
  readonly maximumBytes: number;
  /** Otherwise a link is refused. Only for files whose content goes nowhere, and those that a person named. */
  readonly followsLinks?: boolean;
  readonly fileSystem?: Pick<FileSystem, "open">;
}

/** More than the largest of them, a history that is kept in one piece; a thin file can claim to have more than the memory has. */
export const homeFileBytes = 1.25 * 1024 ** 3;

/** What is known of a folder that is not ours. */
export interface ForeignPlace {
  /** A folder for temporary files to try first; undefined if there is none now. It may turn out to be unusable. */
  betterTemporaryFolder(): Promise<string | undefined>;
  /** Called right before a missing file is created. Returns whether the folder is still the right one. */
  mayCreate?(): boolean;
}

export interface FileContent {
  readonly bytes: Buffer;
  /** From the opened file, so they belong to the bytes even if the path has another file by now. */
  readonly stats: Stats;
}

/**
 * The only way to read a file in a work tree, in a git folder or wherever another program may have put anything: `readRegularFile`, with
 * the time bounded too. Also throws UnreachableDiskError.
 */
export function readForeignFile(
  path: string,
  options: ReadOptions & { readonly clock?: Clock },
): Promise<FileContent | null> {
  return foreignDisks.ask(dirname(path), () => readRegularFile(path, options), options.clock);
}

/** As `readForeignFile`, as UTF-8 text, in which bytes that are not valid become U+FFFD. Null also if it cannot be read. */
export async function readForeignText(path: string, options: ReadOptions): Promise<string | null> {
  const found = await foreignDisks.ask(dirname(path), () =>
    readRegularFile(path, options).catch(error => {
      if (isOutOfHandles(error)) throw error;
      return null;
    }),
  );
  return found?.bytes.toString() ?? null;
}

/**
 * Reads a regular file of at most `maximumBytes`, whatever size it reports; null if there is none. Opens nothing that blocks. Throws
 * UnreadableFileError, and the system's error if the process has no file handles left, because then nothing is known about the file.
 */
export async function readRegularFile(path: string, options: ReadOptions): Promise<FileContent | null> {
  let handle: FileHandle | null;
  try {
    handle = await openRegularFile(path, options);
  } catch (error) {
    if (error instanceof UnreadableFileError || isOutOfHandles(error)) throw error;
    throw new UnreadableFileError(`it cannot be read (${systemErrorCode(error) ?? String(error)})`, { cause: error });
  }
  if (handle === null) return null;
  try {
    return await readOpened(handle, options.maximumBytes);
  } finally {
    await handle.close();
  }
}

/**
 * Opens a regular file for reading, and nothing that blocks; null if there is none. Throws UnreadableFileError if something else is there,
 * and the system's error.
 */
export async function openRegularFile(
  path: string,
  { followsLinks = false, fileSystem = realFileSystem }: Omit<ReadOptions, "maximumBytes"> = {},
): Promise<FileHandle | null> {
  try {
    // Opening some devices has an effect, so they are not opened.
    if (followsLinks) assertRegular(await stat(path));
    const handle = await fileSystem.open(path, followsLinks ? readFlags & ~noFollow : readFlags);
    try {
      // fstat of a file that was just opened returns at once; waking up a thread of the pool would take longer.
      assertRegular(fstatSync(handle.fd));
      return handle;
    } catch (error) {
      await handle.close();
      throw error;
    }
  } catch (error) {
    switch (systemErrorCode(error)) {
      case "ENOENT":
        return null;
      case "ELOOP":
      case "EMLINK":
        throw new UnreadableFileError("it is a symbolic link, which Repoconf does not follow", { cause: error });
      case "EISDIR":
        throw new UnreadableFileError("it is a folder, not a file");
      case "ENXIO":
        throw new UnreadableFileError("it is not a regular file");
      default:
        throw error;
    }
  }
}

/**
 * A file of the home, or one that the settings name; null if there is none. A home may have been unpacked or copied from anywhere, so
 * nothing that blocks or does not end is read. Throws UnreadableFileError, which names the file.
 */
export async function readHomeFile(path: string, options: Partial<ReadOptions> = {}): Promise<FileContent | null> {
  try {
    return await readRegularFile(path, { maximumBytes: homeFileBytes, ...options });
  } catch (error) {
    if (!(error instanceof UnreadableFileError)) throw error;
    throw new UnreadableFileError(`${path} is not usable: ${error.message}. Look what it is, and move it away.`, {
      cause: error.cause,
    });
  }
}

/** The most bytes of a file that `readHomeFileNow` reads. */
const smallFileBytes = 64 * 1024;

/** As `readHomeFile`, for a small file that is only replaced as a whole, synchronously: so a command need not load more of Node for it. */
export function readHomeFileNow(path: string): Pick<FileContent, "bytes"> | null {
  try {
    const bytes = realFileSystem.readNow(path, smallFileBytes + 1);
    if (bytes.length <= smallFileBytes) return { bytes };
  } catch (error) {
    const code = systemErrorCode(error);
    if (code === "ENOENT") return null;
    throw new UnreadableFileError(`${path} is not usable: it cannot be read (${code})`, { cause: error });
  }
  throw new FileTooLargeError(`${path} is not usable: it has more than ${smallFileBytes} bytes`);
}

async function readOpened(handle: FileHandle, maximumBytes: number): Promise<FileContent> {
  const stats = fstatSync(handle.fd);
  if (stats.size > maximumBytes)
    throw new FileTooLargeError(`it has ${stats.size} bytes; at most ${maximumBytes} are read`);
  // One byte more than the size. If exactly the size was read, the file is complete.
  const first = Buffer.allocUnsafe(stats.size + 1);
  const { bytesRead } = await handle.read(first, 0, first.length, null);
  if (bytesRead === stats.size) return { bytes: first.subarray(0, bytesRead), stats };
  // The file has grown or shrunk, has another size than it reports, or the system returned only a part.
  const parts = [first.subarray(0, bytesRead)];
  for (let total = bytesRead; ; ) {
    const part = Buffer.allocUnsafe(Math.min(64 * 1024, maximumBytes - total + 1));
    const { bytesRead: more } = await handle.read(part, 0, part.length, null);
    if (more === 0) return { bytes: Buffer.concat(parts), stats };
    total += more;
    if (total > maximumBytes)
      throw new FileTooLargeError(`it has more than ${maximumBytes} bytes; at most that many are read`);
    parts.push(part.subarray(0, more));
  }
}

function assertRegular(stats: Stats): void {
  if (stats.isDirectory()) throw new UnreadableFileError("it is a folder, not a file");
  if (!stats.isFile()) throw new UnreadableFileError("it is not a regular file");
}

/** Whether the process has no file handles left. Such an error says nothing about the file. */
function isOutOfHandles(error: unknown): boolean {
  return ["EMFILE", "ENFILE"].includes(systemErrorCode(error) ?? "");
}
