import pLimit from "p-limit";
import { applyConfigEdits, type Config, type ConfigEdit, configValue } from "../../../shared/config.ts";
import { diffConfigs, diffingConfigs } from "../../../shared/config-diff.ts";
import { type ConfigPath, joinConfigPath } from "../../../shared/config-path.ts";
import { isJsonObject, type JsonValue, sameJson } from "../../../shared/json.ts";
import { limits } from "../../../shared/limits.ts";
import type { Clock } from "../../clock.ts";
import { ForeignEditError } from "../../files/json-document.ts";
import { runInParts } from "../../turns.ts";
import type { Scopes } from "../scopes.ts";
import type { Journal } from "./journal/journal.ts";
import { applyChanges, type ChangeRecord, hashText, type TextRecord } from "./journal/record.ts";
import { type CommitLog, formatPosition, type LogNumber, type Position } from "./log/commit-log.ts";
import { mergeStaleEdit, type RecentWrite, staleEditAge } from "./merge-edit.ts";
import type { StartingPoint } from "./recovery.ts";
import { editsAsIn, movedNames, valueByAnyName } from "./renamed-fields.ts";
import { isConfig, type RepositoryFiles } from "./repository-files.ts";
import { UnrecordedEdits } from "./unrecorded-edits.ts";

/** A commit of this repository, as its mirrors take it. */
export interface MirroredCommit {
  readonly number: LogNumber;
  /** Undefined: nothing active changed, only what the file is to say. */
  readonly record: ChangeRecord | undefined;
  /** What the file is to say. */
  readonly edits: readonly ConfigEdit[];
}

/** What is committed at a moment: the last commit that is not in the history, the newest revision, what none stands for. */
interface Moment {
  readonly last: LogNumber;
  readonly revision: number;
  readonly unrecorded: readonly ConfigEdit[];
}

const noText = { text: "", hash: hashText("") };

/**
 * What a repository's log entries are copied to: first its history, then the file of its values. It knows what the file
 * says, what it is to say, and what the history does not have yet. Its calls that touch the file come one at a time.
 */
export class Mirror {
  readonly files: RepositoryFiles;
  readonly journal: Journal;
  readonly #log: CommitLog;
  readonly #clock: Clock;
  readonly #inTurn = pLimit(1);
  /** Which of the repositories that had this id. */
  #lineage = "";
  /** What the file says, as it was last read or written. */
  #inFile: Config = {};
  /** The revision whose values that are. */
  #fileRevision = 0;
  /** What it is to say. */
  #wanted: Config = {};
  /** The values of the history's newest record, and of the newest that is on the disk. */
  #written: Config = {};
  #synced: Config = {};
  /** Committed, and not on the disk in the history yet; so many of them have been appended to it. */
  #tail: MirroredCommit[] = [];
  #appended = 0;
  /** Edits that the file should have but lacks, and that no revision records, because no active value changed. */
  #unrecorded = new UnrecordedEdits();
  readonly #historyInTurn = pLimit(1);
  /** What comes first when the history goes on. */
  #firstText: TextRecord | undefined;
  /** The newest commit that a text record includes. */
  #through: Position | undefined;
  /** The history has no record of the file's present text. */
  #isTextUnrecorded = false;
  /** What the edits that the file does not have yet may add to it, at most. */
  #editedBytes = 0;
  #recentWrites: RecentWrite[] = [];
  #hashed = noText;
  #wroteAt = Number.NEGATIVE_INFINITY;
  /** What the file said that the last write replaced. */
  #replaced: Config = {};

  constructor(files: RepositoryFiles, journal: Journal, log: CommitLog, clock: Clock) {
    this.files = files;
    this.journal = journal;
    this.#log = log;
    this.#clock = clock;
  }

  /** What the file is to say. Undecided by this: whether it is active. */
  get wanted(): Config {
    return this.#wanted;
  }

  get wroteAt(): number {
    return this.#wroteAt;
  }

  /** Whether file or history lack something. */
  get isBehind(): boolean {
    return this.isFileBehind || this.#tail.length > 0 || this.#hasTextToRecord;
  }

  get isFileBehind(): boolean {
    return this.#wanted !== this.#inFile && this.files.content.kind === "good";
  }

  /** The newest revision that the history has for good, where that is not the newest there is. */
  get historyRevision(): number | undefined {
    const first = this.#tail.find(({ record }) => record !== undefined)?.record;
    return first && first.revision - 1;
  }

  /** The first entry that the log has to keep because of this repository; undefined if none. */
  get keptFrom(): LogNumber | undefined {
    return this.#tail[0]?.number;
  }

  /** Runs `task` while nothing else reads or writes the file. */
  inTurn<Result>(task: () => Promise<Result>): Promise<Result> {
    return this.#inTurn(task);
  }

  /** After a start. */
  begin(point: StartingPoint, lineage: string): void {
    const { head } = this.journal;
    this.#lineage = lineage;
    this.#written = point.written;
    this.#synced = point.written;
    this.#inFile = point.inFile;
    this.#fileRevision = point.fileRevision;
    this.#wanted = point.wanted;
    this.#tail = [...point.tail];
    this.#appended = 0;
    this.#unrecorded = new UnrecordedEdits(point.unrecorded);
    this.#through = head?.position;
    // If the history has no record of the file's text yet, the text is the one before the tail.
    const [of, text] = [head?.revision ?? 0, this.textHash()];
    const isUnrecorded = head?.textRecord === undefined && point.tail.length > 0;
    this.#firstText = isUnrecorded
      ? { kind: "text", revision: of, of, since: of, text, over: text, isWhole: false }
      : undefined;
    this.#isTextUnrecorded =
      this.files.content.kind === "good" && this.journal.head?.textRecord?.text !== this.textHash();
  }

  /** After a start: the edit that the file has is compared, later, with what the file said before. */
  waitForEdit({ before }: StartingPoint): void {
    this.accept(before.inFile, before.wanted);
    this.#isTextUnrecorded = false;
  }

  /** What is committed from now on is of another repository of this id. */
  beginLineage(lineage: string): void {
    this.#lineage = lineage;
  }

  /** Whether the file stays within its limit if it is to say this; asked of the text only where the edits' bytes leave it open. */
  async fits(edits: readonly ConfigEdit[], config: Config): Promise<boolean> {
    const { values } = this.files;
    if ((values.stamp?.size ?? 0) + this.#editedBytes + mostBytes(edits) <= limits.repositoryFileBytes) return true;
    return (await values.bytesOf({ ...values.value, config })) <= limits.repositoryFileBytes;
  }

  /** Committed: goes into the history and, where it is not what the file says, into the file. */
  commit(commits: readonly MirroredCommit[], wanted: Config): void {
    this.#tail.push(...commits);
    this.#wanted = wanted;
    for (const { record, edits } of commits) {
      this.#editedBytes += mostBytes(edits);
      this.#unrecorded.commit(edits, record?.changes ?? []);
    }
  }

  /** The file has been accepted as it is; it is to say `wanted`. */
  accept(inFile: Config, wanted: Config): void {
    this.#inFile = inFile;
    this.#wanted = sameConfig(inFile, wanted) ? inFile : wanted;
    if (this.#wanted === inFile) this.#fileRevision = this.#newestRevision;
    this.#dropRecordedEdits();
    const textRecord = this.journal.head?.textRecord;
    this.#isTextUnrecorded ||= textRecord?.text !== this.textHash();
    // A change that only a schema made leaves the text as it was: the text lacks nothing of that revision.
    this.#isTextUnrecorded ||= this.#wanted === inFile && textRecord?.of !== this.#newestRevision;
  }

  /**
   * What the file is to say after an edit by hand: what the edit says, with what it did not know of. `merged`: that includes
   * sets that the file had already. A field is one field, whatever names the texts have for it. `isWaiting`: an edit could not be
   * recorded yet, so time that has passed since then does not make writes older than it.
   */
  rebase(edited: Config, scopes: Scopes, isWaiting: boolean): { readonly config: Config; readonly merged: boolean } {
    if (!isWaiting) this.#dropOldWrites();
    const merged = mergeStaleEdit({ textHash: this.textHash(), config: edited }, this.#recentWrites);
    const base = merged ?? edited;
    const untouched = diffConfigs(this.#inFile, this.#wanted).filter(path =>
      sameJson(valueByAnyName(base, path, scopes), valueByAnyName(this.#inFile, path, scopes)),
    );
    const edits = editsAsIn(this.#wanted, untouched, scopes);
    return { config: edits.length > 0 ? applyConfigEdits(base, edits) : base, merged: merged !== undefined };
  }

  /**
   * What the file should have if somebody saved at the very moment of the last write, or kept writing to the file that it replaced:
   * that edit was based on the earlier text. Null if it is not JSON; undefined if there was no such edit.
   */
  async lateEdit(scopes: Scopes): Promise<Config | null | undefined> {
    const value = await this.files.values.replacedEdit();
    if (value === undefined) return undefined;
    const { config = {} } = value ?? {};
    if (value === null || !isConfig(config)) return null;
    // In a work tree a text is taken as a whole.
    const { content } = this.files;
    if (content.kind === "good" && content.metadata.inTree) return config;
    return applyConfigEdits(this.#wanted, editsAsIn(config, diffConfigs(this.#replaced, config), scopes));
  }

  /** What the last write replaced is done with: the file is to be replaced again. Throws ForeignEditError if it was edited. */
  async beginReplacing(): Promise<void> {
    if ((await this.files.values.replacedEdit()) !== undefined) throw new ForeignEditError();
    await this.dropReplaced();
    this.#replaced = this.#inFile;
  }

  /** A start looks for no such edit any more. */
  dropReplaced(): Promise<void> {
    return this.files.values.dropReplaced();
  }

  /** What a person changed must not be brought back by a merge; with no paths: all is known to them. */
  forgetRecentWrites(paths?: readonly ConfigPath[]): void {
    if (paths === undefined) {
      this.#recentWrites = [];
      return;
    }
    const changed = new Set(paths.map(({ scope, field }) => joinConfigPath(scope, field)));
    this.#recentWrites = this.#recentWrites.map(write => ({
      ...write,
      paths: write.paths.filter(({ scope, field }) => !changed.has(joinConfigPath(scope, field))),
    }));
  }

  /**
   * Appends what the history lacks, for its readers; durably unless `isLazy`. `mayRecordText`: the file's text is ours, or an edit
   * that is recorded. Throws the system's error.
   */
  async writeHistory(isLazy: boolean, mayRecordText = !isLazy): Promise<void> {
    const recordsText = mayRecordText && this.#hasTextToRecord;
    const hash = this.textHash();
    const moment = this.#moment();
    const of = this.#wanted === this.#inFile ? moment.revision : this.#fileRevision;
    const textRecord = { text: hash, over: hash, of, since: of, isWhole: false };
    await this.#appendTail(isLazy, moment, recordsText ? textRecord : undefined);
    if (recordsText) this.#isTextUnrecorded = false;
  }

  /** Whether the history lacks something about the file's present text. */
  get #hasTextToRecord(): boolean {
    const unrecorded = this.#unrecorded.list;
    if (unrecorded.length > 0 && !sameJson(unrecorded, this.journal.head?.textRecord?.untold ?? [])) return true;
    return this.#isTextUnrecorded && this.files.content.kind === "good" && !this.isFileBehind;
  }

  /** Writes the text of a configuration beside the file, and begins to put it on the disk. Throws ForeignEditError or the system's error. */
  prepare(config: Config, scopes: Scopes): Promise<void> {
    return this.#inTurn(() => {
      const { values } = this.files;
      return values.prepare({ ...values.value, config }, movedNames(this.#inFile, config, scopes));
    });
  }

  /** That will not be written. */
  dropPrepared(): Promise<void> {
    return this.files.values.dropPrepared();
  }

  /**
   * Makes history and file say what was committed, durably: before the file is replaced the history has its revision and the
   * hash of its text. Inside `inTurn`. `isServed` tells whether all of a configuration can be active; `onReplaced` is called
   * when people see the new file, which then only a power loss could take back, for the log to put it there again. Throws
   * ForeignEditError, DocumentTooLargeError or the system's error.
   */
  async write(isServed: (config: Config) => boolean, scopes: Scopes, onReplaced?: () => void): Promise<void> {
    const document = this.files.values;
    if (this.files.content.kind === "broken") return this.writeHistory(false);
    await this.beginReplacing();
    // Both are of one moment: what is committed later is not in this text.
    const wanted = this.#wanted;
    const moment = this.#moment();
    const differences = await runInParts(diffingConfigs(this.#inFile, wanted));
    if (differences.length === 0) {
      this.#inFile = wanted;
      this.#dropRecordedEdits();
      return this.writeHistory(false);
    }
    const before = { textHash: this.textHash(), config: this.#inFile };
    const since = this.#fileRevision;
    const isWhole = isServed(wanted);
    let textHash = before.textHash;
    const record = async (text: string) => {
      textHash = hashText(text);
      const textRecord = { text: textHash, over: before.textHash, of: moment.revision, since, isWhole };
      await this.#appendTail(false, moment, textRecord);
    };
    const moved = movedNames(before.config, wanted, scopes);
    await document.write({ ...document.value, config: wanted }, { record, onReplaced, moved });
    this.#isTextUnrecorded = false;
    this.#inFile = wanted;
    this.#dropRecordedEdits();
    this.#fileRevision = moment.revision;
    if (this.#wanted === wanted) this.#editedBytes = 0;
    this.#wroteAt = this.#clock.monotonic();
    this.#dropOldWrites();
    const paths = differences.map(({ scope, field }) => ({ scope, field }));
    this.#recentWrites.push({ at: this.#wroteAt, before, after: { textHash, config: wanted }, paths });
  }

  /** Records the file's present text, even if it was recorded before: there are no more pending changes for the file. */
  async recordText(): Promise<void> {
    if (!this.isFileBehind) this.#fileRevision = this.#newestRevision;
    this.#isTextUnrecorded = true;
    await this.writeHistory(false);
  }

  /** Runs `task`, which writes the history anew, while nothing is appended to it. */
  rewriteHistory(task: () => Promise<void>): Promise<void> {
    return this.#historyInTurn(async () => {
      await task();
      this.#markSynced(this.#appended);
    });
  }

  /** Of the values' file as it was last seen; one that is gone has the hash of no text. */
  textHash(): string {
    const text = this.files.values.text ?? "";
    if (this.#hashed.text !== text) this.#hashed = { text, hash: hashText(text) };
    return this.#hashed.hash;
  }

  /**
   * Appends what was committed up to a moment to the history, followed by a record of the file's text at that moment. Throws the
   * system's error; then the history is as it was after the last sync.
   */
  #appendTail(
    isLazy: boolean,
    { last, unrecorded }: Moment,
    text?: Pick<TextRecord, "text" | "over" | "of" | "since" | "isWhole">,
  ): Promise<void> {
    return this.#historyInTurn(async () => {
      const end = this.#tail.findLastIndex(({ number }) => number <= last) + 1;
      const records = this.#tail.slice(this.#appended, end).flatMap(({ record }) => record ?? []);
      const revision = records.at(-1)?.revision ?? this.journal.head?.revision ?? 0;
      const through = last > 0 ? formatPosition(this.#log.id, last) : this.#through;
      const textRecord = text && this.#textRecord({ kind: "text", revision, ...text }, unrecorded, through);
      const isRecordedAlready = records.length === 0 && sameJson(textRecord ?? {}, this.journal.head?.textRecord ?? {});
      const texts = textRecord === undefined || isRecordedAlready ? [] : [textRecord];
      // If no text was recorded yet.
      const first =
        this.journal.head?.textRecord === undefined && this.#firstText !== undefined ? [this.#firstText] : [];
      try {
        if (records.length + texts.length > 0)
          await this.journal.append([...first, ...records, ...texts], this.#written, !isLazy);
        if (records.length > 0)
          this.#written = applyChanges(
            this.#written,
            records.flatMap(({ changes }) => changes),
          );
        this.#appended = Math.max(this.#appended, end);
        if (isLazy) return;
        await this.journal.sync();
      } catch (error) {
        // As the journal is.
        this.#written = this.#synced;
        this.#appended = 0;
        throw error;
      }
      this.#through = through;
      this.#markSynced(end);
    });
  }

  /** All that was appended to the history is on the disk, and so many commits have nothing that it lacks. */
  #markSynced(commits: number): void {
    this.#synced = this.#written;
    this.#tail.splice(0, commits);
    this.#appended -= commits;
  }

  #textRecord(text: TextRecord, unrecorded: readonly ConfigEdit[], through: Position | undefined): TextRecord {
    return {
      ...text,
      ...(this.#lineage !== "" && { lineage: this.#lineage }),
      ...(unrecorded.length > 0 && { untold: unrecorded }),
      ...(through !== undefined && { through }),
    };
  }

  #moment(): Moment {
    return { last: this.#tail.at(-1)?.number ?? 0, revision: this.#newestRevision, unrecorded: this.#unrecorded.list };
  }

  get #newestRevision(): number {
    const newest = this.#tail.findLast(({ record }) => record !== undefined)?.record;
    return newest?.revision ?? this.journal.head?.revision ?? 0;
  }

  /** Drops edits that the file has by now, and those that it should no longer have. */
  #dropRecordedEdits(): void {
    this.#unrecorded.keep(
      ({ scope, field, value }) =>
        !sameJson(configValue(this.#inFile, scope, field), value) &&
        sameJson(configValue(this.#wanted, scope, field), value),
    );
  }

  #dropOldWrites(): void {
    const since = this.#clock.monotonic() - staleEditAge;
    const firstKept = this.#recentWrites.findIndex(({ at }) => at >= since);
    this.#recentWrites.splice(0, firstKept === -1 ? this.#recentWrites.length : firstKept);
  }
}

/** Of fields in a file's text, however deep they are indented there. */
function mostBytes(edits: readonly ConfigEdit[]): number {
  return edits.reduce((sum, { field, value }) => sum + 3 * (field.length + mostCharacters(value, 1)) + 200, 0);
}

/** With ten blanks a level. Counted and not written: of what is nested deeply nearly all is blanks. */
function mostCharacters(value: JsonValue | undefined, depth: number): number {
  if (value === undefined) return 0;
  if (typeof value !== "object" || value === null) return JSON.stringify(value).length;
  const line = 10 * depth + 3;
  let count = line;
  if (isJsonObject(value))
    for (const name of Object.keys(value))
      count += line + JSON.stringify(name).length + mostCharacters(value[name], depth + 1);
  else for (const item of value) count += line + mostCharacters(item, depth + 1);
  return count;
}

export function sameConfig(one: Config, other: Config): boolean {
  return one === other || diffConfigs(one, other).length === 0;
}
