import { fstatSync } from "node:fs";
import { appendFile, stat } from "node:fs/promises";
import { join } from "node:path";
import type { Config } from "../../../shared/config.ts";
import { syncFolder } from "../../files/durable-text-file.ts";
import { type FileSystem, ignoreMissing, syncFile, writeAll } from "../../files/file-system.ts";
import { type Clock, timeText } from "../../time/clock.ts";
import { endlessTurn, type Turn, type Yielding } from "../../time/yielding.ts";
import type { NewFinding } from "../types.ts";
import { keptBefore } from "./kept-changes.ts";
import {
  type ChangeRecord,
  type DamageRecord,
  type ForgetRecord,
  formatLines,
  headAfter,
  type JournalHead,
  type JournalRecord,
  noHash,
  parseLine,
  type Segment,
  type TextRecord,
  valuesAfter,
} from "./record.ts";
import {
  endOf,
  isIntact,
  isTooLarge,
  JournalDamageError,
  lineNumber,
  linesBackward,
  linesForward,
  readSegment,
  readTail,
  SegmentMissingError,
} from "./segment.ts";
import { type RecordsEnd, writeRecords } from "./write-records.ts";

/** How much of a repository's history is kept, by whichever limit is reached first. */
export interface Retention {
  readonly revisions: number;
  readonly bytes: number;
}

export interface JournalOptions {
  readonly id: string;
  readonly folder: string;
  readonly fileSystem: FileSystem;
  readonly clock: Clock;
  /** Shared by all journals, so that several long readings take turns. */
  readonly yielding: Yielding;
  retention(): Retention;
  /** Called when the journal is found damaged. Await it before anything that removes what it is about. */
  onDamage(damage: NewFinding): Promise<void>;
}

/** What damage is called, if a line is there. */
const altered = "it was altered";
/** A segment has 1/10 of the retention, so that compaction can delete whole segments. */
const segmentShare = 10;
const largestSegment: Retention = { revisions: 1_000, bytes: 4 * 1024 * 1024 };

/**
 * The revisions of one repository, append-only. Each segment begins with a checkpoint, so compaction deletes whole files in the background,
 * and opening reads only the end of the newest one. The repository's queue makes one append at a time; reading can run concurrently.
 */
export class Journal {
  readonly #options: JournalOptions;
  #segments: Segment[];
  #head: JournalHead | undefined;
  /** The durable end: records after it are not synced yet. */
  #synced: JournalHead | undefined;
  readonly #reported = new Set<string>();
  #compactionDue = false;
  #compactions = 0;

  /** `segments`: the existing ones, oldest first. */
  constructor(options: JournalOptions, segments: readonly Segment[]) {
    this.#options = options;
    this.#segments = [...segments];
  }

  /** Undefined if it is not open. A head without a segment means that nothing was ever recorded. */
  get head(): JournalHead | undefined {
    return this.#head;
  }

  /** The oldest kept revision: its configuration and all later revisions are available. `newest` is the newest revision. */
  oldest(newest = this.#head?.revision ?? 0): number {
    const first = this.#segments[0]?.revision ?? this.#head?.revision ?? 0;
    return Math.max(first, newest - this.#options.retention().revisions);
  }

  /** Whether segments are being deleted. */
  get isCompacting(): boolean {
    return this.#compactions > 0;
  }

  get segments(): readonly Segment[] {
    return this.#segments;
  }

  /** Reads the end. Removes a torn record that a crash left there, and puts a damaged end aside. */
  async open(): Promise<void> {
    // First, because one of a later generation would otherwise replace the others.
    for (const { path } of this.#segments) if (isTooLarge(path)) await this.#moveAside(path);
    const newest = this.#segments.at(-1)?.generation;
    for (const { generation, path } of this.#segments)
      if (generation !== newest) await this.#options.fileSystem.unlink(path).catch(() => {});
    this.#segments = this.#segments.filter(({ generation }) => generation === newest);
    const unreadable: string[] = [];
    let damagedLines = 0;
    let head: JournalHead = { segment: undefined, bytes: 0, hash: noHash, revision: 0, lineage: "" };
    for (let segment = this.#segments.at(-1); segment !== undefined; segment = this.#segments.at(-1)) {
      const { lines, whole, bytes } = await readTail(
        segment.path,
        this.#options.fileSystem,
        ({ record }) => record.kind === "text" || record.kind === "damage",
      );
      const [last] = lines;
      if (whole < bytes) damagedLines += await this.#setAside(segment, whole);
      // The daemon died while it started this segment. Its checkpoint alone does not tell whose revisions follow.
      const isBegun = lines.some(({ record }) => record.kind !== "checkpoint");
      if (last === undefined || (!isBegun && this.#segments.length > 1)) {
        this.#segments.pop();
        unreadable.push(segment.path);
        continue;
      }
      const records = lines.map(({ record }) => record).reverse();
      head = headAfter(records, { ...head, segment, bytes: whole, hash: last.hash });
      if (damagedLines > 0) head = await this.#recordDamage(segment, head, head.revision + damagedLines);
      else if (whole < bytes) await this.#truncate(segment.path, whole);
      break;
    }
    // Only now that their damage is recorded.
    for (const path of unreadable) await this.#options.fileSystem.unlink(path);
    this.#head = head;
    this.#synced = head;
  }

  /** Replaces a damaged end by a record of it, durably: otherwise the next start would not know. Returns the head after it. */
  async #recordDamage(segment: Segment, head: JournalHead, assigned: number): Promise<JournalHead> {
    const { revision, lineage } = head;
    const record: DamageRecord = { kind: "damage", lineage, revision, assigned };
    const { text, hash } = formatLines([record], head.hash);
    const content = Buffer.from(text);
    await this.#truncate(segment.path, head.bytes, content);
    return headAfter([record], { ...head, bytes: head.bytes + content.length, hash });
  }

  /** Undefined without a segment. */
  get end(): string | undefined {
    const { segment, bytes = 0 } = this.#head ?? {};
    return segment && endOf(segment, bytes);
  }

  /** The greatest revision that it may have had: each damaged record at its end may have been one. */
  get assigned(): number {
    return Math.max(this.#head?.revision ?? 0, this.#head?.assigned ?? 0);
  }

  /** Returns to the state before `open`. */
  close(): void {
    this.#head = undefined;
  }

  /** Makes the first record of an empty journal follow this revision. */
  startAfter(revision: number): void {
    const head = this.#head;
    if (head === undefined || head.segment !== undefined || head.revision >= revision) return;
    this.#head = { ...head, revision };
    this.#synced = this.#head;
  }

  /**
   * Appends records; `before` is the configuration before the first of them. If `isDurable` is false, they are durable after `sync`.
   * Throws the system's error; the journal is then rolled back to its last durable state.
   */
  async append(
    records: readonly (ChangeRecord | TextRecord | ForgetRecord)[],
    before: Config,
    isDurable = true,
  ): Promise<void> {
    const head = this.#head;
    if (head === undefined) throw new Error("the journal is closed");
    // Otherwise a power loss may keep these records without those before them.
    if (head !== this.#synced) await this.sync();
    try {
      let [at, config, remaining] = [head, before, records];
      while (remaining.length > 0) {
        // Splits large batches, so that no segment exceeds its limit.
        const part = remaining.slice(0, this.#countFitting(at, remaining));
        // A new segment makes what is before it durable.
        const isLast = part.length === remaining.length;
        const appended = await this.#appendToSegment(at, part, isDurable && isLast);
        at = appended ?? (await this.#startSegment(at, part, config));
        this.#head = at;
        remaining = remaining.slice(part.length);
        if (remaining.length > 0) config = valuesAfter(config, part);
      }
      if (isDurable) this.#markSynced(at);
    } catch (error) {
      await this.#rollBack();
      throw error;
    }
  }

  /** Makes all appended records durable. Throws the system's error; then it is unknown what the disk has of them, and they are rolled back. */
  async sync(): Promise<void> {
    const head = this.#head;
    if (head?.segment === undefined || head === this.#synced) return;
    try {
      await syncFile(head.segment.path, this.#options.fileSystem);
    } catch (error) {
      await this.#rollBack();
      throw error;
    }
    this.#markSynced(head);
  }

  /** Compaction starts only then, as a rollback would still need the older segments. */
  #markSynced(head: JournalHead): void {
    this.#synced = head;
    if (!this.#compactionDue || head.segment === undefined) return;
    this.#compactionDue = false;
    this.#compactions += 1;
    void this.#compact(head.segment).finally(() => {
      this.#compactions -= 1;
    });
  }

  /** Rolls the journal back to its last durable end. */
  async #rollBack(): Promise<void> {
    const head = this.#synced;
    if (head === undefined) return;
    this.#head = head;
    const started = this.#segments.filter(({ revision }) => revision > (head.segment?.revision ?? -1));
    this.#segments = this.#segments.filter(one => !started.includes(one));
    try {
      for (const { path } of started.reverse()) await this.#options.fileSystem.unlink(path);
      if (head.segment !== undefined) await this.#truncate(head.segment.path, head.bytes);
    } catch {
      // The next append or open truncates it.
    }
  }

  /** The newest configuration; not whole, and reported, if a record is damaged: then it has what the records after that one say. */
  async replay(): Promise<{ readonly config: Config; readonly isWhole: boolean }> {
    if (this.#head?.segment === undefined) return { config: {}, isWhole: true };
    const records: JournalRecord[] = [];
    let isWhole = true;
    try {
      for await (const record of this.backward(Number.MAX_SAFE_INTEGER)) {
        records.push(record);
        // Both have all values.
        if (record.kind === "checkpoint" || (record.kind === "change" && record.recovered !== undefined)) break;
      }
    } catch (error) {
      if (!(error instanceof JournalDamageError)) throw error;
      this.reportDamage(error);
      isWhole = false;
    }
    return { config: valuesAfter({}, records.reverse()), isWhole };
  }

  /**
   * All kept records from revision `upTo` backward, newest first. Throws JournalDamageError, or SegmentMissingError if the journal is
   * rewritten in the meantime.
   */
  async *backward(upTo: number, turn: Turn = endlessTurn): AsyncGenerator<JournalRecord> {
    let expected: string | undefined;
    for (const segment of this.#segments.toReversed()) {
      const bytes = await readSegment(segment.path).catch(error => this.#assertCompacted(segment, error));
      if (bytes === undefined) return;
      for (const { text, start } of linesBackward(bytes)) {
        if (turn.isOver) await turn.pass();
        const line = parseLine(text);
        if (line === undefined || (expected !== undefined && line.hash !== expected))
          throw new JournalDamageError(segment.path, altered, lineNumber(bytes, start));
        expected = line.previous;
        if (line.record.revision <= upTo) yield line.record;
      }
    }
  }

  /**
   * The changes after revision `after` up to `upTo`, oldest first. Damage to records up to `after` does not matter. Throws
   * JournalDamageError, or SegmentMissingError if compaction deletes a segment before it is read, or the journal is rewritten in the
   * meantime.
   */
  async *forward(after: number, upTo: number, turn: Turn = endlessTurn): AsyncGenerator<ChangeRecord> {
    if (upTo <= after) return;
    const first = this.#segments.findLastIndex(({ revision }) => revision <= after);
    let expected: string | undefined;
    let damage: JournalDamageError | undefined;
    let isBegun = false;
    for (const segment of this.#segments.slice(Math.max(0, first))) {
      try {
        for await (const { text, line: number } of linesForward(segment.path)) {
          if (turn.isOver) await turn.pass();
          const line = parseLine(text);
          if (line === undefined || (expected !== undefined && line.previous !== expected))
            damage = new JournalDamageError(segment.path, altered, number);
          expected = line?.hash;
          const record = line?.record;
          if (!isBegun) {
            if (record === undefined || record.revision <= after) continue;
            // The damage was before this record.
            if (record.kind === "change" && record.revision === after + 1) damage = undefined;
            isBegun = true;
          }
          if (record === undefined || damage !== undefined) throw damage;
          if (record.revision > upTo) return;
          if (record.kind === "change") yield record;
        }
      } catch (error) {
        this.#assertCompacted(segment, error);
        throw error;
      }
    }
    if (!isBegun && damage !== undefined) throw damage;
  }

  /** Reports a damaged file, each only once. */
  reportDamage({ path, what }: JournalDamageError): void {
    if (this.#reported.has(path)) return;
    this.#reported.add(path);
    const message = `This repository's history is damaged: ${path}: ${what}. The present values are not affected, but revisions up to the damage cannot be shown. The file is kept; once newer ones have enough history, its name ends in .damaged. repoconf doctor names each damaged line; a backup may have an intact history.`;
    void this.#options.onDamage({ message, kept: path });
  }

  /** Replaces all segments by one, whose end is `head`. For `forgetValues`. */
  replaceSegments(segment: Segment, head: JournalHead): void {
    this.#segments = [segment];
    this.#head = head;
    this.#synced = head;
  }

  /** Appends to the current segment. Returns undefined if it is full, missing or cut off, so that a new one must be started. */
  async #appendToSegment(
    head: JournalHead,
    records: readonly JournalRecord[],
    isDurable: boolean,
  ): Promise<JournalHead | undefined> {
    const { segment } = head;
    if (segment === undefined || this.#isFull(segment, head)) return undefined;
    const handle = await this.#options.fileSystem.open(segment.path, "r+").catch(ignoreMissing);
    if (handle === undefined) {
      this.reportDamage(new JournalDamageError(segment.path, "it is missing"));
      return undefined;
    }
    try {
      const { size } = fstatSync(handle.fd);
      if (size < head.bytes) {
        this.reportDamage(new JournalDamageError(segment.path, "its end was cut off"));
        return undefined;
      }
      // A rollback failed earlier.
      if (size > head.bytes) await handle.truncate(head.bytes);
      const end = await writeRecords(handle, records, head);
      if (isDurable) await handle.datasync();
      return headAfter(records, { ...head, ...end });
    } finally {
      await handle.close();
    }
  }

  get #segmentLimit(): Retention {
    const { revisions, bytes } = this.#options.retention();
    return {
      revisions: Math.min(largestSegment.revisions, Math.ceil(revisions / segmentShare)),
      bytes: Math.min(largestSegment.bytes, Math.ceil(bytes / segmentShare)),
    };
  }

  /** How many of the records fit into the segment, or else into a new one. A text record stays with its revision. */
  #countFitting({ segment, revision }: JournalHead, records: readonly JournalRecord[]): number {
    const { revisions: limit } = this.#segmentLimit;
    const remaining = segment === undefined ? limit : limit - (revision - segment.revision);
    const end = revision + (remaining > 0 ? remaining : limit);
    const beyond = records.findIndex(record => record.revision > end);
    return beyond === -1 ? records.length : Math.max(1, beyond);
  }

  #isFull(segment: Segment, head: JournalHead): boolean {
    const limit = this.#segmentLimit;
    const count = head.revision - segment.revision;
    // Text records are not counted as revisions, so a segment of twice the size is full in any case.
    if (head.bytes >= 2 * limit.bytes && head.bytes > segmentShare * segmentShare * 1024) return true;
    // The checkpoint alone may exceed `limit.bytes`, so a segment of that size is full only with some revisions.
    return count >= limit.revisions || (head.bytes >= limit.bytes && count >= Math.min(segmentShare, limit.revisions));
  }

  /** Starts a segment with a checkpoint and the records. */
  async #startSegment(head: JournalHead, records: readonly JournalRecord[], config: Config): Promise<JournalHead> {
    const { id, folder, fileSystem, clock, yielding } = this.#options;
    // The records before it must be durable first.
    if (head.segment !== undefined && head !== this.#synced) await syncFile(head.segment.path, fileSystem);
    const generation = head.segment?.generation ?? 0;
    const { revision } = head;
    const segment: Segment = { path: join(folder, `${id}.${generation}-${revision}.jsonl`), generation, revision };
    // The newest text record is repeated, because `open` reads only the newest segment: with all that is to be known if a power loss cuts
    // off what follows.
    const { lineage, position } = head;
    const known = { revision, ...(lineage !== "" && { lineage }), ...(position !== undefined && { position }) };
    const textRecords = head.textRecord === undefined ? [] : [{ ...head.textRecord, ...known }];
    const before = head.segment === undefined ? [] : keptBefore(this.backward(revision, yielding.begin(id)));
    const lastChanges = await Promise.resolve(before).catch(unknownIfDamaged);
    const kept = lastChanges !== undefined && { lastChanges };
    const checkpoint = { kind: "checkpoint", revision, time: timeText(clock), config, ...kept } as const;
    await fileSystem.unlink(segment.path).catch(ignoreMissing);
    let end: RecordsEnd;
    try {
      const handle = await fileSystem.open(segment.path, "wx", 0o600);
      try {
        end = await writeRecords(handle, [checkpoint, ...textRecords, ...records], { bytes: 0, hash: head.hash });
        await handle.datasync();
      } finally {
        await handle.close();
      }
      await syncFolder(folder, fileSystem, clock);
    } catch (error) {
      // If the file stayed, the next start would use it as the end of the journal.
      await fileSystem.unlink(segment.path).catch(() => {});
      throw error;
    }
    // Added only now, because a concurrent reader would report it as missing.
    this.#segments = [...this.#segments.filter(({ path }) => path !== segment.path), segment];
    this.#compactionDue = true;
    return headAfter(records, { ...head, segment, ...end });
  }

  /** Deletes the oldest segments before `newest`, as long as the others cover the retention. */
  async #compact(newest: Segment): Promise<void> {
    try {
      const { revisions, bytes } = this.#options.retention();
      for (;;) {
        const [oldest, ...rest] = this.#segments;
        const [next] = rest;
        if (oldest === undefined || next === undefined || oldest === newest) return;
        const sizes = await Promise.all(rest.map(async ({ path }) => (await stat(path)).size));
        const remaining = sizes.reduce((sum, size) => sum + size, 0);
        if ((this.#head?.revision ?? 0) - next.revision < revisions && remaining < bytes) return;
        if (this.#segments[0] !== oldest) continue;
        this.#segments = this.#segments.slice(1);
        if (!(await isIntact(oldest.path))) await this.#keepDamaged(oldest, await readSegment(oldest.path));
        await this.#options.fileSystem.unlink(oldest.path);
      }
    } catch {
      // Retried when the next segment is started.
    }
  }

  /** Returns if a segment cannot be read because compaction deleted it. Throws JournalDamageError if somebody else did, else `error`. */
  #assertCompacted(segment: Segment, error: unknown): undefined {
    const isSameGeneration = this.#segments.at(-1)?.generation === segment.generation;
    if (!(error instanceof SegmentMissingError) || !isSameGeneration) throw error;
    if (this.#segments.includes(segment)) throw new JournalDamageError(segment.path, "it is missing");
  }

  /** Keeps what follows the last intact record for a person to review, if it is more than one torn record. Returns the number of lines. */
  async #setAside(segment: Segment, whole: number): Promise<number> {
    const rest = (await readSegment(segment.path)).subarray(whole);
    const ends = [...linesBackward(rest)].length;
    // A torn record begins like any other.
    if (ends === 0 && /^[\w-]{0,43}( |$)/.test(rest.toString("latin1", 0, 44))) return 0;
    const lines = Math.max(1, ends);
    const aside = await this.#keepDamaged(segment, rest);
    const message = `The end of ${segment.path}, a file of this repository's history, is damaged (${rest.length} bytes). It was cut off and is kept in ${aside}. The values of the repository's file are used. Compare them with those that you expect, and inspect that file or a backup if something is missing.`;
    await this.#options.onDamage({ message, kept: aside, isIncident: true });
    return lines;
  }

  /** Renames a segment that is too large to be read or copied. */
  async #moveAside(path: string): Promise<void> {
    const { folder, fileSystem, clock } = this.#options;
    // A name of its own, because a rename would replace what was kept before.
    const aside = path.replace(/jsonl$/, `${clock.now()}.jsonl.damaged`);
    await fileSystem.rename(path, aside);
    await syncFolder(folder, fileSystem, clock);
    this.#segments = this.#segments.filter(segment => segment.path !== path);
    const message = `${path}, a file of this repository's history, is damaged: it is larger than any that Repoconf writes. It is kept in ${aside}. The values of the repository's file are used. Compare them with those that you expect; a backup may have an intact history.`;
    await this.#options.onDamage({ message, isIncident: true, kept: aside });
  }

  /** Keeps what a segment had before it is cut or deleted. Returns its path. */
  async #keepDamaged({ path }: Segment, bytes: Buffer): Promise<string> {
    const { folder, fileSystem, clock } = this.#options;
    const aside = `${path}.damaged`;
    await appendFile(aside, bytes, { mode: 0o600, flush: true });
    await syncFolder(folder, fileSystem, clock);
    return aside;
  }

  /** Cuts a segment off, durably, and writes what is to follow instead. */
  async #truncate(path: string, bytes: number, content = Buffer.alloc(0)): Promise<void> {
    const handle = await this.#options.fileSystem.open(path, "r+");
    try {
      if (content.length > 0) await writeAll(handle, content, bytes);
      await handle.truncate(bytes + content.length);
      await handle.datasync();
    } finally {
      await handle.close();
    }
  }
}

function unknownIfDamaged(error: unknown): undefined {
  if (error instanceof JournalDamageError || error instanceof SegmentMissingError) return undefined;
  throw error;
}
