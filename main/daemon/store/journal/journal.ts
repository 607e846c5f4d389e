import { fstatSync } from "node:fs";
import { appendFile, readdir, stat } from "node:fs/promises";
import { join, sep } from "node:path";
import type { Config } from "../../../../shared/config.ts";
import { type Clock, timeText } from "../../../clock.ts";
import { type FileStamp, sameStamp, syncFolder } from "../../../files/durable-text-file.ts";
import { type FileSystem, syncFile, systemErrorCode, writeAll } from "../../../files/file-system.ts";
import { endlessTurn, type Turn } from "../../yielding.ts";
import type { Position } from "../log/commit-log.ts";
import type { RecordedDifference } from "../store.ts";
import {
  applyChanges,
  type ChangeRecord,
  type ForgetRecord,
  formatLines,
  type JournalLine,
  type JournalRecord,
  noHash,
  parseLine,
  type TextRecord,
} from "./record.ts";
import {
  JournalDamageError,
  lineNumber,
  linesBackward,
  linesForward,
  readSegment,
  readTail,
  SegmentMissingError,
} from "./segment.ts";

/** How much of a repository's history is kept: whichever is reached first. */
export interface Retention {
  readonly revisions: number;
  readonly bytes: number;
}

export interface JournalOptions {
  readonly id: string;
  readonly folder: string;
  readonly fileSystem: FileSystem;
  readonly clock: Clock;
  retention(): Retention;
  /** The journal is not as it was written. */
  onDamage(message: string): void;
}

/** One of a journal's files, `<id>.<generation>-<revision>.jsonl`: a checkpoint and the revisions after it. */
export interface Segment {
  readonly path: string;
  /** Rises when the journal is written anew as a whole; then only the newest generation counts. */
  readonly generation: number;
  /** Of its checkpoint. */
  readonly revision: number;
}

/** Where a journal ends. */
export interface JournalHead {
  readonly segment: Segment | undefined;
  readonly bytes: number;
  readonly hash: string;
  readonly revision: number;
  readonly lineage: string;
  /** The newest that it tells of the file's text; undefined if that cannot be trusted. */
  readonly textRecord?: TextRecord;
  /** Where the log has the newest revision, or later; undefined if that is not known. */
  readonly position?: Position;
}

/** A segment holds a part of what is kept, so that compaction can drop whole ones. */
const segmentShare = 10;
const largestSegment: Retention = { revisions: 1_000, bytes: 4 * 1024 * 1024 };
const segmentName = /^(?<id>[A-Za-z0-9_-]+)\.(?<generation>\d+)-(?<revision>\d+)\.jsonl$/;

/** The journal's segments in a folder, by repository. */
export async function listSegments(folder: string): Promise<Map<string, Segment[]>> {
  const byRepository = new Map<string, Segment[]>();
  // `join` reads every character, of every repository at each start.
  const inFolder = join(folder, sep);
  for (const name of await readdir(folder)) {
    const { id, generation, revision } = segmentName.exec(name)?.groups ?? {};
    if (id === undefined) continue;
    const segments = byRepository.get(id) ?? [];
    byRepository.set(id, segments);
    segments.push({ path: `${inFolder}${name}`, generation: Number(generation), revision: Number(revision) });
  }
  for (const segments of byRepository.values())
    segments.sort((one, other) => one.generation - other.generation || one.revision - other.revision);
  return byRepository;
}

/**
 * The revisions of one repository, append-only, each chained to the one before by its hash. It is cut into segments,
 * each beginning with a checkpoint, so that compaction is the removal of whole files beside the work, and opening reads
 * the newest one's end alone. Appends come one at a time: the repository's queue sees to that. Reading can go on beside.
 */
export class Journal {
  readonly #options: JournalOptions;
  #segments: Segment[];
  #head: JournalHead | undefined;
  /** Where it ends for sure: what was appended behind may not be on the disk yet. */
  #synced: JournalHead | undefined;
  readonly #reported = new Set<string>();
  #compactionDue = false;
  #compactions = 0;

  /** `segments`: those that are there, the oldest first. */
  constructor(options: JournalOptions, segments: readonly Segment[]) {
    this.#options = options;
    this.#segments = [...segments];
  }

  /** Where it ends; undefined before it is open. Without a segment nothing was ever recorded. */
  get head(): JournalHead | undefined {
    return this.#head;
  }

  /** The oldest revision whose configuration and whose successors are kept, where `newest` is the newest that there is. */
  oldest(newest = this.#head?.revision ?? 0): number {
    const first = this.#segments[0]?.revision ?? this.#head?.revision ?? 0;
    return Math.max(first, newest - this.#options.retention().revisions);
  }

  /** Whether segments are being taken away. */
  get isCompacting(): boolean {
    return this.#compactions > 0;
  }

  get segments(): readonly Segment[] {
    return this.#segments;
  }

  /**
   * Reads the end, and takes away what a crash left there: a torn record, and revisions that the daemon had no time to
   * make true (their file is still `current`, the version that they were to replace). `known` is the greatest revision
   * that was given out, as far as others know: where the journal ends before it, its end is lost. Numbers then go on
   * behind all that may have been given out, so that none stands for two states, and one stays between, for which no
   * values were ever told.
   */
  async open(current: FileStamp | undefined, known: number): Promise<void> {
    await this.#dropOldGenerations();
    const isUnwritten = ({ record }: JournalLine) =>
      record.kind === "change" &&
      // What others know of was acknowledged: the file was put back since.
      record.revision > known &&
      record.replaces !== undefined &&
      sameStamp(record.replaces, current);
    let damagedLines = 0;
    let head: JournalHead = { segment: undefined, bytes: 0, hash: noHash, revision: 0, lineage: "" };
    for (let segment = this.#segments.at(-1); segment !== undefined; segment = this.#segments.at(-1)) {
      const isEnough = (line: JournalLine) => !isUnwritten(line) && textOf(line.record) !== undefined;
      const tail = await readTail(segment.path, this.#options.fileSystem, isEnough);
      const torn = tail.bytes > tail.whole;
      const kept = tail.lines.findIndex(line => !isUnwritten(line));
      const last = tail.lines[kept];
      if (torn) damagedLines += await this.#setAside(segment, tail.whole);
      if (last === undefined) {
        // The first record is not whole: the daemon died while it began this segment.
        await this.#options.fileSystem.unlink(segment.path);
        this.#segments.pop();
        continue;
      }
      const bytes = tail.lines[kept - 1]?.start ?? tail.whole;
      if (bytes < tail.bytes) await this.#truncate(segment.path, bytes);
      const { record, hash } = last;
      const records = tail.lines.slice(kept).map(({ record }) => record);
      const textRecord = damagedLines > 0 ? undefined : records.map(textOf).find(one => one !== undefined);
      const lineage = records.map(lineageOf).find(one => one !== undefined) ?? "";
      const position = damagedLines > 0 ? undefined : records.map(positionOf).find(one => one !== undefined);
      const optional = { ...(textRecord !== undefined && { textRecord }), ...(position !== undefined && { position }) };
      head = { segment, bytes, hash, revision: record.revision, lineage, ...optional };
      break;
    }
    const given = Math.max(known, head.revision + damagedLines);
    this.#head = head;
    this.#synced = head;
    if (given > head.revision) await this.#goOnBehind(given, head);
  }

  /** As before `open`. */
  close(): void {
    this.#head = undefined;
  }

  /** Records after the end are lost, and `next` followed them: continues after the lost ones. Throws the system's error. */
  async leap(next: number): Promise<void> {
    const head = this.#head;
    if (head !== undefined) await this.#goOnBehind(next, head);
  }

  /** One that has no records yet: they go on behind this revision. */
  beginBehind(revision: number): void {
    const head = this.#head;
    if (head === undefined || head.segment !== undefined || head.revision >= revision) return;
    this.#head = { ...head, revision };
    this.#synced = this.#head;
  }

  /** The end is lost: revisions up to `given` were told of, and what they were is not known. */
  async #goOnBehind(given: number, head: JournalHead): Promise<void> {
    this.#options.onDamage(`its end is lost: revisions ${head.revision + 1} to ${given} are lost`);
    const next: JournalHead = { ...head, revision: given + 1 };
    try {
      // Of a journal that is gone as a whole, the first append begins another.
      this.#head = head.segment === undefined ? next : await this.#begin(next, [], await this.replay());
      this.#synced = this.#head;
    } catch (error) {
      this.#head = undefined;
      throw error;
    }
  }

  /**
   * Adds records; `before` is the configuration before the first of them. Where `isDurable` is false, `sync` puts them on the
   * disk. Throws the system's error; then the journal is as it was when all of it was on the disk last.
   */
  async append(
    records: readonly (ChangeRecord | TextRecord | ForgetRecord)[],
    before: Config,
    isDurable = true,
  ): Promise<void> {
    const head = this.#head;
    if (head === undefined) throw new Error("the journal is closed");
    try {
      let [at, config, left] = [head, before, records];
      while (left.length > 0) {
        // A segment takes what it has room for, however much comes at once.
        const part = left.slice(0, this.#fitting(at, left));
        at = (await this.#extend(at, part, isDurable)) ?? (await this.#begin(at, part, config));
        this.#head = at;
        left = left.slice(part.length);
        if (left.length > 0) config = applyChanges(config, part.flatMap(changesOf));
      }
      if (isDurable) this.#markSynced(at);
    } catch (error) {
      await this.#cut();
      throw error;
    }
  }

  /**
   * Puts what was appended on the disk. Throws the system's error; then what was appended is taken back, for nobody knows
   * what the disk has of it.
   */
  async sync(): Promise<void> {
    const head = this.#head;
    if (head?.segment === undefined || head === this.#synced) return;
    try {
      await syncFile(head.segment.path, this.#options.fileSystem);
    } catch (error) {
      await this.#cut();
      throw error;
    }
    this.#markSynced(head);
  }

  /** All up to here is on the disk. */
  #markSynced(head: JournalHead): void {
    this.#synced = head;
    if (!this.#compactionDue || head.segment === undefined) return;
    this.#compactionDue = false;
    this.#compactions += 1;
    void this.#compact(head.segment).finally(() => {
      this.#compactions -= 1;
    });
  }

  async #cut(): Promise<void> {
    const head = this.#synced;
    if (head === undefined) return;
    this.#head = head;
    const begun = this.#segments.filter(
      ({ revision }) => head.segment === undefined || revision > head.segment.revision,
    );
    this.#segments = this.#segments.filter(one => !begun.includes(one));
    try {
      for (const { path } of begun.reverse()) await this.#options.fileSystem.unlink(path);
      if (head.segment !== undefined) await this.#truncate(head.segment.path, head.bytes);
    } catch {
      // Anyone who appends or opens next cuts it.
    }
  }

  /** Rebuilds the newest configuration from the last checkpoint on. Records that are damaged are left out, and told. */
  async replay(): Promise<Config> {
    const segment = this.#head?.segment;
    if (segment === undefined) return {};
    let config: Config = {};
    let changes: RecordedDifference[] = [];
    const bytes = await readSegment(segment.path);
    for (const { text, start } of [...linesBackward(bytes)].reverse()) {
      const record = parseLine(text)?.record;
      if (record === undefined) this.reportDamage(damaged(segment.path, bytes, start));
      else if (record.kind === "checkpoint") [config, changes] = [record.config, []];
      else changes.push(...changesOf(record));
    }
    return applyChanges(config, changes);
  }

  /**
   * Every record down to the oldest kept, the newest first, from revision `upTo` on. Throws JournalDamageError, or
   * SegmentMissingError if the journal is written anew meanwhile.
   */
  async *backward(upTo: number, turn: Turn = endlessTurn): AsyncGenerator<JournalRecord> {
    let expected: string | undefined;
    for (const segment of this.#segments.toReversed()) {
      const bytes = await this.#read(segment);
      if (bytes === undefined) return;
      for (const { text, start } of linesBackward(bytes)) {
        if (turn.isOver) await turn.pass();
        const line = parseLine(text);
        if (line === undefined || (expected !== undefined && line.hash !== expected))
          throw damaged(segment.path, bytes, start);
        expected = line.previous;
        if (line.record.revision <= upTo) yield line.record;
      }
    }
  }

  /**
   * The changes after revision `after` up to `upTo`, the oldest first. Throws JournalDamageError, or SegmentMissingError if
   * compaction overtakes it or the journal is written anew meanwhile.
   */
  async *forward(after: number, upTo: number, turn: Turn = endlessTurn): AsyncGenerator<ChangeRecord> {
    const first = Math.max(
      0,
      this.#segments.findLastIndex(({ revision }) => revision <= after),
    );
    let expected: string | undefined;
    for (const segment of this.#segments.slice(first)) {
      try {
        for await (const { text, line: number } of linesForward(segment.path)) {
          if (turn.isOver) await turn.pass();
          const line = parseLine(text);
          if (line === undefined || (expected !== undefined && line.previous !== expected))
            throw notAsWritten(segment.path, number);
          expected = line.hash;
          const { record } = line;
          if (record.revision > upTo) return;
          if (record.kind === "change" && record.revision > after) yield record;
        }
      } catch (error) {
        if (error instanceof SegmentMissingError) this.#assertCompacted(segment, error);
        throw error;
      }
    }
  }

  /** Tells of damage, once of each. */
  reportDamage({ message }: JournalDamageError): void {
    if (this.#reported.has(message)) return;
    this.#reported.add(message);
    this.#options.onDamage(message);
  }

  /** The segments are now these; `head` is their end. For `rewriteJournal`. */
  replaceBy(segment: Segment, head: JournalHead): void {
    this.#segments = [segment];
    this.#head = head;
    this.#synced = head;
  }

  /** Appends to the current segment; undefined if it is time, or need, for a new one. */
  async #extend(
    head: JournalHead,
    records: readonly JournalRecord[],
    isDurable: boolean,
  ): Promise<JournalHead | undefined> {
    const { segment } = head;
    if (segment === undefined || this.#isFull(segment, head)) return undefined;
    const { text, hash } = formatLines(records, head.hash);
    const content = Buffer.from(text);
    let handle: Awaited<ReturnType<FileSystem["open"]>>;
    try {
      handle = await this.#options.fileSystem.open(segment.path, "r+");
    } catch (error) {
      if (systemErrorCode(error) !== "ENOENT") throw error;
      this.reportDamage(new JournalDamageError(segment.path, undefined, "it is missing"));
      return undefined;
    }
    try {
      const { size } = fstatSync(handle.fd);
      if (size < head.bytes) {
        this.reportDamage(new JournalDamageError(segment.path, undefined, "its end was cut off"));
        return undefined;
      }
      // What a cut that failed has left.
      if (size > head.bytes) await handle.truncate(head.bytes);
      await writeAll(handle, content, head.bytes);
      if (isDurable) await handle.datasync();
    } finally {
      await handle.close();
    }
    return endOf(records, { ...head, bytes: head.bytes + content.length, hash });
  }

  /** How many of the records fit into the segment, or into a new one; a text record stays with the revision before it. */
  #fitting({ segment, revision }: JournalHead, records: readonly JournalRecord[]): number {
    const most = Math.min(largestSegment.revisions, Math.ceil(this.#options.retention().revisions / segmentShare));
    const left = segment === undefined ? most : most - (revision - segment.revision);
    const end = revision + (left > 0 ? left : most);
    const beyond = records.findIndex(record => record.revision > end);
    return beyond === -1 ? records.length : Math.max(1, beyond);
  }

  #isFull(segment: Segment, head: JournalHead): boolean {
    const { revisions, bytes } = this.#options.retention();
    const most = {
      revisions: Math.min(largestSegment.revisions, Math.ceil(revisions / segmentShare)),
      bytes: Math.min(largestSegment.bytes, Math.ceil(bytes / segmentShare)),
    };
    const count = head.revision - segment.revision;
    // A checkpoint alone may be larger than a segment should be.
    // Records of texts are no revisions.
    if (head.bytes >= 2 * most.bytes && head.bytes > segmentShare * segmentShare * 1024) return true;
    return count >= most.revisions || (head.bytes >= most.bytes && count >= Math.min(segmentShare, most.revisions));
  }

  /** Begins a segment with a checkpoint and the records. */
  async #begin(head: JournalHead, records: readonly JournalRecord[], config: Config): Promise<JournalHead> {
    const { id, folder, fileSystem, clock } = this.#options;
    // What comes before it is on the disk first.
    if (head.segment !== undefined && head !== this.#synced)
      await syncFile(head.segment.path, this.#options.fileSystem);
    const generation = head.segment?.generation ?? 0;
    const { revision } = head;
    const segment: Segment = { path: join(folder, `${id}.${generation}-${revision}.jsonl`), generation, revision };
    const time = timeText(clock);
    // What is known of the file's text is to be found at the newest segment's end.
    const begin: JournalRecord[] = [{ kind: "checkpoint", revision, time, config }];
    if (head.textRecord !== undefined) begin.push({ ...head.textRecord, revision });
    const { text, hash } = formatLines([...begin, ...records], head.hash);
    const content = Buffer.from(text);
    await fileSystem.unlink(segment.path).catch(error => {
      if (systemErrorCode(error) !== "ENOENT") throw error;
    });
    try {
      const handle = await fileSystem.open(segment.path, "wx", 0o600);
      try {
        await writeAll(handle, content, 0);
        await handle.datasync();
      } finally {
        await handle.close();
      }
      await syncFolder(folder, fileSystem, clock);
    } catch (error) {
      // Left there, the next start would take it for the journal's end.
      await fileSystem.unlink(segment.path).catch(() => {});
      throw error;
    }
    // Not before it is there: the one who reads meanwhile would miss it.
    this.#segments = [...this.#segments.filter(({ path }) => path !== segment.path), segment];
    this.#compactionDue = true;
    return endOf(records, { ...head, segment, bytes: content.length, hash });
  }

  /** Drops the oldest segments before `newest`, as long as enough is left without them. */
  async #compact(newest: Segment): Promise<void> {
    try {
      const { revisions, bytes } = this.#options.retention();
      for (;;) {
        const [oldest, ...rest] = this.#segments;
        const [next] = rest;
        if (oldest === undefined || next === undefined || oldest === newest) return;
        const sizes = await Promise.all(rest.map(async ({ path }) => (await stat(path)).size));
        const left = sizes.reduce((sum, size) => sum + size, 0);
        if ((this.#head?.revision ?? 0) - next.revision < revisions && left < bytes) return;
        if (this.#segments[0] !== oldest) continue;
        this.#segments = this.#segments.slice(1);
        await this.#options.fileSystem.unlink(oldest.path);
      }
    } catch {
      // Too much is kept until the next segment begins.
    }
  }

  /** Undefined: compaction has taken it. */
  async #read(segment: Segment): Promise<Buffer | undefined> {
    try {
      return await readSegment(segment.path);
    } catch (error) {
      if (!(error instanceof SegmentMissingError)) throw error;
      this.#assertCompacted(segment, error);
      return undefined;
    }
  }

  /** A segment is gone: rightly, if compaction took it. Throws the error of the journal written anew, or JournalDamageError. */
  #assertCompacted(segment: Segment, error: SegmentMissingError): void {
    if (this.#segments.at(-1)?.generation !== segment.generation) throw error;
    if (this.#segments.includes(segment)) throw new JournalDamageError(segment.path, undefined, "it is missing");
  }

  async #dropOldGenerations(): Promise<void> {
    const newest = this.#segments.at(-1)?.generation;
    for (const { generation, path } of this.#segments)
      if (generation !== newest) await this.#options.fileSystem.unlink(path).catch(() => {});
    this.#segments = this.#segments.filter(({ generation }) => generation === newest);
  }

  /** Keeps what is behind the last whole record for a person to review, if it is more than one torn record; returns how many lines. */
  async #setAside(segment: Segment, whole: number): Promise<number> {
    const rest = (await readSegment(segment.path)).subarray(whole);
    const lines = [...linesBackward(rest)].length;
    if (lines === 0) return 0;
    const aside = `${segment.path}.damaged`;
    await appendFile(aside, rest, { mode: 0o600 });
    this.#options.onDamage(`${segment.path}: its end is damaged; the part that was cut off is kept in ${aside}`);
    return lines;
  }

  async #truncate(path: string, bytes: number): Promise<void> {
    const handle = await this.#options.fileSystem.open(path, "r+");
    try {
      await handle.truncate(bytes);
      await handle.datasync();
    } finally {
      await handle.close();
    }
  }
}

function endOf(records: readonly JournalRecord[], head: JournalHead): JournalHead {
  const newestFirst = records.toReversed();
  const textRecord = newestFirst.map(textOf).find(one => one !== undefined) ?? head.textRecord;
  const lineage = newestFirst.map(lineageOf).find(one => one !== undefined) ?? head.lineage;
  const revision = records.at(-1)?.revision ?? head.revision;
  const position = newestFirst.map(positionOf).find(one => one !== undefined) ?? head.position;
  const optional = { ...(textRecord !== undefined && { textRecord }), ...(position !== undefined && { position }) };
  return { ...head, revision, lineage, ...optional };
}

/** The record of the file's text in a journal record. */
function textOf(record: JournalRecord): TextRecord | undefined {
  if (record.kind === "text") return record;
  if (record.kind !== "change" || record.text === undefined) return undefined;
  const { revision, text } = record;
  return { kind: "text", revision, of: revision, text, over: "", since: revision, isWhole: text !== "" };
}

/** As far as the log is in the history with this record. */
function positionOf(record: JournalRecord): Position | undefined {
  if (record.kind === "text") return record.through;
  return record.kind === "change" ? record.position : undefined;
}

function lineageOf(record: JournalRecord): string | undefined {
  return record.kind === "change" || record.kind === "text" ? record.lineage : undefined;
}

function damaged(path: string, bytes: Buffer, start: number): JournalDamageError {
  return notAsWritten(path, lineNumber(bytes, start));
}

function notAsWritten(path: string, line: number): JournalDamageError {
  return new JournalDamageError(path, line, "it was altered");
}

function changesOf(record: JournalRecord): readonly RecordedDifference[] {
  return record.kind === "change" ? record.changes : [];
}
