import { fstatSync, lstat as lstatWithCallback } from "node:fs";
import { type FileHandle, readlink, symlink } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { promisify } from "node:util";
import type { Adapter } from "lowdb";
import pLimit, { type LimitFunction } from "p-limit";
import { type Clock, systemClock } from "../time/clock.ts";
import { giveRights, rightsAt } from "./file-rights.ts";
import { type FileSystem, readFlags, realFileSystem, systemErrorCode } from "./file-system.ts";
import { foreignDisks } from "./foreign-disks.ts";
import { type FileContent, type ForeignPlace, readForeignFile, readRegularFile } from "./foreign-file.ts";
import { type Ask, findLeft, isSameInode, temporaryName } from "./temporary-files.ts";
import { UnreadableFileError } from "./unreadable-file-error.ts";
import { utf8Text } from "./utf8-text.ts";

export { UnreadableFileError };

/** Distinguishes versions of a file without reading it. */
export interface FileStamp {
  readonly size: number;
  readonly mtimeMs: number;
  readonly ino: number;
  /** When the inode was created, in milliseconds: inodes are used again. Not compared as long as there is the whole stamp. */
  readonly created?: number;
}

export function sameStamp(one: FileStamp | undefined, other: FileStamp | undefined): boolean {
  if (one === undefined || other === undefined) return one === other;
  return one.size === other.size && one.mtimeMs === other.mtimeMs && one.ino === other.ino;
}

/** Takes half as long as the version in node:fs/promises, which matters with 10,000 files every ten seconds. */
const lstat = promisify(lstatWithCallback);

/** The stamp of what is at a path, without following links; undefined on any error. */
export async function stampOf(path: string): Promise<FileStamp | undefined> {
  try {
    const { size, mtimeMs, ino } = await lstat(path);
    return { size, mtimeMs, ino };
  } catch {
    return undefined;
  }
}

/** As `stampOf`, for a file in a folder that is not ours; undefined also if its disk does not answer. */
export function foreignStampOf(path: string, clock?: Clock): Promise<FileStamp | undefined> {
  return foreignDisks.ask(dirname(path), () => stampOf(path), clock).catch(() => undefined);
}

export interface DurableTextFileOptions {
  readonly path: string;
  /** Where temporary files are created; on the same file system as the file. */
  readonly temporaryFolder: string;
  /** Mode of a new file; an existing one keeps its own, and its owner and group. */
  readonly mode: number;
  readonly maximumBytes: number;
  /** If it is in a folder that is not ours: its disk may not answer. */
  readonly foreign?: ForeignPlace;
  /** Keeps the replaced file for a while, so that `replacedEdit` can find out whether somebody was still writing to it. */
  readonly keepsReplaced?: boolean;
  readonly fileSystem?: FileSystem;
  readonly clock?: Clock;
}

/** Hooks of a write. If one throws, the file stays as it is. */
export interface BeforeReplacing {
  /** Runs when the new text is on the disk, before the rename. `stamp` is the one that the file is about to have. */
  readonly record?: ((stamp: FileStamp) => Promise<void>) | undefined;
  /** Runs after `record`, again before each retry of a rename that another program blocks. */
  readonly keep?: () => Promise<void>;
  /** Runs right before the rename, with nothing in between. */
  readonly assertUnchanged?: () => void;
}

/** Concurrent writes in the whole process: enough for every core and disk queue, far below the limit on open files. */
const writers = pLimit(64);
/** Pauses between retries of a call that another process blocks (antivirus, indexer, an editor on Windows), in milliseconds. */
const retryDelays = [10, 20, 40, 80, 150, 300, 600, 1000, 1500, 1800, 2000];

/** The stamps of a new file and of the one that it replaces, recorded before it is put in place. */
export interface RecordedWrite {
  readonly stamp?: FileStamp;
  readonly replacedStamp?: FileStamp;
}

/**
 * lowdb's lowest layer: a file's text, read and replaced as a whole. After `write` the text is on the disk and survives kill -9
 * and power loss. At every moment the file has either the old or the new text.
 */
export class DurableTextFile implements Adapter<string> {
  readonly path: string;
  readonly #options: DurableTextFileOptions;
  readonly #fileSystem: FileSystem;
  readonly #clock: Clock;
  /** Created when first needed, like the next ones: most of ten thousand files are never written. */
  #temporaryName: string | undefined;
  #asideName: string | undefined;
  /** A file with that name may exist. */
  #hasAside = false;
  #temporaryFolder: string;
  #turns: LimitFunction | undefined;
  #stamp: FileStamp | undefined;
  /** The file's text when last read or written; null if there was none, undefined if it is not known. */
  #text: string | null | undefined;
  /** The text that is already in the temporary file. `stamp` resolves when it is on the disk. */
  #prepared: { readonly text: string; readonly stamp: Promise<FileStamp> } | undefined;
  /** The file that the last write replaced, under its temporary name. */
  #replaced: { readonly path: string; readonly stamp: FileStamp; readonly text: string | null | undefined } | undefined;

  constructor(options: DurableTextFileOptions) {
    this.path = options.path;
    this.#options = options;
    this.#temporaryFolder = options.temporaryFolder;
    this.#fileSystem = options.fileSystem ?? realFileSystem;
    this.#clock = options.clock ?? systemClock;
  }

  /** The stamp of the version last read or written; undefined if there was no file. */
  get stamp(): FileStamp | undefined {
    return this.#stamp;
  }

  /**
   * The text, or null if there is no file. Throws UnreadableFileError if it is not readable as text, and the system's error if
   * the process has no file handles left: then nothing is known about the file.
   */
  async read(): Promise<string | null> {
    const found = await this.#readContent(this.path);
    if (found === null) {
      this.#stamp = undefined;
      this.#text = null;
      return null;
    }
    const { bytes, stats } = found;
    this.#stamp = { size: stats.size, mtimeMs: stats.mtimeMs, ino: stats.ino, created: stats.birthtimeMs };
    this.#text = utf8Text(bytes);
    return this.#text;
  }

  #readContent(path: string): Promise<FileContent | null> {
    const { maximumBytes, foreign } = this.#options;
    const options = { maximumBytes, fileSystem: this.#fileSystem, clock: this.#clock };
    return (foreign ? readForeignFile : readRegularFile)(path, options);
  }

  /**
   * Whether the file contains exactly this text right now; with null, whether there is no file. Throws the system's error if the
   * process has no file handles left.
   */
  holds(text: string | null): boolean {
    const expected = Buffer.from(text ?? "");
    try {
      // One byte more than expected, to notice a longer text.
      const bytes = this.#fileSystem.readNow(this.path, expected.length + 1);
      return text !== null && bytes.equals(expected);
    } catch (error) {
      const code = systemErrorCode(error);
      if (code === undefined || code === "EMFILE" || code === "ENFILE") throw error;
      return text === null && code === "ENOENT";
    }
  }

  /**
   * Writes a text to the temporary file and starts to sync it, so that writing the same text next only needs a rename. Throws the
   * system's error.
   */
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

  /** Resolves when the prepared text is on the disk. Throws the system's error. */
  async preparedSynced(): Promise<void> {
    await this.#prepared?.stamp;
  }

  /** Drops the prepared text, which will not be written. */
  async dropPrepared(): Promise<void> {
    const prepared = this.#prepared;
    if (prepared === undefined) return;
    this.#prepared = undefined;
    await prepared.stamp.then(() => this.#removeTemporary()).catch(() => {});
  }

  /** Replaces the file durably. Throws the system's error or what `before` throws; no temporary file is left behind. */
  async write(text: string, before: BeforeReplacing = {}): Promise<void> {
    this.#turns ??= pLimit(1);
    await this.#turns(() => this.#replace(text, before));
  }

  /**
   * The replaced file's text, if it is no longer what it was when last read: somebody saved at the moment of the rename, or kept
   * writing to the open file. Undefined if it is unchanged or cannot be read.
   */
  async replacedEdit(): Promise<string | undefined> {
    const replaced = this.#replaced;
    if (replaced === undefined) return undefined;
    const stamp = await (this.#options.foreign ? foreignStampOf : stampOf)(replaced.path);
    if (stamp === undefined || sameStamp(stamp, replaced.stamp)) return undefined;
    try {
      const { bytes } = (await this.#readContent(replaced.path)) ?? {};
      const text = bytes && utf8Text(bytes);
      // A new stamp with the same text: somebody touched it, or the file system updates stamps late.
      return text === replaced.text ? undefined : text;
    } catch {
      return undefined;
    }
  }

  /** Where the replaced file is kept. */
  get replacedPath(): string | undefined {
    return this.#replaced?.path;
  }

  /**
   * Looks for what a process that ended left in the folders for temporary files, known by its inode: takes over the file that its last
   * write replaced, for `replacedEdit`, and deletes the new one that was not put in place. Returns the paths of others with such names.
   */
  async adoptLeft({ stamp, replacedStamp }: RecordedWrite): Promise<readonly string[]> {
    const others: string[] = [];
    const ask: Ask = (folder, task) => (this.#options.foreign ? foreignDisks.ask(folder, task, this.#clock) : task());
    for (const { folder, name, ...inode } of await findLeft(basename(this.path), await this.#temporaryFolders(), ask)) {
      const path = join(folder, name);
      if (isSameInode(replacedStamp, inode)) {
        [this.#temporaryFolder, this.#asideName, this.#hasAside] = [folder, name, true];
        this.#replaced = { path, stamp: replacedStamp, text: undefined };
      } else if (isSameInode(stamp, inode)) await ask(folder, () => this.#fileSystem.unlink(path)).catch(() => {});
      else others.push(path);
    }
    return others;
  }

  /** Deletes the replaced file. Throws the system's error; then the file may still exist but is no longer reported. */
  async dropReplaced(): Promise<void> {
    const path = this.#asidePath;
    this.#replaced = undefined;
    if (path === undefined || !this.#hasAside) return;
    const unlink = () => this.#fileSystem.unlink(path);
    try {
      await (this.#options.foreign ? foreignDisks.ask(dirname(path), unlink, this.#clock) : unlink());
    } catch (error) {
      if (!isAbsent(error)) throw error;
    }
    this.#hasAside = false;
  }

  /** A name that no other program uses in that folder. */
  get #temporaryPath(): string {
    this.#temporaryName ??= temporaryName(this.path);
    return join(this.#temporaryFolder, this.#temporaryName);
  }

  /**
   * Where the replaced file is kept, under a name that the next start deletes like temporary files; undefined if none is kept.
   */
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
      // The rename may not survive a power loss, so the write counts as failed. Put back the old text, because a failed write
      // must not be visible.
      await this.#putBack(text);
      throw error;
    }
    this.#stamp = stamp;
    this.#text = text;
  }

  /** The folders to try, in order. */
  async #temporaryFolders(): Promise<string[]> {
    const better = await this.#options.foreign?.betterTemporaryFolder();
    const folders = [better, better, this.#options.temporaryFolder, this.#options.temporaryFolder];
    return folders.filter(folder => folder !== undefined);
  }

  /**
   * Writes a temporary file in the first folder and renames it. Falls back to the next folder if the file was deleted by a
   * cleanup tool, or the folder is not writable or on another file system.
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
        // Outside the retries: an error here, such as EPERM of another file, is final.
        await before.record?.(stamp);
        // If the rename was blocked, an editor may have saved in between, so each try checks the file again.
        await retryBlocked(this.#clock, async () => {
          await before.keep?.();
          const { assertUnchanged = () => {} } = before;
          // A later change of the replaced file can only be found if its text was compared here.
          const path = before.assertUnchanged === undefined ? undefined : this.#asidePath;
          this.#hasAside ||= path !== undefined;
          await this.#fileSystem.replace(this.#temporaryPath, this.path, assertUnchanged, path);
          const replaced = this.#stamp;
          this.#replaced =
            path === undefined || replaced === undefined ? undefined : { path, stamp: replaced, text: this.#text };
          // The file is ours from here on, even if syncing the folder fails.
          this.#stamp = stamp;
        });
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

  /** Removes the file durably. */
  async remove(): Promise<void> {
    await retryBlocked(this.#clock, () => this.#fileSystem.unlink(this.path));
    await syncFolder(dirname(this.path), this.#fileSystem, this.#clock);
    this.#stamp = undefined;
    this.#text = null;
  }

  /** Restores what the file had before the failed write, if the disk allows it. */
  async #putBack(written: string): Promise<void> {
    const before = this.#text;
    if (before === undefined) return;
    try {
      // Do not overwrite an edit that somebody made since then.
      if ((await this.read()) !== written) return;
      const replaced = this.#replaced;
      if (before === null) await this.#fileSystem.unlink(this.path);
      // Renaming the old file back keeps its stamp, by which a start recognizes it.
      else if (replaced !== undefined && sameStamp(await stampOf(replaced.path), replaced.stamp))
        await this.#fileSystem.rename(replaced.path, this.path);
      else {
        await this.#writeTemporary(before);
        await this.#fileSystem.rename(this.#temporaryPath, this.path);
      }
      this.#replaced = undefined;
      this.#stamp = await stampOf(this.path);
      this.#text = before;
    } catch {
      // The disk refuses this too. The next read finds the new text and treats it as a hand edit.
      await this.#removeTemporary().catch(() => {});
    }
  }

  /** Removes the permissions of an existing file that go beyond `mode`. */
  async makePrivate(): Promise<void> {
    const { mode } = this.#options;
    if (process.platform === "win32" || this.#stamp === undefined) return;
    const handle = await this.#fileSystem.open(this.path, readFlags);
    try {
      if ((fstatSync(handle.fd).mode & 0o777 & ~mode) !== 0) await handle.chmod(mode);
    } finally {
      await handle.close();
    }
  }

  /** `written` is called when the text is written but not synced yet. */
  async #writeTemporary(text: string, written = () => {}): Promise<FileStamp> {
    const rights = await rightsAt(this.path, this.#options.mode);
    try {
      const handle = await this.#openTemporary(rights.mode);
      try {
        await giveRights(handle, rights);
        await handle.writeFile(text);
        written();
        await handle.sync();
        const { size, mtimeMs, ino, birthtimeMs: created } = fstatSync(handle.fd);
        return { size, mtimeMs, ino, created };
      } finally {
        await handle.close();
      }
    } catch (error) {
      await this.#removeTemporary();
      throw error;
    }
  }

  /** "wx" creates a new file and never follows a link. */
  async #openTemporary(mode: number): Promise<FileHandle> {
    try {
      return await this.#fileSystem.open(this.#temporaryPath, "wx", mode);
    } catch (error) {
      if (systemErrorCode(error) !== "EEXIST") throw error;
    }
    // A crash left it behind, or another program put it there.
    await this.#removeTemporary();
    return this.#fileSystem.open(this.#temporaryPath, "wx", mode);
  }

  async #removeTemporary(): Promise<void> {
    try {
      await retryBlocked(this.#clock, () => this.#fileSystem.unlink(this.#temporaryPath));
    } catch (error) {
      if (!isAbsent(error)) throw error;
    }
  }
}

/** A unique name in its folder; the next start removes such files. */

/** Whether there is no such file, or its folder is now a file, as `.git` becomes when git's folder is moved. */
function isAbsent(error: unknown): boolean {
  return ["ENOENT", "ENOTDIR"].includes(systemErrorCode(error) ?? "");
}

/** Whether the temporary file or its folder caused the failure, and not another step of the write. */
function isUnusable(temporaryPath: string, error: unknown): boolean {
  const isOfIt = error instanceof Error && "path" in error && error.path === temporaryPath;
  // If a rename is denied, the target is the reason, not the temporary file.
  const isRename = isOfIt && "syscall" in error && error.syscall === "rename";
  const codes = isRename ? ["ENOENT", "ENOTDIR", "EXDEV"] : ["ENOENT", "ENOTDIR", "EXDEV", "EACCES", "EPERM", "EROFS"];
  return isOfIt && codes.includes(systemErrorCode(error) ?? "");
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
    // The move may not survive a power loss, so undo it.
    await fileSystem.rename(to, from).catch(() => {});
    throw error;
  }
  return true;
}

/** Bytes of a file that is copied before it is replaced. */
const maxKeptBytes = 64 * 1024 * 1024;
/** How often to copy a file again that changed while it was copied. */
const maxCopies = 20;

/**
 * Copies a file durably, and again if it changes before the copy is on the disk; never overwrites a file. A link is copied as a
 * link, because its target is not ours. Returns false if there is no file. Throws the system's error, or an Error for a file that
 * keeps changing; then there is no copy.
 */
export async function keepFile(
  from: string,
  to: string,
  fileSystem: FileSystem = realFileSystem,
  clock: Clock = systemClock,
): Promise<boolean> {
  for (let copies = 0; copies < maxCopies; copies++) {
    const before = await readAsItIs(from, fileSystem, clock);
    if (before === undefined) return false;
    if (typeof before === "string") await symlink(before, to);
    else await writeCopy(to, before, fileSystem);
    try {
      await syncFolder(dirname(to), fileSystem, clock);
      const after = await readAsItIs(from, fileSystem, clock);
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
    // A partial copy would be mistaken for a complete one.
    await fileSystem.unlink(to).catch(() => {});
    throw error;
  } finally {
    await copy.close();
  }
}

/** A file's content or a link's target; undefined if there is nothing. */
async function readAsItIs(path: string, fileSystem: FileSystem, clock: Clock): Promise<Buffer | string | undefined> {
  try {
    const options = { maximumBytes: maxKeptBytes, fileSystem, clock };
    return (await readForeignFile(path, options))?.bytes;
  } catch (error) {
    const code = error instanceof UnreadableFileError ? systemErrorCode(error.cause) : undefined;
    if (code !== "ELOOP" && code !== "EMLINK") throw error;
    return readlink(path);
  }
}

interface FolderSync {
  running: Promise<void>;
  /** Starts when `running` has ended; requests made meanwhile share it. */
  next?: Promise<void> | undefined;
}
const folderSyncs = new WeakMap<FileSystem, Map<string, FolderSync>>();

/** Syncs a folder, with all entries made before the call. Concurrent calls share one sync. */
export function syncFolder(folder: string, fileSystem: FileSystem, clock: Clock = systemClock): Promise<void> {
  // Windows cannot open a folder; NTFS journals the rename itself.
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
  // The running sync may have begun before this entry was made, so wait for the next one.
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
