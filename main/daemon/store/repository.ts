import { applyConfigEdits, type Config, configValue, countConfigFields } from "../../../shared/config.ts";
import type { ConfigPath } from "../../../shared/config-path.ts";
import { sameJson } from "../../../shared/json.ts";
import { overValues } from "./document-commits.ts";
import { FileIntake } from "./file-intake.ts";
import type { Journal } from "./journal/journal.ts";
import { applyChanges } from "./journal/record.ts";
import {
  type Commit,
  type Committed,
  type ConflictError,
  type DocumentCommit,
  type LogNumber,
  numberIn,
  positionOf,
} from "./log/commit-log.ts";
import type { Mirror } from "./mirror.ts";
import { MirrorFollower } from "./mirror-follower.ts";
import { recordOf } from "./recovery.ts";
import { valueByAnyName } from "./renamed-fields.ts";
import { type PreparedChanges, RepositoryChanges } from "./repository-changes.ts";
import type { FileStamps, RepositoryFiles } from "./repository-files.ts";
import { RepositoryQueue } from "./repository-queue.ts";
import { type IndexedRepository, type RepositoryOptions, ServedState } from "./repository-state.ts";
import { unreadableJournal } from "./storage-failure.ts";
import type {
  Applied,
  ChangeRequest,
  Mirrored,
  RepositoryState,
  RepositorySummary,
  ValueSource,
  WaitingValue,
} from "./store.ts";
import { TextOperations } from "./text-operations.ts";
import { acceptValue, waitingValues } from "./waiting-values.ts";

/** Milliseconds after the last write in which an edit by hand may still be one of something older. */
const restTime = 10_000;

/**
 * One repository. Its state changes in one way: an operation (`RepositoryChanges`) and an edit by hand (`FileIntake`) alike are
 * compared with what was there (`ServedState`), put into the log, and then visible and published, one at a time
 * (`RepositoryQueue`). History and file follow (`MirrorFollower`).
 */
export class Repository {
  readonly #served: ServedState;
  readonly #intake: FileIntake;
  readonly #follower: MirrorFollower;
  readonly #changes: RepositoryChanges;
  readonly #queue: RepositoryQueue;

  constructor(options: RepositoryOptions) {
    this.#served = new ServedState(options);
    const intake = new FileIntake(
      this.#served,
      () => this.refresh(),
      (committed, document) => this.takeOver(committed, document, false),
    );
    this.#intake = intake;
    this.#follower = new MirrorFollower(this.#served, intake);
    const changes = new RepositoryChanges(this.#served, intake, this.#follower);
    this.#changes = changes;
    this.#queue = new RepositoryQueue({
      // Another machine may remove one that nobody has read.
      get isToBeRead() {
        return !intake.isRead && !intake.isRemoved;
      },
      refresh: async () => {
        await intake.refresh().catch(error => intake.giveUpLoading(error));
      },
      change: batch => changes.change(batch),
      dropPrepared: () => this.dropPrepared(),
    });
  }

  get id(): string {
    return this.#served.id;
  }

  get mirror(): Mirror {
    return this.#served.mirror;
  }

  get files(): RepositoryFiles {
    return this.mirror.files;
  }

  get journal(): Journal {
    return this.mirror.journal;
  }

  /** The newest durable state; before `loaded` only what the index knew. */
  get state(): RepositoryState {
    return this.#served.current;
  }

  /** The oldest revision whose successors are all kept. */
  get oldest(): number {
    return this.journal.oldest(this.#served.current.revision);
  }

  /** Which of the repositories that had this id; known once it is loaded. */
  get lineage(): string {
    return this.#served.lineage;
  }

  /** The values of `state` as the log has them. */
  get recorded(): Config {
    return this.#served.recorded;
  }

  /** The versions of the files that `state` was made from. */
  get stamps(): FileStamps {
    return this.#served.stamps;
  }

  /** When it last wrote its values itself, by the clock's `monotonic()`. */
  get wroteAt(): number {
    return this.#served.madeMirror?.wroteAt ?? Number.NEGATIVE_INFINITY;
  }

  /** The first entry that the log has to keep because of this repository; undefined if none. */
  get keptFrom(): LogNumber | undefined {
    return this.#intake.keptFrom ?? this.#served.madeMirror?.keptFrom;
  }

  /** Whether files and journal have been read. A journal that cannot be opened is tried again at every look. */
  get loaded(): boolean {
    return this.#intake.loaded;
  }

  /** Whether they have been read, if only in vain. */
  get isRead(): boolean {
    return this.#intake.isRead;
  }

  /** Whether this object can be let go: nothing waits or is on its way, and its files have all that another one needs. */
  get isAtRest(): boolean {
    // Which disk a work tree was on, nothing but this object knows.
    if (this.#queue.isBusy || this.#served.current.inTree || !this.loaded || this.journal.isCompacting) return false;
    if (this.#intake.unrecorded !== undefined || this.#served.isCheckedByOldRules) return false;
    const isWell = this.#served.current.broken === undefined && this.#served.current.health.length === 0;
    const isOver = this.wroteAt + restTime < this.#served.options.clock.monotonic();
    return isWell && isOver && !this.mirror.isBehind && this.keptFrom === undefined;
  }

  get summary(): RepositorySummary {
    const { stored, broken: _, position: __, ...info } = this.#served.current;
    const modified = stored === undefined ? (this.#served.options.indexed?.modified ?? 0) : countConfigFields(stored);
    return { ...info, modified };
  }

  /** Once it is loaded: what a later start, or another object, is to know of it before it reads the files. */
  get indexEntry(): IndexedRepository {
    const isLevel = !this.mirror.isBehind && this.files.content.kind === "good";
    const text = isLevel ? { text: this.mirror.textHash() } : {};
    const known = { ...this.summary, position: this.#served.current.position, stamps: this.stamps, ...text };
    // Of a log that is elsewhere, a start has what the history has, and all that came later comes again.
    const revision = this.#served.options.log.shared && this.mirror.historyRevision;
    return revision === undefined ? known : { ...known, revision, position: undefined };
  }

  /** Reads what has not been read yet. Throws RepoconfError 1108 while the journal cannot be read, 1102 once removed. */
  async load(): Promise<void> {
    if (!this.loaded) await this.refresh();
    if (!this.loaded) throw this.#intake.isRemoved ? this.#intake.notWritable() : this.#intake.unrecorded;
  }

  /** The file with the values. */
  get file(): string {
    return this.files.values.path;
  }

  /** Where a field's value stands in the file. */
  source(scope: string, field: string): ValueSource {
    const names = this.#served.options.scopes.namesOf({ scope, field });
    return { file: this.file, ...this.#served.locate(names.map(name => [name.scope, name.field])).find(Boolean) };
  }

  /** Whether the active value is what the file says, also of a field that stands in neither. */
  isFromFile(scope: string, field: string): boolean {
    const { stored, broken } = this.#served.current;
    const served = configValue(stored ?? {}, scope, field);
    const said = valueByAnyName(this.mirror.wanted, { scope, field }, this.#served.options.scopes);
    return broken === undefined && sameJson(served, said);
  }

  /**
   * Takes what another machine committed as it is: nothing is decided again. Between two turns of the event loop, in the order of
   * the log. `isPart`: other repositories have more of the same entry. Until it is `loaded`, its next load takes it.
   */
  takeOver({ number, entry }: Committed<Commit>, appended: DocumentCommit, isPart: boolean): void {
    if (!this.loaded) {
      this.#intake.keep({ number, entry });
      return;
    }
    const before = this.#served.current;
    const { log } = this.#served.options;
    const document = overValues(appended, this.#served.recorded);
    const { revision, edits } = document;
    const isRevision = revision > before.revision;
    // What the history had before a start comes again.
    const recordedThrough = numberIn(log.id, this.journal.head?.textRecord?.through);
    if (!isRevision && (revision < before.revision || document.served?.length !== 0 || number <= recordedThrough))
      return;
    this.#intake.takenAt = number;
    if (document.begins) {
      this.#served.lineage = document.lineage;
      this.mirror.beginLineage(document.lineage);
    }
    const position = positionOf({ number, entry }, log.id);
    const record = isRevision ? { ...recordOf(entry, document, this.#served.recorded), position } : undefined;
    const changes = record?.changes ?? [];
    const wanted = applyConfigEdits(this.mirror.wanted, edits);
    const isKnown = edits.every(({ scope, field }) => this.#served.options.scopes.field(scope, field) !== undefined);
    // As long as all that the file says is active, both are one object, and what is set next need not be judged with the rest.
    const isWhole = before.stored === this.mirror.wanted && document.served === undefined && isKnown;
    const stored = isWhole ? wanted : this.#served.known(applyChanges(before.stored ?? {}, changes));
    this.#served.recorded =
      isWhole && this.#served.recorded === before.stored ? wanted : applyChanges(this.#served.recorded, changes);
    this.mirror.commit([{ number, record, edits }], wanted);
    const health = this.#served.problems;
    this.#served.setState({ ...before, stored, ...(isRevision && { revision, position }) }, health);
    if (record !== undefined)
      this.#served.options.publish({ kind: "changed", state: this.#served.current, change: record, isPart });
    this.#served.publishDifferences(before, this.#served.current, false);
    this.#served.options.onBehind();
    // What is wrong with a value, or no longer is, shows when all of them are judged.
    if ((health.length > 0 || document.served !== undefined) && !this.#served.isCheckedByOldRules) {
      this.#served.checkedBy = undefined;
      this.#intake.isHealthDue = true;
      void this.refresh();
    }
  }

  /** The log can be reached again: an edit by hand that waits in the file is tried again. */
  retry(): void {
    if (this.#intake.unrecorded !== undefined) void this.refresh();
  }

  /** The rules for values changed: judges what the files hold anew. */
  async reinterpret(): Promise<void> {
    this.#intake.isHealthDue = false;
    if (this.isRead) await this.refresh();
  }

  /** Reads the files inside the queue; an edit found there becomes a change. */
  refresh(): Promise<void> {
    return this.#queue.refresh();
  }

  change<Answer>(request: ChangeRequest<Answer>): Promise<Applied<Answer>> {
    return this.#queue.change(request);
  }

  /** Runs `task` when nothing else changes this repository, and keeps all else waiting until it ends. */
  exclusive<Result>(task: () => Promise<Result>): Promise<Result> {
    return this.#queue.exclusive(task);
  }

  /** Inside `exclusive`: see `RepositoryChanges.prepare`. */
  prepare<Answer>(
    request: ChangeRequest<Answer>,
  ): Promise<{ prepared: PreparedChanges; applied: Applied<Answer>; refused: boolean }> {
    return this.#changes.prepare(request);
  }

  /** See `MirrorFollower.follow`. `isScheduled`: nobody waits. */
  follow(options?: { readonly isScheduled?: boolean }): Promise<Mirrored> {
    return this.#follower.follow(options);
  }

  /** As `follow`, but waits while another program changes the file. */
  flush(): Promise<Mirrored> {
    return this.#follower.flush();
  }

  /** Inside the queue, right after a commit: what git sees is to be there when the caller hears of it. */
  followInTree(): Promise<void> {
    return this.#follower.followInTree();
  }

  /** The values of the work tree's file that wait until they are trusted, as the file has them now. */
  async waiting(): Promise<readonly WaitingValue[]> {
    await this.refresh();
    return waitingValues(this.#served);
  }

  /** The end of a change: a text that was made ready for it, and is not in the file, will not be. */
  async dropPrepared(): Promise<void> {
    if (this.#served.current.inTree) await this.mirror.dropPrepared();
  }

  /** Puts what was committed into the history, for who reads it. Throws RepoconfError 1108. */
  async writeHistory(): Promise<void> {
    try {
      await this.mirror.writeHistory(true);
    } catch (error) {
      throw unreadableJournal(this.id, error);
    }
  }

  /** Inside `exclusive`: see `acceptValue`. */
  accept(path: ConfigPath, hash: string): Promise<number> {
    return acceptValue(this.#served, this.#intake, path, hash);
  }

  /** Inside `exclusive`, on the text of the file. */
  get text(): TextOperations {
    return new TextOperations(this.#served, this.#intake, this.#follower);
  }

  /** A moment after the last write: who was still writing to the file that it replaced has ended by now. */
  endReplaced(): Promise<void> {
    return this.#intake.lateEdits.end();
  }

  /** The repository is gone: what waits and what comes is told so. */
  markRemoved(): void {
    this.#intake.markRemoved();
  }

  /** Throws RepoconfError 1102 if the repository is gone. */
  assertPresent(): void {
    if (this.#intake.isRemoved) throw this.#intake.notWritable();
  }

  /** Another decision makes sense. See `FileIntake.taken`. */
  taken(conflict: ConflictError): Promise<void> {
    return this.#intake.taken(conflict);
  }

  /** Resolves when nothing waits and nothing runs. */
  idle(): Promise<void> {
    return this.#queue.idle();
  }
}
