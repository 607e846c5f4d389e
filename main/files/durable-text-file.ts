import { randomBytes } from "node:crypto";
import * as callbacks from "node:fs";
import { fstatSync } from "node:fs";
import { type FileHandle, readlink, symlink } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { promisify } from "node:util";
import type { Adapter } from "lowdb";
import pLimit, { type LimitFunction } from "p-limit";
import { type Clock, systemClock } from "../clock.ts";
import { type FileSystem, readFlags, realFileSystem, systemErrorCode } from "./file-system.ts";

/** A file that is there but cannot be taken as text: not a regular file, too large, not UTF-8, not readable. */
export class UnreadableFileError extends Error {
  override readonly name = "UnreadableFileError";
}

/** Distinguishes versions of a file without reading it. */
export interface FileStamp {
  readonly size: number;
  readonly mtimeMs: number;
  readonly ino: number;
}

export function sameStamp(one: FileStamp | undefined, other: FileStamp | undefined): boolean {
  if (one === undefined || other === undefined) return one === other;
  return one.size === other.size && one.mtimeMs === other.mtimeMs && one.ino === other.ino;
}

/** Costs half of what the one of node:fs/promises does, which with 10,000 files every ten seconds is worth a line. */
const lstat = promisify(callbacks.lstat);

/** Of what stands at a path, links not followed; undefined if nothing can be told. */
export async function stampOf(path: string): Promise<FileStamp | undefined> {
  try {
    const { size, mtimeMs, ino } = await lstat(path);
    return { size, mtimeMs, ino };
  } catch {
    return undefined;
  }
}

export interface DurableTextFileOptions {
  readonly path: string;
  /** Where the temporary file is made; on the same file system. */
  readonly temporaryFolder: string;
  /** A folder that is tried before; undefined if there is none now. It may turn out to be of no use. */
  betterTemporaryFolder?(): Promise<string | undefined>;
  /** Mode of a new file; an existing one keeps its own. */
  readonly mode: number;
  readonly maximumBytes: number;
  /** The replaced file is kept for a while: `replacedEdit` finds out whether somebody was still writing to it. */
  readonly keepsReplaced?: boolean;
  readonly fileSystem?: FileSystem;
  readonly clock?: Clock;
}

/** What goes before a write replaces the file; if any of it throws, the file stays as it is. */
export interface BeforeReplacing {
  /** Waited for when the new text is on the disk and only the rename is missing. */
  readonly ready?: Promise<void> | undefined;
  /** Runs then, again before each try of a rename that another program blocks. */
  readonly keep?: () => Promise<void>;
  /** Runs in the moment of the rename. */
  readonly lastLook?: () => void;
  /** Runs right after it, when only the folder is not on the disk yet. */
  readonly replaced?: (() => void) | undefined;
}

/** Writes under way at once in the whole process: enough for every core and disk queue, far below the limit on open files. */
const writers = pLimit(64);
/** How long a call that another process blocks (antivirus, indexer, an editor on Windows) is tried again, in milliseconds. */
const retryDelays = [10, 20, 40, 80, 150, 300, 600, 1000, 1500, 1800, 2000];
const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/**
 * lowdb's lowest layer: a file's text, read whole and replaced whole. After `write` the text is on the disk: neither
 * kill -9 nor a power loss takes it back, and at no moment is the file anything but the old or the new text.
 */
export class DurableTextFile implements Adapter<string> {
  readonly path: string;
  readonly #options: DurableTextFileOptions;
  readonly #fileSystem: FileSystem;
  readonly #clock: Clock;
  /** Made when first needed, as are the next: most of ten thousand files are never written. */
  #temporaryName: string | undefined;
  #asideName: string | undefined;
  /** There may be a file of that name. */
  #hasAside = false;
  #temporaryFolder: string;
  #turns: LimitFunction | undefined;
  #stamp: FileStamp | undefined;
  #fileMode: number | undefined;
  /** What the file held when last read or written: null if there was none, undefined if that is not known. */
  #text: string | null | undefined;
  /** The text that the temporary file holds already; its stamp comes when it is on the disk. */
  #prepared: { readonly text: string; readonly stamp: Promise<FileStamp> } | undefined;
  /** What the last write replaced, under a name of its own. */
  #replaced: { readonly path: string; readonly stamp: FileStamp; readonly text: string | null | undefined } | undefined;

  constructor(options: DurableTextFileOptions) {
    this.path = options.path;
    this.#options = options;
    this.#temporaryFolder = options.temporaryFolder;
    this.#fileSystem = options.fileSystem ?? realFileSystem;
    this.#clock = options.clock ?? systemClock;
  }

  /** Of the version last read or written; undefined if there was no file. */
  get stamp(): FileStamp | undefined {
    return this.#stamp;
  }

  /**
   * The text, or null if there is no file. Throws UnreadableFileError for what is there but no text, and the system's
   * error when the process has no file handle left, which says nothing of the file.
   */
  async read(): Promise<string | null> {
    let handle: FileHandle;
    try {
      handle = await this.#fileSystem.open(this.path, readFlags);
    } catch (error) {
      switch (systemErrorCode(error)) {
        case "ENOENT":
          this.#stamp = undefined;
          this.#text = null;
          return null;
        case "ELOOP":
        case "EMLINK":
          throw new UnreadableFileError("it is a symbolic link, which Repoconf does not follow");
        case "EISDIR":
          throw new UnreadableFileError("it is a folder, not a file");
        case "EMFILE":
        case "ENFILE":
          throw error;
        default:
          throw new UnreadableFileError(`it cannot be read (${systemErrorCode(error) ?? String(error)})`);
      }
    }
    try {
      // Of an open file the system knows this at once, and a thread of the pool would take longer to wake up.
      const stats = fstatSync(handle.fd);
      if (!stats.isFile()) throw new UnreadableFileError("it is not a regular file");
      const { maximumBytes } = this.#options;
      if (stats.size > maximumBytes) {
        throw new UnreadableFileError(`it has ${stats.size} bytes; at most ${maximumBytes} are read`);
      }
      const bytes = await readWhole(handle, stats.size);
      this.#stamp = { size: stats.size, mtimeMs: stats.mtimeMs, ino: stats.ino };
      this.#fileMode = stats.mode & 0o777;
      try {
        this.#text = utf8.decode(bytes);
        return this.#text;
      } catch {
        throw new UnreadableFileError("it is not UTF-8 text");
      }
    } finally {
      await handle.close();
    }
  }

  /**
   * Whether the file holds exactly this text at this moment; null: whether there is none. Throws the system's error when
   * the process has no file handle left.
   */
  holds(text: string | null): boolean {
    const expected = Buffer.from(text ?? "");
    try {
      // With room for one byte more, so that a longer text shows.
      const bytes = this.#fileSystem.readNow(this.path, expected.length + 1);
      return text !== null && bytes.equals(expected);
    } catch (error) {
      const code = systemErrorCode(error);
      if (code === undefined || code === "EMFILE" || code === "ENFILE") throw error;
      return text === null && code === "ENOENT";
    }
  }

  /** Writes a text beside the file, and has it put on the disk meanwhile: writing it next is a rename. Throws the system's error. */
  async prepare(text: string): Promise<void> {
    this.#turns ??= pLimit(1);
    await this.#turns(async () => {
      const [folder = this.#options.temporaryFolder] = await this.#temporaryFolders();
      this.#temporaryFolder = folder;
      const { promise: written, resolve, reject } = Promise.withResolvers<void>();
      const stamp = writers(() => this.#writeTemporary(text, resolve));
      stamp.catch(reject);
      await written;
      this.#prepared = { text, stamp };
    });
  }

  /** It will not be written. */
  async dropPrepared(): Promise<void> {
    const prepared = this.#prepared;
    if (prepared === undefined) return;
    this.#prepared = undefined;
    await prepared.stamp.then(() => this.#removeTemporary()).catch(() => {});
  }

  /**
   * Replaces the file, durably. Throws the system's error, or what `before` throws; no temporary file is left behind.
   */
  async write(text: string, before: BeforeReplacing = {}): Promise<void> {
    this.#turns ??= pLimit(1);
    await this.#turns(() => this.#replace(text, before));
  }

  /**
   * The text that the last write replaced, if it is not what it was: somebody saved in the very moment of the rename, or went on
   * writing to the file that was open. Undefined if not, or if that cannot be told.
   */
  async replacedEdit(): Promise<string | undefined> {
    const replaced = this.#replaced;
    if (replaced === undefined) return undefined;
    const stamp = await stampOf(replaced.path);
    if (stamp === undefined || sameStamp(stamp, replaced.stamp)) return undefined;
    try {
      const text = utf8.decode(await readBytes(replaced.path, this.#fileSystem));
      // Somebody has touched it, or the file system takes its time with stamps.
      return text === replaced.text ? undefined : text;
    } catch {
      return undefined;
    }
  }

  /** Where that is kept. */
  get replacedPath(): string | undefined {
    return this.#replaced?.path;
  }

  /** Lets go of it. Throws the system's error; then it may still be there, and is told no more. */
  async dropReplaced(): Promise<void> {
    const path = this.#asidePath;
    this.#replaced = undefined;
    if (path === undefined || !this.#hasAside) return;
    try {
      await this.#fileSystem.unlink(path);
    } catch (error) {
      if (systemErrorCode(error) !== "ENOENT") throw error;
    }
    this.#hasAside = false;
  }

  /** By a name that nobody else has in that folder. */
  get #temporaryPath(): string {
    this.#temporaryName ??= temporaryName(this.path);
    return join(this.#temporaryFolder, this.#temporaryName);
  }

  /** A name that a start takes away, as it does that of the temporary file; undefined if nothing is kept. */
  get #asidePath(): string | undefined {
    if (!this.#options.keepsReplaced) return undefined;
    this.#asideName ??= temporaryName(this.path);
    return join(this.#temporaryFolder, this.#asideName);
  }

  async #replace(text: string, before: BeforeReplacing): Promise<void> {
    const stamp = await this.#putInPlace(text, await this.#temporaryFolders(), before);
    try {
      await syncFolder(dirname(this.path), this.#fileSystem, this.#clock);
    } catch (error) {
      // It is not sure to stay, so it may not be taken as written; and what is told as not written may not be there.
      await this.#putBack(text);
      throw error;
    }
    this.#stamp = stamp;
    this.#text = text;
  }

  /** Those to try, in order. */
  async #temporaryFolders(): Promise<string[]> {
    const better = await this.#options.betterTemporaryFolder?.();
    const folders = [better, better, this.#options.temporaryFolder, this.#options.temporaryFolder];
    return folders.filter(folder => folder !== undefined);
  }

  /**
   * By a temporary file in the first of these folders. Who tidies up may have taken the file away, and a folder may not let
   * us in or be on another file system than it seemed: then by one in the next.
   */
  async #putInPlace(text: string, [folder, ...others]: readonly string[], before: BeforeReplacing): Promise<FileStamp> {
    try {
      const prepared = this.#prepared;
      this.#prepared = undefined;
      const isReady = prepared?.text === text && (folder === undefined || folder === this.#temporaryFolder);
      if (folder !== undefined) this.#temporaryFolder = folder;
      if (!isReady) await prepared?.stamp.catch(() => {});
      const stamp = await (isReady ? prepared.stamp : writers(() => this.#writeTemporary(text)));
      try {
        // Not tried again below: what it says once, such as EPERM of another file, it says for good.
        await before.ready;
        // A rename that was blocked may have been so by an editor that was saving.
        await retryBlocked(this.#clock, async () => {
          await before.keep?.();
          const { lastLook = () => {} } = before;
          // Only of a version that was checked can be told whether it has changed.
          const path = before.lastLook === undefined ? undefined : this.#asidePath;
          this.#hasAside ||= path !== undefined;
          await this.#fileSystem.replace(this.#temporaryPath, this.path, lastLook, path);
          const replaced = this.#stamp;
          this.#replaced =
            path === undefined || replaced === undefined ? undefined : { path, stamp: replaced, text: this.#text };
          // From here on it is ours, even if the folder's sync fails.
          this.#stamp = stamp;
        });
        before.replaced?.();
      } catch (error) {
        await this.#removeTemporary();
        await this.dropReplaced().catch(() => {});
        throw error;
      }
      return stamp;
    } catch (error) {
      if (others.length === 0 || !isUnusable(this.#temporaryPath, error)) throw error;
      return this.#putInPlace(text, others, before);
    }
  }

  /** Removes the file, durably. */
  async remove(): Promise<void> {
    await retryBlocked(this.#clock, () => this.#fileSystem.unlink(this.path));
    await syncFolder(dirname(this.path), this.#fileSystem, this.#clock);
    this.#stamp = undefined;
    this.#text = null;
  }

  /** Makes the file hold again what it held before the write that failed, as far as the disk lets us. */
  async #putBack(written: string): Promise<void> {
    const before = this.#text;
    if (before === undefined) return;
    try {
      // Do not overwrite an edit that somebody made since then.
      if ((await this.read()) !== written) return;
      if (before === null) {
        await this.#fileSystem.unlink(this.path);
        return;
      }
      await this.#writeTemporary(before);
      await this.#fileSystem.rename(this.#temporaryPath, this.path);
    } catch {
      // The disk refuses this too. The next read finds the new text and treats it as a hand edit.
      await this.#removeTemporary().catch(() => {});
    }
  }

  /** Takes from an existing file every right that its options' mode does not give. */
  async makePrivate(): Promise<void> {
    const { mode } = this.#options;
    if (process.platform === "win32" || this.#fileMode === undefined || (this.#fileMode & ~mode) === 0) return;
    const handle = await this.#fileSystem.open(this.path, readFlags);
    try {
      await handle.chmod(mode);
      this.#fileMode = mode;
    } finally {
      await handle.close();
    }
  }

  /** `written` is called when it is only not on the disk yet. */
  async #writeTemporary(text: string, written = () => {}): Promise<FileStamp> {
    const mode = this.#fileMode ?? this.#options.mode;
    try {
      const handle = await this.#openTemporary(mode);
      try {
        // The process's umask may have taken something of it.
        if (this.#fileMode !== undefined && (fstatSync(handle.fd).mode & 0o777) !== mode) await handle.chmod(mode);
        await handle.writeFile(text);
        written();
        await handle.sync();
        const { size, mtimeMs, ino } = fstatSync(handle.fd);
        return { size, mtimeMs, ino };
      } finally {
        await handle.close();
      }
    } catch (error) {
      await this.#removeTemporary();
      throw error;
    }
  }

  /** "wx" makes a file of our own and never follows a link. */
  async #openTemporary(mode: number): Promise<FileHandle> {
    try {
      return await this.#fileSystem.open(this.#temporaryPath, "wx", mode);
    } catch (error) {
      if (systemErrorCode(error) !== "EEXIST") throw error;
    }
    // Left by a failure, or planted.
    await this.#removeTemporary();
    return this.#fileSystem.open(this.#temporaryPath, "wx", mode);
  }

  async #removeTemporary(): Promise<void> {
    try {
      await retryBlocked(this.#clock, () => this.#fileSystem.unlink(this.#temporaryPath));
    } catch (error) {
      if (systemErrorCode(error) !== "ENOENT") throw error;
    }
  }
}

/** A unique name in its folder; the next start removes such files. */
function temporaryName(path: string): string {
  return `${basename(path)}.${randomBytes(6).toString("hex")}.tmp`;
}

/** Whether a call failed because of the temporary file or its folder, and not of what else there is to a write. */
function isUnusable(temporaryPath: string, error: unknown): boolean {
  const isOfIt = error instanceof Error && "path" in error && error.path === temporaryPath;
  // A rename that is refused is refused because of the file in whose place it is to come.
  const isRename = isOfIt && "syscall" in error && error.syscall === "rename";
  const codes = isRename ? ["ENOENT", "EXDEV"] : ["ENOENT", "EXDEV", "EACCES", "EPERM", "EROFS"];
  return isOfIt && codes.includes(systemErrorCode(error) ?? "");
}

/** What a file holds that had `size` bytes a moment ago. `readFile` would ask for the size again. */
async function readWhole(handle: FileHandle, size: number): Promise<Buffer> {
  // With room for one byte more: filling that, the file has grown meanwhile. With fewer it has shrunk, or the system gives the
  // rest only when asked again.
  const buffer = Buffer.allocUnsafe(size + 1);
  const { bytesRead } = await handle.read(buffer, 0, buffer.length, 0);
  return bytesRead === size ? buffer.subarray(0, bytesRead) : handle.readFile();
}

/** Moves a file to another folder of the same file system, durably. False if there is no such file. */
export async function moveFile(
  from: string,
  to: string,
  fileSystem: FileSystem = realFileSystem,
  clock: Clock = systemClock,
): Promise<boolean> {
  try {
    await retryBlocked(clock, () => fileSystem.rename(from, to));
  } catch (error) {
    if (systemErrorCode(error) === "ENOENT") return false;
    throw error;
  }
  try {
    for (const folder of [dirname(to), dirname(from)]) await syncFolder(folder, fileSystem, clock);
  } catch (error) {
    // It is not sure to stay there, so it goes back.
    await fileSystem.rename(to, from).catch(() => {});
    throw error;
  }
  return true;
}

/** How often a file is copied anew because it was changed meanwhile. */
const mostCopies = 20;

/**
 * Copies a file as it is, durably, and as it still is when the copy is on the disk; never over something that is there. A
 * link is copied as a link: what it leads to is not ours. False if there is no file; throws the system's error, and Error for
 * a file that does not stay the same; then there is no copy.
 */
export async function keepFile(
  from: string,
  to: string,
  fileSystem: FileSystem = realFileSystem,
  clock: Clock = systemClock,
): Promise<boolean> {
  for (let copies = 0; copies < mostCopies; copies++) {
    const before = await readAsItIs(from, fileSystem);
    if (before === undefined) return false;
    if (typeof before === "string") await symlink(before, to);
    else await writeCopy(to, before, fileSystem);
    try {
      await syncFolder(dirname(to), fileSystem, clock);
      const after = await readAsItIs(from, fileSystem);
      if (typeof before === "string" ? after === before : Buffer.isBuffer(after) && after.equals(before)) return true;
    } catch (error) {
      await fileSystem.unlink(to).catch(() => {});
      throw error;
    }
    await fileSystem.unlink(to);
  }
  throw new Error(`${from} keeps being changed; nothing was replaced`);
}

async function writeCopy(to: string, bytes: Buffer, fileSystem: FileSystem): Promise<void> {
  const copy = await fileSystem.open(to, "wx", 0o600);
  try {
    await copy.writeFile(bytes);
    await copy.sync();
  } catch (error) {
    // Half of it would be taken for the whole.
    await fileSystem.unlink(to).catch(() => {});
    throw error;
  } finally {
    await copy.close();
  }
}

/** What a file holds, or what a link says; undefined if there is neither. */
async function readAsItIs(path: string, fileSystem: FileSystem): Promise<Buffer | string | undefined> {
  try {
    return await readBytes(path, fileSystem);
  } catch (error) {
    const code = systemErrorCode(error);
    if (code === "ENOENT") return undefined;
    if (code !== "ELOOP" && code !== "EMLINK") throw error;
    return readlink(path);
  }
}

async function readBytes(path: string, fileSystem: FileSystem): Promise<Buffer> {
  const handle = await fileSystem.open(path, readFlags);
  try {
    return await handle.readFile();
  } finally {
    await handle.close();
  }
}

interface FolderSync {
  running: Promise<void>;
  /** Starts when `running` has ended; requests made meanwhile share it. */
  next?: Promise<void> | undefined;
}
const folderSyncs = new WeakMap<FileSystem, Map<string, FolderSync>>();

/** Puts a folder's entries on the disk: all that were made before the call. Calls at the same time share one sync. */
export function syncFolder(folder: string, fileSystem: FileSystem, clock: Clock = systemClock): Promise<void> {
  // Windows has no handle on a folder; NTFS journals the rename itself.
  if (process.platform === "win32") return Promise.resolve();
  const ofThis = folderSyncs.get(fileSystem) ?? new Map<string, FolderSync>();
  folderSyncs.set(fileSystem, ofThis);
  const begin = (): Promise<void> => {
    const running = syncFolderOnce(folder, fileSystem, clock);
    const sync: FolderSync = { running };
    ofThis.set(folder, sync);
    const end = () => {
      if (ofThis.get(folder) === sync && sync.next === undefined) ofThis.delete(folder);
    };
    running.then(end, end);
    return running;
  };
  const sync = ofThis.get(folder);
  if (sync === undefined) return begin();
  // The one that runs may have begun before this entry was made.
  sync.next ??= sync.running.then(begin, begin);
  return sync.next;
}

async function syncFolderOnce(folder: string, fileSystem: FileSystem, clock: Clock): Promise<void> {
  await retryBlocked(clock, async () => {
    const handle = await fileSystem.open(folder, "r");
    try {
      await handle.sync();
    } finally {
      await handle.close();
    }
  });
}

async function retryBlocked(clock: Clock, call: () => Promise<void>): Promise<void> {
  for (const milliseconds of retryDelays) {
    try {
      return await call();
    } catch (error) {
      const code = systemErrorCode(error);
      if (code !== "EPERM" && code !== "EBUSY") throw error;
      await clock.delay(milliseconds);
    }
  }
  return call();
}
