import pLimit from "p-limit";
import { applyConfigEdits, type Config, type ConfigEdit, configValue } from "../../../shared/config.ts";
import { diffConfigs, diffingConfigs, sameConfig } from "../../../shared/config-diff.ts";
import { sameJson } from "../../../shared/json.ts";
import { type FileStamp, sameStamp } from "../../files/durable-text-file.ts";
import { type DocumentTooLargeError, ForeignEditError } from "../../files/json-document.ts";
import type { Scopes } from "../../scopes/scopes.ts";
import type { Clock } from "../../time/clock.ts";
import { runInParts } from "../../time/turns.ts";
import {
  hashText,
  isComplete,
  type JournalHead,
  type JournalRecord,
  recordedBy,
  type TextRecord,
  valuesAfter,
} from "../history/record.ts";
import { type CommitLog, formatPosition } from "../log/commit-log.ts";
import type { CommittedState, FileRoom, LogNumber, Position } from "../types.ts";
import { editsAsIn, movedNames } from "../values/renamed-fields.ts";
import { exceededLimit, mostBytes } from "./file-size.ts";
import { keepSets, RecentWrites } from "./merge-edit.ts";
import { isConfig, type RepositoryFiles } from "./repository-files.ts";
import type { MirroredCommit, StartingPoint } from "./starting-point.ts";
import { UnrecordedEdits } from "./unrecorded-edits.ts";

/** What is committed at a moment: the last commit missing in the history, the newest revision, and edits without a revision. */
interface CommitSnapshot {
  readonly last: LogNumber;
  readonly revision: number;
  readonly unrecorded: readonly ConfigEdit[];
}

/** What a text record says of the file, without its place in the journal and in the log. */
type TextOfFile = Omit<TextRecord, "kind" | "revision" | "lineage" | "unrecorded" | "position">;

/** A text of the file: the revision whose values it has, its hash, and the file's stamp. */
interface TextVersion {
  readonly revision: number;
  readonly hash: string;
  readonly stamp: FileStamp | undefined;
}

/** A history, to append to. */
interface AppendedHistory {
  readonly head: JournalHead | undefined;
  append(records: readonly JournalRecord[], config: Config, isDurable: boolean): Promise<void>;
  sync(): Promise<void>;
}

const noText = { text: "", hash: hashText("") };

/**
 * Copies a repository's log entries: first to its history, then to the file of its values. It knows which values the file has, which
 * ones it is to have, and what the history still lacks. Calls that touch the file run one at a time.
 */
export class Mirror {
  readonly files: RepositoryFiles;
  readonly #journal: AppendedHistory;
  readonly recentWrites = new RecentWrites();
  readonly #log: CommitLog;
  readonly #clock: Clock;
  /** What is committed. */
  readonly #committed: () => CommittedState;
  readonly #lock = pLimit(1);
  /** The file's values when it was last read or written; the same object as the committed ones if both are equal. */
  #onDisk: Config = {};
  /** The revision with these values. */
  #fileRevision = 0;
  /** The values of the newest revision that the history has on the disk. */
  #inHistory: Config = {};
  /** Commits that the history does not have on the disk yet, and how many of them were already appended to it. */
  #tail: MirroredCommit[] = [];
  #appended = 0;
  /** Edits that the file should have but lacks, and that no revision records, because no active value changed. */
  #unrecorded = new UnrecordedEdits();
  readonly #historyLock = pLimit(1);
  /** To be appended to the history before anything else. */
  #firstText: TextRecord | undefined;
  /** The position of the newest commit that the history has on the disk. */
  #position: Position | undefined;
  /** The history has no record of the file's present text. */
  #isTextUnrecorded = false;
  /** How many bytes the edits that the file lacks can add to it, at most. */
  #editedBytes = 0;
  #hashed = noText;
  /** When the file was last written, by the clock's `monotonic()`. */
  wroteAt = Number.NEGATIVE_INFINITY;
  /** Why the file was never written, as on a full disk. The reader tries again. */
  firstFailure: unknown;
  /** The values of the file that the last write replaced. */
  #replaced: Config = {};

  constructor(
    files: RepositoryFiles,
    journal: AppendedHistory,
    log: CommitLog,
    clock: Clock,
    committed: () => CommittedState,
  ) {
    this.files = files;
    this.#journal = journal;
    this.#log = log;
    this.#clock = clock;
    this.#committed = committed;
  }

  get #target(): Config {
    return this.#committed().target;
  }

  /** Whether the file or the history lacks a commit, or the file was never written. */
  get isOutdated(): boolean {
    return this.isFileOutdated || this.firstFailure !== undefined || this.#tail.length > 0 || this.#hasTextToRecord;
  }

  get isFileOutdated(): boolean {
    return this.#target !== this.#onDisk && this.files.content.kind === "good";
  }

  /** The newest revision that the history has on the disk; undefined if that is the newest of all. */
  get historyRevision(): number | undefined {
    const first = this.#tail.find(({ record }) => record !== undefined)?.record;
    return first && first.revision - 1;
  }

  /** The first entry that the log must keep for this repository; undefined if none. */
  get keptFrom(): LogNumber | undefined {
    return this.#tail[0]?.number;
  }

  /** Runs `task` while nothing else reads or writes the file. */
  locked<Result>(task: () => Promise<Result>): Promise<Result> {
    return this.#lock(task);
  }

  /** Called after a start. */
  begin(point: StartingPoint): void {
    const { head } = this.#journal;
    this.#inHistory = point.written;
    this.#onDisk = point.onDisk;
    this.#replaced = point.replaced ?? point.onDisk;
    this.#fileRevision = point.fileRevision;
    this.#tail = [...point.tail];
    this.#appended = 0;
    this.#unrecorded = new UnrecordedEdits(point.unrecorded);
    this.#position = head?.position;
    // If the history has no record of the file's text yet, the text is the one before all that is appended.
    const revision = head?.revision ?? 0;
    const isGood = this.files.content.kind === "good";
    const isUnrecorded = isGood && head?.textRecord === undefined;
    this.#firstText = isUnrecorded ? { kind: "text", revision, ...this.#presentText(revision) } : undefined;
    this.#isTextUnrecorded = isGood && !this.isTextRecorded;
  }

  /** After a start: the edit in the file will be compared with the file's earlier values later. */
  waitForEdit({ before }: StartingPoint): void {
    this.accept(before.onDisk);
    this.#isTextUnrecorded = false;
  }

  /** That the file would exceed a size limit: its own, or one of these; undefined: none. */
  exceeds(
    edits: readonly ConfigEdit[],
    config: Config,
    rooms: readonly FileRoom[],
  ): Promise<DocumentTooLargeError | undefined> {
    const { values } = this.files;
    const most = (values.stamp?.size ?? 0) + this.#editedBytes + mostBytes(edits);
    const textOf = (one: Config) => values.textOf({ ...values.value, config: one });
    return exceededLimit({ most, config, before: this.#target, textOf }, rooms);
  }

  /** Takes over a commit, to write it to the history and, as far as they differ, to the file. */
  commit(commit: MirroredCommit): void {
    const { record, edits } = commit;
    this.#tail.push(commit);
    this.#editedBytes += mostBytes(edits);
    this.#unrecorded.commit(edits, recordedBy(record, edits));
  }

  /** Accepts the values that the file has. */
  accept(onDisk: Config): void {
    this.#onDisk = sameConfig(onDisk, this.#target) ? this.#target : onDisk;
    const hasAll = this.#target === this.#onDisk;
    if (hasAll) this.#fileRevision = this.#newestRevision;
    this.#dropRecordedEdits();
    this.#isTextUnrecorded ||= !this.isTextRecorded;
    // A revision that only a schema caused does not change the text, so the text lacks nothing of it.
    this.#isTextUnrecorded ||= hasAll && this.#journal.head?.textRecord?.fileRevision !== this.#newestRevision;
  }

  /**
   * The values that the file is to have after an edit by hand: those of the edit, and sets that its author did not know of. `merged`
   * is true if these include sets that the file already had. `noticedAt`: when the edit was noticed, by the clock's `monotonic()`;
   * undefined if it could not be recorded then. A write does not get too old while the edit waits, for example for the log.
   */
  rebase(
    edited: Config,
    scopes: Scopes,
    noticedAt: number | undefined,
  ): { readonly config: Config; readonly merged: boolean } {
    if (noticedAt !== undefined) this.recentWrites.dropOld(noticedAt);
    const merged = this.recentWrites.merge({ textHash: this.textHash(), config: edited }, this.#target);
    const config = merged ?? edited;
    const fields = diffConfigs(this.#onDisk, this.#target);
    const { edits } = keepSets(config, this.#target, fields, [this.#onDisk], scopes);
    return { config: edits.length > 0 ? applyConfigEdits(config, edits) : config, merged: merged !== undefined };
  }

  /**
   * The values with the edit of somebody who saved at the moment of the last write, or kept writing to the replaced file: such an
   * edit was based on the earlier text. Null if it is not JSON; undefined if there was no such edit.
   */
  async lateEdit(scopes: Scopes): Promise<Config | null | undefined> {
    const value = await this.files.values.replacedEdit();
    if (value === undefined) return undefined;
    const { config = {} } = value ?? {};
    if (value === null || !isConfig(config)) return null;
    // In a work tree a text counts as a whole, because git writes whole files.
    const { content } = this.files;
    if (content.kind === "good" && content.metadata.inTree) return config;
    return applyConfigEdits(this.#target, editsAsIn(config, diffConfigs(this.#replaced, config), scopes));
  }

  /** Call before the file is replaced again. Throws ForeignEditError if the previously replaced file was edited. */
  async beginReplacing(): Promise<void> {
    if ((await this.files.values.replacedEdit()) !== undefined) throw new ForeignEditError();
    await this.files.values.dropReplaced();
    this.#replaced = this.#onDisk;
  }

  /**
   * Appends the commits that the history lacks; durably unless `isLazy`. `mayRecordText`: the file's text was written by the daemon, or
   * is an edit that is recorded. Throws the system's error.
   */
  async writeHistory(isLazy: boolean, mayRecordText = !isLazy): Promise<void> {
    const isRecovery = this.#tail.some(({ record }) => record?.recovered !== undefined);
    // A recovery is recorded together with the text that it was compared with.
    const recordsText = (mayRecordText && this.#hasTextToRecord) || isRecovery;
    const moment = this.#moment();
    const fileRevision = this.#target === this.#onDisk ? moment.revision : this.#fileRevision;
    await this.#appendTail(isLazy, moment, recordsText ? this.#presentText(fileRevision) : undefined);
    if (recordsText) this.#isTextUnrecorded = false;
  }

  /** Whether the newest record of a text is of the present file, and not only of one with the same text. */
  get isTextRecorded(): boolean {
    const record = this.#journal.head?.textRecord;
    return record?.textHash === this.textHash() && sameStamp(record.stamp, this.files.values.stamp);
  }

  /** Whether the present file is the one that the newest recorded write was about to replace, and may still be. */
  get isReplacedText(): boolean {
    const record = this.#journal.head?.textRecord;
    if (record === undefined || isComplete(record)) return false;
    return record.replacedHash === this.textHash() && sameStamp(record.replacedStamp, this.files.values.stamp);
  }

  #textVersion(revision: number): TextVersion {
    return { revision, hash: this.textHash(), stamp: this.files.values.stamp };
  }

  /** A record that the file has its text, whatever it had before. */
  #presentText(revision: number): TextOfFile {
    const version = this.#textVersion(revision);
    return textOfFile(version, version, false);
  }

  /** Whether the history lacks something about the file's present text. */
  get #hasTextToRecord(): boolean {
    const unrecorded = this.#unrecorded.list;
    if (unrecorded.length > 0 && !sameJson(unrecorded, this.#journal.head?.textRecord?.unrecorded ?? [])) return true;
    return this.#isTextUnrecorded && this.files.content.kind === "good" && !this.isFileOutdated;
  }

  /** Writes the text for a configuration to a temporary file and starts to sync it. Throws ForeignEditError or the system's error. */
  prepare(config: Config, scopes: Scopes): Promise<void> {
    return this.#lock(() => {
      const { values } = this.files;
      return values.prepare({ ...values.value, config }, movedNames(this.#onDisk, config, scopes));
    });
  }

  /** Drops the prepared text, which will not be written. */
  dropPrepared(): Promise<void> {
    return this.files.values.dropPrepared();
  }

  /**
   * Writes the commits durably to the history and the file: before the file is replaced, the history has its revision, and hash and stamp
   * of its text and of the one that it replaces. Call it inside `locked`. `isActive` tells whether these are the active values.
   * Throws ForeignEditError, DocumentTooLargeError or the system's error.
   */
  async write(isActive: (config: Config) => boolean, scopes: Scopes): Promise<void> {
    const document = this.files.values;
    if (this.files.content.kind === "broken") return this.writeHistory(false);
    await this.beginReplacing();
    // Read together: a commit after this moment is not in the text.
    const target = this.#target;
    const moment = this.#moment();
    const isFullyActive = isActive(target);
    const differences = await runInParts(diffingConfigs(this.#onDisk, target));
    if (differences.length === 0) {
      this.#onDisk = target;
      this.#dropRecordedEdits();
      return this.writeHistory(false);
    }
    const before = { textHash: this.textHash(), config: this.#onDisk };
    let { textHash } = before;
    const record = async (text: string, stamp: FileStamp) => {
      textHash = hashText(text);
      const written = { revision: moment.revision, hash: textHash, stamp };
      const textRecord = textOfFile(written, this.#textVersion(this.#fileRevision), isFullyActive);
      await this.#appendTail(false, moment, textRecord);
    };
    const moved = movedNames(before.config, target, scopes);
    await document.write({ ...document.value, config: target }, { record, moved });
    this.#isTextUnrecorded = false;
    this.#onDisk = target;
    this.#dropRecordedEdits();
    this.#fileRevision = moment.revision;
    if (this.#target === target) this.#editedBytes = 0;
    this.wroteAt = this.#clock.monotonic();
    const paths = differences.map(({ scope, field }) => ({ scope, field }));
    this.recentWrites.add({ at: this.wroteAt, before, after: { textHash, config: target }, paths });
  }

  /** Records the file's present text, even if it was recorded before, because the file lacks no changes any more. */
  async recordText(): Promise<void> {
    if (!this.isFileOutdated) this.#fileRevision = this.#newestRevision;
    this.#isTextUnrecorded = true;
    await this.writeHistory(false);
  }

  /**
   * Records that the last write of the file is complete: from now on, the replaced text is an edit if it comes back. Not durably, because
   * a power loss may take back the write, too. Throws the system's error.
   */
  async recordCompletion(): Promise<void> {
    const record = this.#journal.head?.textRecord;
    if (record === undefined || isComplete(record) || !this.isTextRecorded) return;
    const { fileRevision, isFullyActive } = record;
    await this.#appendTail(true, this.#moment(), { ...this.#presentText(fileRevision), isFullyActive });
  }

  /** Runs `task`, which rewrites the history, while nothing is appended to it. */
  rewriteHistory(task: () => Promise<void>): Promise<void> {
    return this.#historyLock(async () => {
      await task();
      this.#markSynced(this.#appended);
    });
  }

  /** The hash of the file's text when it was last seen; of an empty text if the file is missing. */
  textHash(): string {
    const text = this.files.values.text ?? "";
    if (this.#hashed.text !== text) this.#hashed = { text, hash: hashText(text) };
    return this.#hashed.hash;
  }

  /**
   * Appends the commits up to a moment to the history, followed by a record of the file's text at that moment. Throws the system's
   * error; then the history is as it was after the last sync.
   */
  #appendTail(isLazy: boolean, { last, unrecorded }: CommitSnapshot, text?: TextOfFile): Promise<void> {
    return this.#historyLock(async () => {
      const end = this.#tail.findLastIndex(({ number }) => number <= last) + 1;
      const records = this.#tail.slice(this.#appended, end).flatMap(({ record }) => record ?? []);
      const revision = records.at(-1)?.revision ?? this.#journal.head?.revision ?? 0;
      const position = last > 0 ? formatPosition(this.#log.id, last) : this.#position;
      const { lineage } = this.#committed();
      const textRecord: TextRecord | undefined = text && {
        kind: "text",
        revision,
        ...text,
        ...(lineage !== "" && { lineage }),
        ...(unrecorded.length > 0 && { unrecorded }),
        ...(position !== undefined && { position }),
      };
      const isRecordedAlready =
        records.length === 0 && sameJson(textRecord ?? {}, this.#journal.head?.textRecord ?? {});
      const texts = textRecord === undefined || isRecordedAlready ? [] : [textRecord];
      // If no text was recorded yet: without one, a start would take the file for an edit.
      const isUnknown = this.#journal.head?.textRecord === undefined && texts.length === 0;
      const first = isUnknown && this.#firstText !== undefined ? [this.#firstText] : [];
      try {
        if (records.length + texts.length > 0)
          await this.#journal.append([...first, ...records, ...texts], this.#afterAppended(this.#appended), !isLazy);
        this.#appended = Math.max(this.#appended, end);
        if (isLazy) return;
        await this.#journal.sync();
      } catch (error) {
        // The journal has dropped the records that are not synced. What was appended without a sync may have been synced before the error.
        const { segment, revision: last = 0 } = this.#journal.head ?? {};
        const kept = segment === undefined ? 0 : last;
        this.#appended = this.#tail.findLastIndex(({ record }) => record !== undefined && record.revision <= kept) + 1;
        throw error;
      }
      this.#position = position;
      this.#markSynced(end);
    });
  }

  /** All appended records are durable; drops the first `commits`. */
  #markSynced(commits: number): void {
    this.#inHistory = this.#afterAppended(commits);
    this.#tail.splice(0, commits);
    this.#appended -= commits;
  }

  /** The values of the history after so many of the commits that it lacks on the disk. */
  #afterAppended(commits: number): Config {
    return valuesAfter(
      this.#inHistory,
      this.#tail.slice(0, commits).flatMap(({ record }) => record ?? []),
    );
  }

  #moment(): CommitSnapshot {
    return { last: this.#tail.at(-1)?.number ?? 0, revision: this.#newestRevision, unrecorded: this.#unrecorded.list };
  }

  get #newestRevision(): number {
    const newest = this.#tail.findLast(({ record }) => record !== undefined)?.record;
    return newest?.revision ?? this.#journal.head?.revision ?? 0;
  }

  /** Drops edits that the file has by now or is no longer to have. */
  #dropRecordedEdits(): void {
    this.#unrecorded.keep(
      ({ scope, field, value }) =>
        !sameJson(configValue(this.#onDisk, scope, field), value) &&
        sameJson(configValue(this.#target, scope, field), value),
    );
  }
}

/** A record that the file has this text, or is about to have it instead of another. */
function textOfFile(now: TextVersion, replaced: TextVersion, isFullyActive: boolean): TextOfFile {
  return {
    fileRevision: now.revision,
    textHash: now.hash,
    ...(now.stamp !== undefined && { stamp: now.stamp }),
    replacedRevision: replaced.revision,
    replacedHash: replaced.hash,
    ...(replaced.stamp !== undefined && { replacedStamp: replaced.stamp }),
    isFullyActive,
  };
}
