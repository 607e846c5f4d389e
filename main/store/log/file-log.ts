import { fstatSync } from "node:fs";
import { mkdir, readdir, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import pLimit from "p-limit";
import { syncFolder } from "../../files/durable-text-file.ts";
import { type FileSystem, ignoreMissing, syncFile, writeAll } from "../../files/file-system.ts";
import type { LogNumber, NewFinding, Position } from "../types.ts";
import {
  AppendError,
  type AppendRequest,
  type CommitLog,
  type Committed,
  type LogOptions,
  type OpenedLog,
} from "./commit-log.ts";
import { formatFrame, formatHeader, type LogOrigin } from "./frame.ts";
import { copyMarkerIn, describeRenewal, maxLogBytes, readLog, takeStop } from "./log-folder.ts";
import { newLogId, numberOfPosition, renewed } from "./log-identity.ts";
import { type ClosedSegment, type Recovered, recover } from "./recover.ts";

export interface FileLogOptions extends LogOptions {
  /**
   * The newest positions that other files name. `stop`: what the last clean stop marked the log with; undefined after any other end, so
   * that the histories must be asked.
   */
  witnesses?(stop: string | undefined): Promise<readonly Position[]>;
  /** Called with damage that a person should know. Await it before anything that removes what it is about. */
  onDamage(damage: NewFinding): Promise<void>;
}

/** A segment is closed at this size, and deleted when the histories contain its entries. */
const segmentBytes = 4 * 1024 * 1024;
/** The approximate maximum size of one write, except for a single larger append. */
const maxGroupBytes = 1024 * 1024;
/** The maximum delay of a write, in milliseconds. */
const maxWriteDelay = 500;

/** The end of the name of a segment that renews the log, until it is complete. */
const renewalSuffix = ".new";

interface OpenSegment {
  path: string;
  bytes: number;
  readonly handle: Awaited<ReturnType<FileSystem["open"]>>;
}

interface PendingAppend extends AppendRequest {
  resolve(): void;
  reject(error: AppendError): void;
}

/**
 * The log as files of lines in a folder. Appends during a write are grouped into the next one, so that all of them share one sync. After
 * a failed write or sync, the segment is never written again: the header of the next one has the last durable number, which invalidates
 * whatever the disk has of the failed write.
 */
export class FileLog implements CommitLog {
  id: string;
  newest: LogNumber;
  readonly isAuthority = false;
  readonly signature = {};
  #origin: LogOrigin;
  readonly #options: FileLogOptions;
  readonly #queue: PendingAppend[] = [];
  readonly #writing = pLimit(1);
  readonly #releasing = pLimit(1);
  /** Oldest first. */
  #closed: ClosedSegment[];
  #segment: OpenSegment | undefined;
  /** The next segment, created in the background so that no append waits for it. */
  #spare: Promise<OpenSegment | undefined> | undefined;
  #sequence: number;
  #released: LogNumber;
  /** A closed segment is damaged; it is kept for a person to review. */
  #hasDamaged = false;
  /** Entries for the first segment of a renewed log; undefined once that is on the disk. */
  #carried: readonly Committed[] | undefined;
  #isClosed = false;

  private constructor(options: FileLogOptions, { id, newest, released, origin, segments }: Recovered) {
    this.#options = options;
    this.id = id ?? newLogId();
    this.#origin = origin;
    this.newest = newest;
    this.#released = released;
    this.#closed = [...segments];
    this.#sequence = Number.parseInt(basename(segments.at(-1)?.path ?? "0"), 10);
  }

  /** Reads the existing segments and starts a new one. Throws the system's error. */
  static async open(options: FileLogOptions): Promise<OpenedLog> {
    const { folder, fileSystem, clock, onDamage } = options;
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const recovered = recover(await readLog(folder));
    const { entries, newest, lost, segments } = recovered;
    const log = new FileLog(options, recovered);
    if (lost.length > 0)
      options.onProblem("entries of the log cannot be read", { log: recovered.id, entries: lost.length });
    const known = (await options.witnesses?.(await takeStop(folder, fileSystem))) ?? [];
    const isRestored = (await stat(copyMarkerIn(folder)).catch(ignoreMissing)) !== undefined;
    const isCopy = isRestored || recovered.isCopy;
    const isBehind = known.some(position => numberOfPosition(position, log.#identity) === undefined);
    log.#hasDamaged = isBehind || lost.length > 0;
    // Who restored a backup knows that.
    if (log.#hasDamaged || (isCopy && !isRestored))
      await onDamage({ ...describeRenewal(folder, recovered, isBehind), isIncident: true });
    if (log.#hasDamaged || isCopy) {
      // Continues under a new id, behind every known number, with the entries that the histories may lack.
      const { id, origin, newest: last } = renewed(log.#identity, known, { lost, ...(isCopy && { copiedAt: newest }) });
      log.id = id;
      log.#origin = origin;
      log.newest = last;
      log.#carried = entries;
    }
    await syncFolder(dirname(folder), fileSystem, clock);
    // A killed process may have left entries that are not synced. A power loss must not lose them once a new header counts them.
    const last = segments.at(-1);
    if (last !== undefined) await syncFile(last.path, fileSystem);
    // On a full disk, the existing entries are still served, and the next append tries to start a segment again.
    await log.#tryToStart();
    return { log, entries, lost: log.#origin.lost };
  }

  get #identity() {
    return { id: this.id, origin: this.#origin, newest: this.newest };
  }

  get copiedAt(): LogNumber | undefined {
    return this.#origin.copiedAt;
  }

  numberOf(position: Position | undefined): LogNumber {
    return (position && numberOfPosition(position, this.#identity)) || 0;
  }

  append(request: AppendRequest): Promise<void> {
    if (this.#isClosed) return Promise.reject(new AppendError(new Error("the log is closed"), false));
    return new Promise((resolve, reject) => {
      this.#queue.push({ ...request, resolve, reject });
      void this.#writing(() => this.#writeGroup());
    });
  }

  /** Nothing to do: only this home appends. */
  async subscribe(): Promise<void> {}

  release(through: LogNumber): Promise<void> {
    return this.#releasing(async () => {
      if (this.#carried !== undefined) return;
      this.#released = Math.max(this.#released, through);
      const done = this.#closed.findIndex(({ end }) => end > this.#released);
      const { fileSystem, folder, clock } = this.#options;
      for (let remaining = done === -1 ? this.#closed.length : done; remaining > 0; remaining--) {
        const path = this.#closed[0]?.path ?? "";
        const removed = this.#hasDamaged ? fileSystem.rename(path, `${path}.damaged`) : fileSystem.unlink(path);
        await removed.catch(ignoreMissing);
        // One by one, oldest first: the header of a later segment says which lines of the earlier ones are valid.
        await syncFolder(folder, fileSystem, clock);
        this.#closed.shift();
      }
      if (done === -1) this.#hasDamaged = false;
    });
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

  /** Starts a new segment between two writes. */
  async seal(): Promise<void> {
    await this.#writing(() => this.#startSegment());
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#writing(async () => {
      for (const open of [await this.#spare, this.#segment]) await open?.handle.close().catch(() => {});
      this.#segment = undefined;
    });
  }

  /** Writes the appends that wait, as far as they fit into one write. Those of one turn of the event loop are together. */
  async #writeGroup(): Promise<void> {
    if (this.#queue.length === 0) return;
    // If the histories cannot keep up, writes are slowed down long before the space is used up.
    if (this.#backpressure > 0) await this.#options.clock.delay(this.#backpressure * maxWriteDelay);
    const group: PendingAppend[] = [];
    let text = "";
    let number = this.newest;
    for (let next = this.#queue[0]; next !== undefined; next = this.#queue[0]) {
      let lines = "";
      for (const content of next.entries)
        lines += formatFrame({ log: this.id, number: ++number, durable: this.newest, content });
      if (group.length > 0 && text.length + lines.length > maxGroupBytes) break;
      text += lines;
      group.push(next);
      this.#queue.shift();
    }
    const bytes = Buffer.from(text);
    let segment: OpenSegment | undefined;
    try {
      this.#options.assertHeld();
      if (this.#backpressure >= 1) throw new Error("the histories cannot be written, and the log is full");
      segment = await this.#segmentFor(bytes.length);
      await writeAll(segment.handle, bytes, segment.bytes);
      await segment.handle.datasync();
    } catch (error) {
      // The header of the next segment invalidates a failed write. If none can be started, the outcome is unknown.
      if (segment !== undefined) await this.#closeSegment();
      const isOutcomeUnknown = segment !== undefined && !(await this.#tryToStart());
      for (const { reject } of group) reject(new AppendError(error, isOutcomeUnknown));
      return;
    }
    segment.bytes += bytes.length;
    if (segment.bytes > segmentBytes / 2) this.#spare ??= this.#createSegment().catch(() => undefined);
    for (const { entries, committed, resolve } of group) {
      const first = this.newest + 1;
      this.newest += entries.length;
      try {
        committed(first);
      } catch (error) {
        // The entries are durable, so the append succeeded.
        this.#options.onProblem("a change could not be published to all watchers", { error: String(error) });
      }
      resolve();
    }
  }

  /** How far the log is into the second half of `maxLogBytes`, by which writes are delayed: 0 below it, 1 when the log is full. */
  get #backpressure(): number {
    const bytes = this.#closed.reduce((sum, segment) => sum + segment.bytes, this.#segment?.bytes ?? 0);
    return Math.max(0, bytes / maxLogBytes - 0.5) * 2;
  }

  /** The segment for the next write of a size. Throws the system's error if none can be started. */
  async #segmentFor(bytes: number): Promise<OpenSegment> {
    const segment = this.#segment;
    if (segment !== undefined && fstatSync(segment.handle.fd).nlink === 0) {
      const message = `${segment.path}, a file of the log, was deleted while the daemon was running. The daemon had its changes in memory and continued in a new file. Nothing is lost unless the daemon was killed before the files of the repositories had them. Find out which program deletes files in the home.`;
      await this.#options.onDamage({ message });
      this.#segment = undefined;
      await segment.handle.close().catch(() => {});
      await (await this.#spare)?.handle.close().catch(() => {});
      this.#spare = undefined;
    } else if (segment !== undefined) {
      if (segment.bytes + bytes <= segmentBytes) return segment;
      // A disk without room for another file may still have room in this one.
      await this.#startSegment().catch(() => {});
    }
    return this.#segment ?? this.#startSegment();
  }

  /** Continues in a new segment; reports the failure if that is not possible. The next append tries again. */
  #tryToStart(): Promise<boolean> {
    return this.#startSegment().then(
      () => true,
      error => {
        const message = "cannot write the log; changes are refused until it can be written again";
        this.#options.onProblem(message, { error: String(error) });
        return false;
      },
    );
  }

  async #closeSegment(): Promise<void> {
    const segment = this.#segment;
    this.#segment = undefined;
    if (segment === undefined) return;
    const { path, bytes } = segment;
    this.#closed.push({ path, bytes, end: this.newest });
    await segment.handle.close().catch(() => {});
  }

  /** Continues in a new segment. Its header is durable before any entry is written to it. Throws the system's error. */
  async #startSegment(): Promise<OpenSegment> {
    const spare = await this.#spare;
    this.#spare = undefined;
    // The segment that renews a log must appear with all of its entries.
    const isRenewal = this.#carried !== undefined;
    const next = spare ?? (await this.#createSegment(isRenewal));
    const { ino: inode, birthtimeMs: created } = fstatSync(next.handle.fd);
    const [file, released, carried] = [{ inode, created }, this.#released, this.#carried ?? []];
    const header = Buffer.from(formatHeader({ ...this.#identity, file, released, carried }));
    try {
      await writeAll(next.handle, header, 0);
      await next.handle.datasync();
      if (isRenewal) await this.#publishRenewal(next);
    } catch (error) {
      await next.handle.close().catch(() => {});
      try {
        await this.#options.fileSystem.unlink(next.path);
        await syncFolder(this.#options.folder, this.#options.fileSystem, this.#options.clock);
      } catch {
        // If the header is on disk all the same, later lines in the current segment would be invalid.
        await this.#closeSegment();
      }
      throw error;
    }
    next.bytes = header.length;
    await this.#closeSegment();
    this.#segment = next;
    return next;
  }

  async #publishRenewal(segment: OpenSegment): Promise<void> {
    const { folder, fileSystem, clock } = this.#options;
    const path = segment.path.slice(0, -renewalSuffix.length);
    await fileSystem.rename(segment.path, path);
    segment.path = path;
    await fileSystem.unlink(copyMarkerIn(folder)).catch(ignoreMissing);
    await syncFolder(folder, fileSystem, clock);
    this.#carried = undefined;
    // Only now: the new segment has their entries.
    for (const closed of this.#closed) closed.end = 0;
  }

  /** Creates an empty segment, whose name is durable. */
  async #createSegment(isRenewal = false): Promise<OpenSegment> {
    const { folder, fileSystem, clock } = this.#options;
    await mkdir(folder, { recursive: true, mode: 0o700 });
    this.#sequence += 1;
    const name = `${String(this.#sequence).padStart(10, "0")}.log`;
    const path = join(folder, isRenewal ? `${name}${renewalSuffix}` : name);
    const handle = await fileSystem.open(path, isRenewal ? "w" : "wx", 0o600);
    try {
      await syncFolder(dirname(path), fileSystem, clock);
    } catch (error) {
      await handle.close().catch(() => {});
      await fileSystem.unlink(path).catch(() => {});
      throw error;
    }
    return { path, handle, bytes: 0 };
  }
}
