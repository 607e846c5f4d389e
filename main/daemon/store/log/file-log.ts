import { randomBytes } from "node:crypto";
import { fstatSync } from "node:fs";
import { mkdir, open, readdir, readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import pLimit from "p-limit";
import type { Clock } from "../../../clock.ts";
import { syncFolder } from "../../../files/durable-text-file.ts";
import { type FileSystem, syncFile, systemErrorCode, writeAll } from "../../../files/file-system.ts";
import { AppendError, type Appending, type CommitLog, type LogNumber, type OpenedLog } from "./commit-log.ts";
import { type Frame, formatFrame } from "./frame.ts";
import { type FoundSegment, recover } from "./recover.ts";

export interface FileLogOptions {
  readonly folder: string;
  readonly fileSystem: FileSystem;
  readonly clock: Clock;
  /** Called before each write; throws if the home is no longer this daemon's. */
  assertHeld(): void;
  onProblem(message: string, context: { readonly [name: string]: unknown }): void;
}

/** Says in the folder of a log that it is a copy. */
const copyName = "copy";

/** For `open` to tell: positions of the log that this is a copy of are not to count. Throws the system's error. */
export async function markCopied(folder: string): Promise<void> {
  await using handle = await open(join(folder, copyName), "w", 0o600);
  await handle.sync();
}

/** A segment is closed behind so many bytes; what the histories have can then go, file by file. */
const segmentBytes = 4 * 1024 * 1024;
/** What one write takes at most, but for an entry that is larger by itself. */
const groupBytes = 1024 * 1024;
/** The most that the log keeps of what the histories do not have; from half of it on everything waits, at most so long. */
const largestLog = 64 * 1024 * 1024;
const longestPause = 500;
const segmentName = /^(?<sequence>\d{10})\.log$/;

interface Segment {
  readonly path: string;
  readonly sequence: number;
  bytes: number;
  /** Of its last entry. */
  end: LogNumber;
}

interface OpenSegment extends Segment {
  readonly handle: Awaited<ReturnType<FileSystem["open"]>>;
}

interface Waiting extends Appending {
  resolve(): void;
  reject(error: AppendError): void;
}

/**
 * The log as files of lines in a folder. What comes while one write and its sync run goes into the next: one sync for all
 * that waited, of whatever documents. A segment that a write or sync failed in is never touched again: the next one begins
 * with the number of what was durable, so that whatever the disk makes of the rest does not count.
 */
export class FileLog implements CommitLog {
  readonly shared = undefined;
  readonly snapshots = undefined;
  readonly problem = undefined;
  #id: string;
  readonly #options: FileLogOptions;
  readonly #waiting: Waiting[] = [];
  readonly #rotations: Pick<PromiseWithResolvers<void>, "resolve" | "reject">[] = [];
  /** Those that are no longer written to, the oldest first. */
  #closed: Segment[];
  #segment: OpenSegment | undefined;
  /** Created in the background, so that nobody waits for it. */
  #spare: Promise<OpenSegment | undefined> | undefined;
  #sequence: number;
  #newest: LogNumber;
  #released: LogNumber;
  /** What is closed holds damage, which is kept for a person to review. */
  #hasDamaged = false;
  #running: Promise<void> | undefined;
  readonly #releaseInTurn = pLimit(1);
  #isClosed = false;

  private constructor(
    options: FileLogOptions,
    id: string,
    newest: LogNumber,
    released: LogNumber,
    closed: readonly Segment[],
  ) {
    this.#options = options;
    this.#id = id;
    this.#newest = newest;
    this.#released = released;
    this.#closed = [...closed];
    this.#sequence = closed.at(-1)?.sequence ?? 0;
  }

  /** Reads what is there and begins a segment behind it. Throws the system's error. */
  static async open(options: FileLogOptions): Promise<OpenedLog> {
    const { folder, onProblem } = options;
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const all = await readdir(folder);
    const names = all.filter(name => segmentName.test(name)).sort();
    const found: FoundSegment[] = [];
    for (const name of names) found.push({ path: join(folder, name), bytes: await readFile(join(folder, name)) });
    const { id, released, entries, newest, lost, ends } = recover(found);
    const segments = found.map(({ path, bytes }) => ({
      path,
      sequence: sequenceOf(path),
      bytes: bytes.length,
      end: ends.get(path) ?? newest,
    }));
    if (lost.length > 0)
      onProblem("the log is damaged: changes that were acknowledged cannot be read", { entries: lost.length, folder });
    const log = new FileLog(options, id ?? newId(), newest, released, segments);
    log.#hasDamaged = lost.length > 0;
    await syncFolder(dirname(folder), options.fileSystem, options.clock);
    // What a process that was killed left in the system's memory is not to be lost behind the new one's header.
    const last = segments.at(-1);
    if (last !== undefined) await syncFile(last.path, options.fileSystem);
    // On a full disk what is there is served all the same.
    await log.#begin().catch(error => log.#reportUnwritable(error));
    return { log, entries, lost: lost.length, isCopy: all.includes(copyName) };
  }

  get id(): string {
    return this.#id;
  }

  get newest(): LogNumber {
    return this.#newest;
  }

  append(appending: Appending): Promise<void> {
    if (this.#isClosed) return Promise.reject(new AppendError(new Error("the log is closed"), false));
    return new Promise((resolve, reject) => {
      this.#waiting.push({ ...appending, resolve, reject });
      this.#wake();
    });
  }

  /** Nobody else does. */
  async follow(): Promise<void> {}

  release(through: LogNumber): Promise<void> {
    return this.#releaseInTurn(() => this.#release(through));
  }

  async #release(through: LogNumber): Promise<void> {
    this.#released = Math.max(this.#released, through);
    const done = this.#closed.findIndex(({ end }) => end > this.#released);
    const { fileSystem, folder, clock } = this.#options;
    for (let left = done === -1 ? this.#closed.length : done; left > 0; left--) {
      const path = this.#closed[0]?.path ?? "";
      try {
        if (this.#hasDamaged) await fileSystem.rename(path, `${path}.damaged`);
        else await fileSystem.unlink(path);
      } catch (error) {
        if (systemErrorCode(error) !== "ENOENT") throw error;
      }
      // One by one, the oldest first: a later one tells what of an earlier one counts.
      await syncFolder(folder, fileSystem, clock);
      this.#closed.shift();
    }
    if (done === -1) this.#hasDamaged = false;
  }

  async renew(): Promise<void> {
    await this.#idle();
    this.#id = newId();
    await this.seal();
    const { folder, fileSystem, clock } = this.#options;
    try {
      await fileSystem.unlink(join(folder, copyName));
    } catch (error) {
      if (systemErrorCode(error) === "ENOENT") return;
      throw error;
    }
    await syncFolder(folder, fileSystem, clock);
  }

  async erase(through: LogNumber): Promise<void> {
    await this.release(through);
    const { folder, fileSystem, clock } = this.#options;
    const damaged = (await readdir(folder)).filter(name => name.endsWith(".damaged"));
    for (const name of damaged) await fileSystem.unlink(join(folder, name));
    if (damaged.length > 0) await syncFolder(folder, fileSystem, clock);
  }

  get hasSealed(): boolean {
    return this.#closed.length > 0;
  }

  /** Closes the segment that is written to, between two writes. */
  seal(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#rotations.push({ resolve, reject });
      this.#wake();
    });
  }

  async #idle(): Promise<void> {
    while (this.#running !== undefined) await this.#running;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#idle();
    const spare = await this.#spare;
    for (const open of [spare, this.#segment]) await open?.handle.close().catch(() => {});
    this.#segment = undefined;
  }

  #wake(): void {
    this.#running ??= this.#run().finally(() => {
      this.#running = undefined;
      if (this.#waiting.length > 0 || this.#rotations.length > 0) this.#wake();
    });
  }

  async #run(): Promise<void> {
    // What is asked for in one turn of the event loop is one write.
    await Promise.resolve();
    while (this.#waiting.length > 0 || this.#rotations.length > 0) {
      const rotations = this.#rotations.splice(0);
      if (rotations.length > 0) {
        const begun = this.#begin();
        for (const { resolve, reject } of rotations) begun.then(resolve, reject);
        await begun.catch(() => {});
        continue;
      }
      // If the histories cannot keep up, writes are slowed down long before the space is used up.
      if (this.#excess > 0) await this.#options.clock.delay(this.#excess * longestPause);
      await this.#writeGroup();
    }
  }

  async #writeGroup(): Promise<void> {
    const group: Waiting[] = [];
    let text = "";
    let number = this.#newest;
    for (let next = this.#waiting[0]; next !== undefined; next = this.#waiting[0]) {
      let lines = "";
      const first = number;
      for (const content of next.entries) {
        number += 1;
        lines += this.#frame(number, content);
      }
      if (group.length > 0 && text.length + lines.length > groupBytes) {
        number = first;
        break;
      }
      text += lines;
      group.push(next);
      this.#waiting.shift();
    }
    const refuse = (error: unknown, isOutcomeUnknown: boolean) => {
      for (const { reject } of group) reject(new AppendError(error, isOutcomeUnknown));
    };
    const bytes = Buffer.from(text);
    let segment: OpenSegment;
    try {
      this.#options.assertHeld();
      if (this.#excess >= 1) throw new Error("the histories cannot be written, and the log is full");
      segment = await this.#segmentFor(bytes.length);
    } catch (error) {
      return refuse(error, false);
    }
    try {
      await writeAll(segment.handle, bytes, segment.bytes);
      await segment.handle.datasync();
    } catch (error) {
      return refuse(error, !(await this.#abandon()));
    }
    segment.bytes += bytes.length;
    if (segment.bytes > segmentBytes / 2) this.#spare ??= this.#make().catch(() => undefined);
    for (const { entries, committed, resolve } of group) {
      const first = this.#newest + 1;
      this.#newest += entries.length;
      segment.end = this.#newest;
      try {
        committed(first);
      } catch (error) {
        // What is durable is so, whatever becomes of its telling.
        this.#options.onProblem("a change could not be published to all watchers", { error: String(error) });
      }
      resolve();
    }
  }

  /** How much of the room that may be taken only slowly is taken: 0 for none, 1 for all. */
  get #excess(): number {
    const bytes = this.#closed.reduce((sum, segment) => sum + segment.bytes, this.#segment?.bytes ?? 0);
    return Math.max(0, bytes / largestLog - 0.5) * 2;
  }

  /** The segment for so many bytes more. Throws the system's error if there is none. */
  async #segmentFor(bytes: number): Promise<OpenSegment> {
    const segment = this.#segment;
    if (segment !== undefined && fstatSync(segment.handle.fd).nlink === 0) {
      this.#options.onProblem("the log was deleted; continuing in a new file", { path: segment.path });
      this.#segment = undefined;
      await segment.handle.close().catch(() => {});
      await (await this.#spare)?.handle.close().catch(() => {});
      this.#spare = undefined;
    } else if (segment !== undefined) {
      if (segment.bytes + bytes <= segmentBytes) return segment;
      // A disk that has no room for another file may have it in this one.
      const isNext = await this.#begin().then(
        () => true,
        () => false,
      );
      if (!isNext && this.#segment !== undefined) return this.#segment;
    }
    if (this.#segment === undefined) await this.#begin();
    if (this.#segment === undefined) throw new Error("the log has no file");
    return this.#segment;
  }

  /**
   * Lets go of a segment that a write failed in. True if what was written counts for nothing from now on: the next one says
   * so. Else the next append tries again to begin one.
   */
  async #abandon(): Promise<boolean> {
    await this.#closeSegment();
    try {
      await this.#begin();
      return true;
    } catch (error) {
      this.#reportUnwritable(error);
      return false;
    }
  }

  #reportUnwritable(error: unknown): void {
    const message = "cannot write the log; changes are refused until it can be written again";
    this.#options.onProblem(message, { error: String(error) });
  }

  async #closeSegment(): Promise<void> {
    const segment = this.#segment;
    this.#segment = undefined;
    if (segment === undefined) return;
    const { path, sequence, bytes } = segment;
    this.#closed.push({ path, sequence, bytes, end: this.#newest });
    await segment.handle.close().catch(() => {});
  }

  /** Goes on in a new segment, whose header is on the disk before anything else is in it. Throws the system's error. */
  async #begin(): Promise<void> {
    const spare = await this.#spare;
    this.#spare = undefined;
    const next = spare ?? (await this.#make());
    const after = this.#newest;
    const header = Buffer.from(
      this.#frame(after, { kind: "segment", after }) +
        this.#frame(after, { kind: "checkpoint", through: this.#released }),
    );
    try {
      await writeAll(next.handle, header, 0);
      await next.handle.datasync();
    } catch (error) {
      await next.handle.close().catch(() => {});
      try {
        await this.#options.fileSystem.unlink(next.path);
        await syncFolder(this.#options.folder, this.#options.fileSystem, this.#options.clock);
      } catch {
        // Its header may be there after all, and then what is in the one before counts only up to it.
        await this.#closeSegment();
      }
      throw error;
    }
    next.bytes = header.length;
    next.end = after;
    await this.#closeSegment();
    this.#segment = next;
  }

  /** An empty segment, whose name is on the disk. */
  async #make(): Promise<OpenSegment> {
    const { folder, fileSystem, clock } = this.#options;
    await mkdir(folder, { recursive: true, mode: 0o700 });
    this.#sequence += 1;
    const path = join(folder, `${String(this.#sequence).padStart(10, "0")}.log`);
    const handle = await fileSystem.open(path, "wx", 0o600);
    try {
      await syncFolder(dirname(path), fileSystem, clock);
    } catch (error) {
      await handle.close().catch(() => {});
      await fileSystem.unlink(path).catch(() => {});
      throw error;
    }
    return { path, sequence: this.#sequence, end: this.#newest, handle, bytes: 0 };
  }

  #frame(number: LogNumber, content: Frame["content"]): string {
    return formatFrame({ log: this.id, number, durable: this.#newest, content });
  }
}

function sequenceOf(path: string): number {
  return Number(/(?<sequence>\d+)\.log$/.exec(path)?.groups?.["sequence"]);
}

function newId(): string {
  return randomBytes(6).toString("hex");
}
