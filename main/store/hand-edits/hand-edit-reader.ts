import { randomBytes } from "node:crypto";
import type { Config, ConfigEdit } from "../../../shared/config.ts";
import { diffConfigs, diffingConfigs, editsOf, type StoredDifference } from "../../../shared/config-diff.ts";
import { RepoconfError } from "../../../shared/errors.ts";
import { describeProblem } from "../../../shared/health.ts";
import { repositoryOfDocument } from "../../../shared/repository-id.ts";
import { runInParts } from "../../time/turns.ts";
import { applyCommit } from "../apply-commit.ts";
import type { ChangeRecord } from "../history/record.ts";
import { type Commit, type Committed, ConflictError } from "../log/commit-log.ts";
import { startingPoint } from "../mirror/recovery.ts";
import { describedBy } from "../mirror/repository-metadata.ts";
import type { StartingPoint } from "../mirror/starting-point.ts";
import type { RepositoryContext } from "../state/repository-context.ts";
import { storageFailure, unreadableJournal } from "../storage-failure.ts";
import type { DocumentCommit, LogNumber } from "../types.ts";
import { activatedEdits, editCommit, lackingIn, type OwnCommit, wholeCommit } from "./edit-commits.ts";
import { problemOfFirst, wasNeverWritten, writeFirstFile } from "./first-file.ts";
import { LateEdits } from "./late-edits.ts";
import { tellRecovery, tellStart } from "./start-report.ts";

/** Reads a repository's files. An edit by hand is appended to the log like any other change. */
export class HandEditReader {
  readonly lateEdits: LateEdits;
  /** Requests a refresh in the repository's queue. */
  readonly requestRefresh: () => Promise<void>;
  /** The error that prevents an edit in the files from being appended to the log; undefined if there is none. */
  unrecorded: unknown;
  /** Whether it was tried to read files and journal, successfully or not. */
  isRead = false;
  /** The newest commit of another machine. */
  takenAt: LogNumber = 0;
  /** When the next refresh was first requested, by the clock's `monotonic()`: it may wait long for a change before it in the queue. */
  noticedAt: number | undefined;
  /** Whether the values must be checked again, only to report their problems. */
  isHealthDue = false;
  readonly #context: RepositoryContext;
  isRemoved = false;
  /** Whether the journal is open and its values are known. */
  #journalRead = false;
  /** Of a repository that begins here: its lineage, until it is in the log. Whatever is recorded first must begin it. */
  #unbegun: string | undefined;
  /** The next commit must be a recovery. */
  #isRecovery = false;
  /** Whether the history lacked something when it was read. */
  #isLost = false;
  /** Callbacks of those who hold the repository and wait for commits of other machines. */
  readonly #waiting = new Set<() => void>();
  /** Commits of the log that the history may lack. */
  readonly #unmirrored: Committed<Commit>[];
  /** Applies another machine's commit. */
  readonly #applyRemote: (committed: Committed<Commit>, document: DocumentCommit) => void;

  constructor(
    context: RepositoryContext,
    requestRefresh: () => Promise<void>,
    applyRemote: (committed: Committed<Commit>, document: DocumentCommit) => void,
  ) {
    this.#context = context;
    this.requestRefresh = requestRefresh;
    this.#applyRemote = applyRemote;
    this.#unmirrored = [...context.given.missed.commits];
    this.lateEdits = new LateEdits(context, this);
  }

  /** Whether the log has the repository, as far as is known. */
  get hasBegun(): boolean {
    return this.#unbegun !== this.#context.committed.lineage;
  }

  /** The first entry that the log must keep until the files have been read; undefined if none. */
  get keptFrom(): LogNumber | undefined {
    return this.#unmirrored[0]?.number;
  }

  /** Keeps another machine's commit until the files have been read. */
  keep(committed: Committed<Commit>): void {
    this.#unmirrored.push(committed);
  }

  /** Whether files and journal have been read. A journal that cannot be opened is retried at every refresh. */
  get loaded(): boolean {
    return this.isRead && this.#journalRead;
  }

  markRemoved(): void {
    this.isRemoved = true;
    for (const resolve of this.#waiting) resolve();
  }

  /**
   * Resolves when other machines' commits have been applied, or the repository has been removed: a new repository with this id may
   * follow the removal in the log, and waits until nobody holds the earlier one.
   */
  async conflictApplied(conflict: ConflictError): Promise<void> {
    if (this.isRemoved) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#waiting.add(resolve);
    void conflict.applied.then(resolve);
    await promise;
    this.#waiting.delete(resolve);
  }

  /** Call before a change is decided: commits an edit of the files first. */
  async bringUpToDate(): Promise<void> {
    while (this.unrecorded instanceof ConflictError && !this.isRemoved) {
      await this.conflictApplied(this.unrecorded);
      await this.refresh();
    }
    // The file may have been fixed, without an event so far.
    const isBroken = this.unrecorded !== undefined || this.#context.files.content.kind === "broken";
    if (isBroken || (await this.#context.files.isTouched())) await this.refresh();
    // A change decided by new schemas on a state from old ones would include the fields of scopes that were added or removed.
    while (this.#context.isCheckedByOldRules && !this.isRemoved) await this.refresh();
  }

  get refusal(): RepoconfError | undefined {
    if (this.isRemoved || this.#context.files.content.kind === "broken") return this.notWritable();
    return this.unrecorded === undefined ? undefined : storageFailure(this.#context.id, this.unrecorded);
  }

  /** Called when a refresh failed because of a bug: the known state stays. */
  giveUpLoading(error: unknown): void {
    this.isRead = true;
    this.unrecorded ??= error;
    this.#context.checkedBy = this.#context.store.scopes.defaults;
    this.#context.reportProblem("could not check a repository's files", error);
  }

  /** Reads the files and returns whether they changed. */
  refresh(): Promise<boolean> {
    return this.#context.mirror.locked(() => this.refreshLocked());
  }

  async refreshLocked(): Promise<boolean> {
    if (this.isRemoved) return false;
    const noticedAt = this.noticedAt ?? this.#context.store.clock.monotonic();
    this.noticedAt = undefined;
    const { files, mirror } = this.#context;
    const path = this.isRead ? files.values.path : undefined;
    const changed = await files.refresh();
    // Writes to another file are no earlier texts of this one.
    if (path !== undefined && files.values.path !== path) mirror.recentWrites.forget();
    if (files.home.status.kind !== "missing") mirror.firstFailure = undefined;
    if (!this.loaded) await this.#load();
    else if (wasNeverWritten(this.#context, this.#context.committed, this.#isLost)) {
      const isWritten = await writeFirstFile(this.#context, this.#context.committed.target);
      if (isWritten) await this.reconcile(this.#context.committed.target, "file");
    } else if (changed || this.unrecorded !== undefined) await this.applyExternalEdit(noticedAt);
    else if (this.#context.isCheckedByOldRules) await this.reconcile(this.#context.committed.target, "file");
    else if (this.isHealthDue) await this.#reportHealth();
    else return this.lateEdits.apply();
    await this.lateEdits.apply();
    return true;
  }

  /**
   * Brings log, journal and files together after a start. An edit made while no daemon ran becomes a revision; what a broken
   * file had last is read from the journal.
   */
  async #load(): Promise<void> {
    const { id: repo, store, mirror, journal, files, given } = this.#context;
    const { indexed, missed } = given;
    const isNew = given.addedBy !== undefined;
    // Commits that arrive from now on are applied later: an edit that was decided without them must be refused.
    const after = store.log.newest;
    try {
      const unmirrored = [...this.#unmirrored];
      await journal.open();
      const others = await files.values.adoptLeft(journal.head?.textRecord ?? {});
      const { rules, beginsInLog } = this.#context;
      const known = { repo, unmirrored, log: store.log, indexed, lost: missed.lost, isNew, beginsInLog, rules };
      let point = await startingPoint(mirror, journal, known);
      this.#isLost = point.isLost;
      const isUnwritten = wasNeverWritten(this.#context, point.state, point.isLost);
      if (isUnwritten && (await writeFirstFile(this.#context, point.state.target)))
        point = await startingPoint(mirror, journal, known);
      await this.#context.turn();
      // Values of an earlier repository with this id are no last valid values of this one.
      const begins = isNew || point.state.revision === 0 || this.#isAbsentFromLog(point);
      const lineage = begins || point.state.lineage === "" ? randomBytes(4).toString("hex") : point.state.lineage;
      this.#unbegun = begins ? lineage : undefined;
      this.#isRecovery = point.isRecovery;
      this.#unmirrored.splice(0, unmirrored.length);
      this.#context.committed = { ...point.state, lineage };
      mirror.begin(point);
      this.unrecorded = undefined;
      const { revision, position, valid } = point.state;
      await tellStart(this.#context, point, others);
      if (files.values.replacedPath !== undefined) this.lateEdits.endLater();
      const isUnknown = begins || (point.isLost && files.content.kind === "broken");
      const stored = isUnknown ? undefined : this.#context.known(valid);
      this.#context.current = { ...this.#context.current, revision, position, stored };
      await this.reconcile(point.state.target, point.merged ? "merge" : "file", after);
      if (this.unrecorded !== undefined && stored !== undefined) this.#keepRecorded(point);
    } catch (error) {
      // With the end of the journal but not its values, the next record would contain changes that nobody made.
      journal.close();
      if (this.unrecorded === undefined)
        this.#context.reportProblem("cannot read the journal; changes are refused until it can be read again", error);
      this.unrecorded = unreadableJournal(repo, error);
      const { content } = files;
      await this.reconcile(content.kind === "good" ? content.config : {}, "file");
    }
    this.isRead = true;
    this.#journalRead = journal.head !== undefined;
    this.#takeMissed();
    if (this.#journalRead && mirror.isOutdated) this.#context.reports.onOutdated();
  }

  /** Whether the log ended the repository that the history is of: somebody put back the file of one that was removed. */
  #isAbsentFromLog({ tail }: StartingPoint): boolean {
    const { store, beginsInLog, journal, given } = this.#context;
    if (!beginsInLog || given.absentUntil === undefined || tail.length > 0) return false;
    return store.log.numberOf(journal.head?.position) <= given.absentUntil;
  }

  /** Called if an edit made before the start could not be recorded: it stays in the file and is retried, like a later one. */
  #keepRecorded(point: StartingPoint): void {
    const { content } = this.#context.files;
    const entry = this.#proposed("file", editsOf(diffConfigs(this.#context.committed.target, point.before.target)));
    this.#context.committed = applyCommit(this.#context.committed, entry, entry.documents[0]).state;
    this.#context.mirror.waitForEdit(point);
    if (content.kind === "good") this.#context.current = describedBy(this.#context.current, content.metadata);
    this.#context.reports.onMetadata(this.#context.current);
  }

  /** Applies commits of other machines that arrived while the journal was being read. */
  #takeMissed(): void {
    if (!this.#journalRead) return;
    for (const committed of this.#unmirrored.splice(0)) {
      const document = committed.entry.documents.find(({ repo }) => repo === this.#context.id);
      if (document !== undefined) this.#applyRemote(committed, document);
    }
  }

  /** Handles a change of the files. `noticedAt`: when it was noticed, by the clock's `monotonic()`. */
  async applyExternalEdit(noticedAt = this.#context.store.clock.monotonic()): Promise<void> {
    const { content } = this.#context.files;
    if (content.kind === "broken") return this.reconcile(this.#context.committed.target, "file");
    const { mirror } = this.#context;
    const isOurs = mirror.isTextRecorded || mirror.isReplacedText;
    // Git puts whole files into a work tree. The daemon's own one lacks the changes that are not written yet.
    if (content.metadata.inTree && !isOurs) return this.reconcile(content.config, "file");
    const noticed = this.unrecorded === undefined ? noticedAt : undefined;
    const { config, merged } = mirror.rebase(content.config, this.#context.store.scopes, noticed);
    await this.reconcile(config, merged ? "merge" : "file");
  }

  /** Commits the files' values as a change. `target` are the values that they are to have from now on. */
  async reconcile(target: Config, kind: "file" | "merge", after = this.#context.store.log.newest): Promise<void> {
    this.isHealthDue = false;
    // Only now: readers wait until new rules and their values are visible together.
    this.#context.checkedBy = await this.#reconcile(target, kind, after);
  }

  /** Returns the defaults of the rules that the values were checked by. */
  async #reconcile(target: Config, kind: "file" | "merge", after: LogNumber): Promise<Config> {
    const source = this.#isRecovery ? "recovery" : kind;
    const before = this.#context.current;
    const first = !this.isRead;
    const content = this.#context.files.content;
    const { broken: _, ...whole } = before;
    if (content.kind === "broken") {
      // A person is editing the file and knows its text; later edits are based on it, so earlier writes must not be merged into them.
      this.#context.mirror.recentWrites.forget();
      const problem = problemOfFirst(this.#context, content.problem);
      this.#context.show({ ...describedBy(whole, content.metadata), broken: problem }, [problem], first);
      this.#context.reports.onMetadata(this.#context.current);
      return this.#context.store.scopes.defaults;
    }
    // Another branch may remove the value and restore it later, and trust.json may be missing.
    if (before.stored !== undefined && source !== "recovery") this.#context.trustBuiltIn(before.stored);
    const { stored, health, changes, by } = await this.#context.interpret(target);
    await this.#context.turn();
    const isNew = this.#context.journal.head?.segment === undefined && this.#context.current.revision === 0;
    const begins = isNew || (!this.hasBegun && this.#context.beginsInLog);
    const edited = await runInParts(diffingConfigs(this.#context.committed.target, target));
    await this.#context.turn();
    const edits = [...editsOf(edited), ...activatedEdits(changes, edited, target)];
    await this.#context.turn();
    const accept = (entry: OwnCommit, number?: LogNumber) => {
      this.#context.mirror.recentWrites.forget(changes);
      const made = applyCommit(this.#context.committed, entry, entry.documents[0], { target });
      const applied = lackingIn(content.config, made);
      const mergeNote = { code: 1104, message: mergeMessage(applied.record) } as const;
      const committed = number === undefined ? undefined : { number, entry };
      this.#context.commit([{ committed, applied }], source === "merge" ? [...health, mergeNote] : health, {
        isFirst: first,
        file: content,
        // Before the first revision nobody has seen any values.
        isSilent: source !== "recovery" && (changes.length === 0 || begins),
        uncommitted: committed === undefined && before.stored === undefined ? stored : undefined,
      });
      this.#context.reports.onMetadata(this.#context.current);
    };
    // The revisions of a layer count from an empty one, so that all its values are changes.
    if (this.#context.given.isLayer && begins && isNew) {
      const empty = this.#proposed("file", [], []);
      const begin = (entry: OwnCommit, number: LogNumber) => {
        const applied = applyCommit(this.#context.committed, entry, entry.documents[0], { target: {} });
        const options = { isFirst: first, file: content, isSilent: true };
        this.#context.commit([{ committed: { number, entry }, applied }], [], options);
      };
      return (await this.#record(empty, after, begin)) ? this.#reconcile(target, kind, after) : by;
    }
    if (this.takenAt > after) {
      this.#beginAgain(new ConflictError(Promise.resolve()));
      return by;
    }
    if (changes.length > 0 || begins || source === "recovery") {
      if (source === "recovery") await tellRecovery(this.#context, target);
      const isWhole = source === "recovery" || (begins && !isNew);
      const proposed = isWhole
        ? wholeCommit(this.#context, source, content.config, target, changes)
        : this.#proposed(kind, edits, changes);
      const isRecorded = await this.#record(proposed, after, accept);
      // An edit without a revision becomes active only if no other values are known.
      if (isRecorded || !first || before.stored !== undefined) return by;
    } else if (this.#context.journal.head !== undefined) this.unrecorded = undefined;
    accept(this.#proposed(kind, edits));
    return by;
  }

  /**
   * Reports the problems of the values by this machine's schemas. Values that another machine committed stay active: otherwise two
   * machines with different schemas would keep reverting each other.
   */
  async #reportHealth(): Promise<void> {
    this.isHealthDue = false;
    const before = this.#context.current;
    const { health } = await this.#context.interpret(this.#context.committed.target);
    if (before.broken !== undefined || this.#context.current !== before) return;
    this.#context.show(before, health);
  }

  /** Called if another machine's commit came first: the file is compared with it as soon as it has been applied. */
  #beginAgain(conflict: ConflictError): void {
    this.unrecorded = conflict;
    void conflict.applied.then(() => this.requestRefresh());
  }

  /** Commits an edit by hand. If that fails, it is retried at the next refresh, and the edit is inactive until then. */
  async #record(
    entry: OwnCommit,
    after: LogNumber,
    accept: (entry: OwnCommit, number: LogNumber) => void,
  ): Promise<boolean> {
    try {
      const { store, journal } = this.#context;
      if (journal.head === undefined) throw this.unrecorded;
      const committed = (number: LogNumber) => {
        this.unrecorded = undefined;
        this.#unbegun = undefined;
        accept(entry, number);
        this.#isRecovery = false;
      };
      await store.log.append({ entries: [entry], after, committed });
      return true;
    } catch (error) {
      if (this.unrecorded === undefined && !(error instanceof ConflictError))
        this.#context.reportProblem("a hand edit cannot be recorded, so it is not active yet", error);
      if (error instanceof ConflictError) this.#beginAgain(error);
      else this.unrecorded = error;
      return false;
    }
  }

  #proposed(source: "file" | "merge", edits: readonly ConfigEdit[], changes?: readonly StoredDifference[]): OwnCommit {
    return editCommit(this.#context, source, !this.hasBegun, edits, changes);
  }

  notWritable(): RepoconfError {
    const repo = repositoryOfDocument(this.#context.id);
    if (this.isRemoved) return new RepoconfError(1102, `There is no repository ${repo}.`, { repo });
    const { mirror, current } = this.#context;
    if (mirror.firstFailure !== undefined) return storageFailure(repo, mirror.firstFailure);
    const { broken } = current;
    const what = broken === undefined ? "It is invalid." : `${describeProblem(broken)}.`;
    const { files, given } = this.#context;
    const whose = given.isLayer ? "file of local values" : "file";
    // Nobody knows a file of the home by its name.
    const edit = given.isLayer || files.treeFolder || broken?.line === undefined ? "" : " To edit it: file/write";
    return new RepoconfError(1106, `The repository's ${whose} is invalid. Fix it and retry: ${what}${edit}`, { repo });
  }
}

function mergeMessage(record: ChangeRecord | undefined): string {
  // Otherwise the newest revision would be a tool's, and undo would revert that one.
  const consequence =
    record === undefined || record.changes.length === 0
      ? ": the file contains both. The edit changed no active value, so it made no revision."
      : ` (revision ${record.revision}); undo reverts the edit.`;
  return `A hand edit and a set made at the same time were merged${consequence}`;
}
