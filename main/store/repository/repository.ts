import { type Config, configValue } from "../../../shared/config.ts";
import type { ConfigPath } from "../../../shared/config-path.ts";
import { sameJson } from "../../../shared/json.ts";
import type { Layer } from "../../../shared/protocol.ts";
import { plainTokens } from "../../../shared/value-edit.ts";
import type { Scopes } from "../../scopes/scopes.ts";
import { applyCommit } from "../apply-commit.ts";
import type { StoreContext } from "../context.ts";
import { HandEditReader } from "../hand-edits/hand-edit-reader.ts";
import type { Journal } from "../history/journal.ts";
import { type RecordedJournal, revisionOf } from "../history/layered-history.ts";
import type { RecordedLayer } from "../history/repository-history.ts";
import { type Commit, type Committed, type ConflictError, numberIn } from "../log/commit-log.ts";
import type { Mirror } from "../mirror/mirror.ts";
import type { FileStamps, RepositoryFiles } from "../mirror/repository-files.ts";
import {
  type ContextEvent,
  type KnownRepository,
  RepositoryContext,
  type RepositoryReports,
} from "../state/repository-context.ts";
import type { IndexedRepository } from "../state/repository-index.ts";
import { unreadableJournal } from "../storage-failure.ts";
import type {
  Actor,
  Applied,
  ChangeRequest,
  DocumentCommit,
  LogNumber,
  RepositoryState,
  RepositorySummary,
  StoreEvent,
  ValueSource,
  WaitingValue,
} from "../types.ts";
import { valueByAnyName } from "../values/renamed-fields.ts";
import { hasSteps } from "../values/stepped-values.ts";
import { changeLayers, flushLayers, settleWith } from "./commit-together.ts";
import { MirrorWriter } from "./mirror-writer.ts";
import type { DocumentAbove } from "./parts.ts";
import { RepositoryChanges } from "./repository-changes.ts";
import { RepositoryLayers } from "./repository-layers.ts";
import { RepositoryQueue } from "./repository-queue.ts";
import { type PreviewedValue, previewScope } from "./scope-preview.ts";
import { TextOperations } from "./text-operations.ts";
import { acceptValue, waitingValues } from "./waiting-values.ts";

/** Milliseconds after the last write during which an edit by hand may still be based on an older text. */
const restTime = 10_000;

/** What gives a repository the documents above its own. */
export interface AboveRepository {
  /** The same array as long as nothing changes. */
  documents(): readonly DocumentAbove<Repository>[];
  make(layer: Layer, actor: Actor): Promise<void>;
  /** The linked worktrees in which its local values count. */
  standing(): readonly string[];
  load(repo: string): Promise<unknown>;
}

/**
 * One repository, or the document of a layer. Operations (`RepositoryChanges`) and edits by hand (`HandEditReader`) change its state in the same way, one at a time
 * (`RepositoryQueue`): they are compared with the present state (`RepositoryContext`), appended to the log, and then made visible and
 * published. History and file follow (`MirrorWriter`).
 */
export class Repository {
  readonly id: string;
  readonly files: RepositoryFiles;
  readonly journal: Journal;
  readonly mirror: Mirror;
  readonly reader: HandEditReader;
  readonly changes: RepositoryChanges;
  readonly writer: MirrorWriter;
  /** Operations on the file's text. Use them inside `exclusive`, except for `read`. */
  readonly text: TextOperations;
  readonly #context: RepositoryContext;
  readonly #queue: RepositoryQueue;
  readonly #layers: RepositoryLayers;
  readonly #above: AboveRepository;

  constructor(store: StoreContext, given: KnownRepository, reports: RepositoryReports, above: AboveRepository) {
    const context = new RepositoryContext(store, given, reports);
    this.#layers = new RepositoryLayers(store);
    this.#above = above;
    const reader = new HandEditReader(
      context,
      () => this.refresh(),
      (committed, document) => this.applyRemote(committed, document, false),
    );
    this.#context = context;
    this.reader = reader;
    this.id = context.id;
    this.files = context.files;
    this.journal = context.journal;
    this.mirror = context.mirror;
    this.writer = new MirrorWriter(context, reader);
    this.changes = new RepositoryChanges(context, reader, this.writer);
    this.text = new TextOperations(context, reader, this.writer);
    this.#queue = new RepositoryQueue({
      // Another machine may remove a repository that was not read yet.
      isToBeRead: () => !reader.isRead && !reader.isRemoved,
      refresh: async () => {
        // What an edit by hand changes of what counts depends on them.
        for (const { document } of this.above) if (!document.isRead) await document.refresh();
        await reader.refresh().catch(error => reader.giveUpLoading(error));
      },
      change: async batch => {
        try {
          if (!this.#isDerived() && batch.every(({ request }) => request.layer !== "local"))
            await this.changes.change(batch);
          else for (const waiting of batch) await settleWith(waiting, changeLayers(this, store.log, waiting.request));
        } finally {
          await this.mirror.dropPrepared();
        }
      },
    });
  }

  /** The newest durable state of what counts over all layers; until `loaded`, the one in the index. */
  get state(): RepositoryState {
    const { above } = this;
    return this.#isDerived(above) ? this.#layers.stateOf(this.own, above) : this.own;
  }

  /** Whether what counts differs from this document's own values: there are layers above it, or those of a linked worktree are higher. */
  #isDerived(above = this.above): boolean {
    return above.length > 0 || hasSteps(this.#context.current, this.#context.store.scopes);
  }

  /** The state of this document alone: for a repository, of its shared layer. */
  get own(): RepositoryState {
    return this.#context.visible;
  }

  /** The documents with values that count before these, the lowest first. */
  get above(): readonly DocumentAbove<Repository>[] {
    return this.#above.documents();
  }

  /** `above`, without what belongs to the repository that this one is a worktree of. */
  get ownAbove(): readonly DocumentAbove<Repository>[] {
    return this.above.filter(({ name }) => name !== "base");
  }

  /** Loads the repositories that a change of a layer also changes, so that they tell it. Call it outside of all queues. */
  async loadStanding(): Promise<void> {
    // One that cannot be read tells nothing.
    for (const repo of this.#above.standing()) await this.#above.load(repo).catch(() => {});
  }

  /** Makes the document of a layer that has none. Call it inside `exclusive`. Throws RepoconfError 1101 or 1108. */
  makeLayer(layer: Layer, actor: Actor): Promise<void> {
    return this.#above.make(layer, actor);
  }

  /** The event of a document that this repository stands on, as one of the repository; undefined if it is none. */
  translate(event: ContextEvent): StoreEvent | undefined {
    if (!this.#isDerived()) return event;
    return this.loaded ? this.#layers.translate(event, this.own, this.above) : undefined;
  }

  /** The oldest revision after which all revisions are kept; with several layers, it may be a later one. */
  get oldest(): number {
    const documents = [this, ...this.above.map(({ document }) => document)];
    return revisionOf(documents.map(({ journal, own }) => journal.oldest(own.revision)));
  }

  /** The history of all layers. */
  get history(): RecordedJournal {
    return this.#isDerived() ? this.#layers.history(this, this.above) : this.journal;
  }

  /** The history of each layer, the lowest first. */
  get recordedLayers(): readonly RecordedLayer[] {
    const layers = [{ name: "shared" as const, document: this }, ...this.above];
    return layers.map(({ name, document }) => ({
      name,
      slot: document.own.linked?.slot,
      recorded: document.recorded,
      document: {
        id: this.id,
        history: document.journal,
        state: document.own,
        oldest: document.journal.oldest(document.own.revision),
        load: () => document.load(),
        writeHistory: () => document.writeHistory(),
      },
    }));
  }

  /** Distinguishes this repository from earlier ones with the same id; known once it is loaded. */
  get lineage(): string {
    return this.#context.committed.lineage;
  }

  get hasBegun(): boolean {
    return this.reader.hasBegun;
  }

  /** The values in the log that belong to `own`. */
  get recorded(): Config {
    return this.#context.committed.valid;
  }

  /** The versions of the files that `own` was made from. */
  get stamps(): FileStamps {
    return this.#context.stamps;
  }

  /** When the daemon last wrote the file of the values, by the clock's `monotonic()`. */
  get wroteAt(): number {
    return this.mirror.wroteAt;
  }

  /** The first entry that the log must keep for this repository; undefined if none. */
  get keptFrom(): LogNumber | undefined {
    return this.reader.keptFrom ?? this.mirror.keptFrom;
  }

  /** Whether files and journal have been read. A journal that cannot be opened is retried at every refresh. */
  get loaded(): boolean {
    return this.reader.loaded;
  }

  /** Whether `state` is the newest one, by the present rules. */
  get isUpToDate(): boolean {
    return this.loaded && !this.#context.isCheckedByOldRules && this.above.every(({ document }) => document.isUpToDate);
  }

  /** Whether it was tried to read them, successfully or not. */
  get isRead(): boolean {
    return this.reader.isRead;
  }

  /** Whether this object can be evicted: nothing is waiting or running, and the files have everything that another object needs. */
  get isAtRest(): boolean {
    // Only this object knows which disk a work tree was on.
    if (this.#queue.isBusy || this.#context.current.inTree || this.journal.isCompacting) return false;
    if (this.reader.unrecorded !== undefined || !this.isUpToDate) return false;
    const isWell = this.#context.current.broken === undefined && this.#context.current.health.length === 0;
    const isOver = this.wroteAt + restTime < this.#context.store.clock.monotonic();
    const isWritten = !this.mirror.isOutdated && this.keptFrom === undefined;
    return isWell && isOver && isWritten && this.above.every(({ document }) => document.isAtRest);
  }

  get summary(): RepositorySummary {
    const { above } = this;
    const state = this.#isDerived(above) ? this.#layers.stateOf(this.own, above) : this.#context.current;
    return this.#layers.summaryOf(state, this.#context.given.indexed, this.loaded);
  }

  /**
   * The index entry for a later start or another object. The repository must be loaded. Undefined if it is to begin in the log and has
   * not: a start that finds its file without an entry knows that the log has no such repository, even if there is a history of a removed one.
   */
  get indexEntry(): IndexedRepository | undefined {
    if (!this.hasBegun && this.#context.beginsInLog) return undefined;
    const isLevel = !this.mirror.isOutdated && this.files.content.kind === "good";
    const level = isLevel ? ({ isLevel } as const) : {};
    const history = this.journal.end === undefined ? {} : { history: this.journal.end };
    const treeFolder = this.files.treeFolder?.recorded;
    const folder = treeFolder === undefined ? {} : { folder: treeFolder };
    const { modified, health } = this.summary;
    const own = this.#isDerived() ? { health: this.own.health, counted: { modified, health } } : {};
    const place = this.#context.indexedPlace;
    return { ...this.summary, ...own, ...place, stamps: this.stamps, ...level, ...history, ...folder };
  }

  /** Reads files and journal unless they have been read. Throws RepoconfError 1108 while the journal cannot be read, 1102 once removed. */
  async load(): Promise<void> {
    if (!this.loaded) await this.refresh();
    if (!this.loaded) throw this.reader.isRemoved ? this.reader.notWritable() : this.reader.unrecorded;
    for (const { document } of this.above) await document.load();
  }

  /**
   * The place of a field's value in the file, once the file has it; or of what is inside the value at a JSON pointer, if the file has
   * that too.
   */
  async source(path: ConfigPath, inside: string): Promise<ValueSource> {
    // The line must be correct for anyone who opens the file.
    await this.writer.write();
    const { store, committed } = this.#context;
    const value = valueByAnyName(committed.target, path, store.scopes);
    const tokens = plainTokens(value, inside, store.scopes.field(path.scope, path.field)?.schema);
    const names = store.scopes.namesOf(path).map(({ scope, field }) => [scope, field]);
    const paths = [...names.map(name => [...name, ...tokens]), ...names];
    return { file: this.files.values.path, ...this.#context.locate(paths).find(Boolean) };
  }

  /** Whether a field's active value is the file's; also true if both have none. */
  isFromFile(scope: string, field: string): boolean {
    const { stored, broken } = this.own;
    const served = configValue(stored ?? {}, scope, field);
    const said = valueByAnyName(this.#context.committed.target, { scope, field }, this.#context.store.scopes);
    return broken === undefined && sameJson(served, said);
  }

  /**
   * Applies another machine's commit as it is, without deciding it again. Runs within one turn of the event loop, in the order of the
   * log. `isPart`: other repositories have more of the same entry. Until `loaded`, the commit is kept for the next load.
   */
  applyRemote({ number, entry }: Committed<Commit>, document: DocumentCommit, isPart: boolean): void {
    if (!this.loaded) {
      this.reader.keep({ number, entry });
      return;
    }
    const { committed, store } = this.#context;
    const applied = applyCommit(committed, entry, document);
    const isRevision = applied.record !== undefined;
    const { revision, activeEdits } = document;
    // After a start, entries that the history already has are read again.
    const recordedThrough = numberIn(store.log.id, this.journal.head?.textRecord?.position);
    if (!isRevision && (revision < committed.revision || activeEdits?.length !== 0 || number <= recordedThrough))
      return;
    this.reader.takenAt = number;
    const health = this.#context.problems;
    this.#context.commit([{ committed: { number, entry }, applied }], health, { isPart });
    // If values may have other problems now, all of them are checked again.
    const areGood = applied.edits.every(({ scope, field, value }) => {
      const known = store.scopes.field(scope, field);
      return (
        known !== undefined && (value === undefined || (known.validate(value) ?? known.misfit(value)) === undefined)
      );
    });
    if (health.length > 0 || activeEdits !== undefined || !areGood) {
      this.reader.isHealthDue = true;
      void this.refresh();
    }
  }

  /** Reads the files in the queue; an edit of them becomes a change. */
  refresh(): Promise<void> {
    this.reader.noticedAt ??= this.#context.store.clock.monotonic();
    return this.#queue.refresh();
  }

  /** The newest state, by the present rules; reads the files if necessary. */
  async read(): Promise<RepositoryState> {
    if (!this.loaded) await this.refresh();
    while (this.#context.isCheckedByOldRules && !this.reader.isRemoved) await this.refresh();
    for (const { document } of this.above) await document.read();
    return this.state;
  }

  /**
   * Gives `decide` the newest state and applies its edits, durably and visible together, as one revision.
   * `decide` may run more than once and must be pure. Throws RepoconfError 1102, 1106, 1107 or 1108.
   */
  async change<Answer>(request: ChangeRequest<Answer>): Promise<Applied<Answer>> {
    if (this.#above.standing().length > 0) await this.loadStanding();
    const applied = await this.#queue.change(request);
    return request.flush ? { ...applied, mirrored: await flushLayers(this) } : applied;
  }

  /** Runs `task` while nothing else changes this repository. */
  exclusive<Result>(task: () => Promise<Result>): Promise<Result> {
    return this.#queue.exclusive(task);
  }

  /** The present values of the work tree's file that are not trusted yet. */
  async waiting(): Promise<readonly WaitingValue[]> {
    await this.refresh();
    return waitingValues(this.#context);
  }

  /** See `previewScope`, of the present values. */
  async previewScope(scopes: Scopes, name: string): Promise<readonly PreviewedValue[]> {
    await this.refresh();
    const above = await Promise.all(this.ownAbove.map(({ document }) => document.previewScope(scopes, name)));
    const own = await previewScope(this.#context, scopes, name);
    // A layer has no defaults.
    return [...own, ...above.flat().filter(({ stored }) => stored)];
  }

  /** Appends commits to the history, for its readers. Throws RepoconfError 1108. */
  async writeHistory(): Promise<void> {
    try {
      for (const { document } of this.above) await document.mirror.writeHistory(true);
      await this.mirror.writeHistory(true);
    } catch (error) {
      throw unreadableJournal(this.id, error);
    }
  }

  /** See `acceptValue`. */
  accept(path: ConfigPath, hash: string): Promise<number> {
    return this.exclusive(() => acceptValue(this.#context, this.reader, path, hash));
  }

  /** Marks the repository as removed: waiting and later requests fail. */
  markRemoved(): void {
    this.reader.markRemoved();
  }

  /** Throws RepoconfError 1102 if the repository has been removed. */
  assertPresent(): void {
    if (this.reader.isRemoved) throw this.reader.notWritable();
  }

  /** Resolves when a change can be decided again. See `HandEditReader.conflictApplied`. */
  conflictApplied(conflict: ConflictError): Promise<void> {
    return this.reader.conflictApplied(conflict);
  }

  /** Resolves when nothing is waiting or running. */
  idle(): Promise<void> {
    return this.#queue.idle();
  }
}
