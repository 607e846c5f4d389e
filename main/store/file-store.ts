import { realpath, stat } from "node:fs/promises";
import pLimit from "p-limit";
import type { ConfigPath } from "../../shared/config-path.ts";
import { RepoconfError } from "../../shared/errors.ts";
import type { JsonObject, JsonValue } from "../../shared/json.ts";
import type { FileText, IndexingProgress } from "../../shared/protocol.ts";
import { keepFile } from "../files/durable-text-file.ts";
import { type FileSystem, realFileSystem } from "../files/file-system.ts";
import { foreignDisks } from "../files/foreign-disks.ts";
import { readRemote } from "../git/git-remote.ts";
import { inTreeFileName } from "../git/work-tree.ts";
import type { Scopes } from "../scopes/scopes.ts";
import { type Clock, timeText } from "../time/clock.ts";
import { forEachConcurrently } from "../time/for-each-concurrently.ts";
import type { Turn } from "../time/yielding.ts";
import { HandEdits, listRepositoryFiles, readWidth } from "./hand-edits/hand-edits.ts";
import { Forgettings } from "./history/forgettings.ts";
import { Journal, listSegments, type Retention, type Segment } from "./history/journal.ts";
import { type LastChangeOf, LastChanges } from "./history/last-changes.ts";
import { mergedHistory } from "./history/merged-history.ts";
import { changesAfter, configAt, historyFrom, revisionAt } from "./history/repository-history.ts";
import { appendHeld } from "./log/append-in-turn.ts";
import {
  type Commit,
  type CommitLog,
  type Committed,
  formatPosition,
  numberIn,
  type OpenedLog,
  type Removal,
  type Renaming,
} from "./log/commit-log.ts";
import { FileLog, type FileLogOptions } from "./log/file-log.ts";
import { LogShortener } from "./log/log-shortener.ts";
import { MirrorSchedule } from "./mirror/mirror-schedule.ts";
import { byRepository, removedIds } from "./mirror/unmirrored.ts";
import { commitTogether } from "./repository/commit-together.ts";
import { RemovedFiles } from "./repository/removed-files.ts";
import { Repositories } from "./repository/repositories.ts";
import { Repository } from "./repository/repository.ts";
import { RepositoryFiles, type StoreFolders } from "./repository/repository-files.ts";
import { RepositoryIndex } from "./repository/repository-index.ts";
import type { IndexedRepository } from "./repository/repository-state.ts";
import { ForeignChanges } from "./shared/foreign-changes.ts";
import type { SharedScopes } from "./shared/shared-scopes.ts";
import { storageFailure } from "./storage-failure.ts";
import type { RepositoryStore } from "./store.ts";
import type {
  Actor,
  Applied,
  ChangeRequest,
  HistoryRecord,
  NewRepository,
  PastConfig,
  Position,
  Recognition,
  RecordedChange,
  RepositoryState,
  RepositorySummary,
  StoreEvent,
  ValueSource,
  WaitingValue,
} from "./types.ts";
import type { PreviewedValue } from "./values/scope-preview.ts";
import type { TrustedValues } from "./values/trusted-values.ts";

export interface FileStoreOptions {
  readonly folders: StoreFolders;
  readonly indexPath: string;
  readonly scopes: Scopes;
  readonly trust: TrustedValues;
  /** The value of `$schema` in a new repository's file. */
  readonly schemaReference: string;
  /** How much of each repository's history is kept. */
  retention(): Retention;
  readonly fileSystem?: FileSystem;
  readonly clock: Clock;
  /** If omitted: a log of files in this home. */
  openLog?(options: FileLogOptions): Promise<OpenedLog>;
  /** Only with a shared log. */
  readonly sharedScopes?: SharedScopes;
  /** From this many bytes on, a shared log is shortened if it is much longer than the histories that are kept. */
  readonly sharedLogBytes?: number;
  /** Throws if the home is no longer this daemon's. */
  assertHeld(): void;
  /** Milliseconds between two rescans of the folder. */
  readonly rescanInterval?: number;
  /** The maximum of repositories kept in memory; the values of others are read on request. */
  readonly mostOpen?: number;
  /** Reports the progress of recovery after a crash, during `open`. */
  onRecovering?(progress: IndexingProgress): void;
  /** Called when `indexing` has progressed. */
  onIndexing?(): void;
  /** Called for problems that belong into the daemon's log and that no caller learns of. */
  onProblem(message: string, context: { readonly [name: string]: unknown }): void;
}

/** Milliseconds from a change to the next write of the index. After a crash in between, the next start reads the file. */
const indexDelay = 5_000;
/** Milliseconds from a write of history and file to the release of its log entries. */
const releaseDelay = 100;
/** Each one takes about 25 kilobytes once its values have been listed. */
const defaultMostOpen = 2_000;
/** From this many bytes on, a shared log is shortened. */
const defaultSharedLogBytes = 64 * 1024 * 1024;
/** Milliseconds between two rescans of the files. */
export const defaultRescanInterval = 10_000;

/** The store on files: one JSON file a repository, an index to start fast, one watcher for edits by hand. */
export class FileStore implements RepositoryStore {
  readonly #options: FileStoreOptions;
  readonly #fileSystem: FileSystem;
  readonly #repositories: Repositories;
  /** The journal segments of repositories that were not opened yet, and of removed ones. */
  readonly #segments: Map<string, readonly Segment[]>;
  /** Log commits that histories may lack, for repositories that were not opened yet. */
  readonly #unmirrored: Map<string, Committed<Commit>[]>;
  readonly #log: CommitLog;
  readonly #mirrors: MirrorSchedule;
  /** Only with a shared log. */
  readonly #shortener: LogShortener | undefined;
  /** The number of log entries that cannot be read; 0 once they have been reported. */
  #lost = 0;
  /** Whether the home was restored from a backup; false once what the log has is in the histories. */
  #isCopy = false;
  readonly #forgettings: Forgettings;
  readonly #removedFiles: RemovedFiles;
  readonly #foreignChanges: ForeignChanges;
  /** Repositories for which the log must keep entries. */
  readonly #kept = new Set<Repository>();
  readonly #lastChanges = new LastChanges();
  readonly #index: RepositoryIndex;
  readonly #handEdits: HandEdits;
  readonly #listeners: ((event: StoreEvent) => void)[] = [];
  /** Repositories are added, moved and removed one at a time, because ids and paths are compared across all of them. */
  readonly #roster = pLimit(1);
  /** Cancels the next write of the index. */
  #cancelIndexWrite: (() => void) | undefined;
  /** Cancels the next release of log entries. */
  #cancelRelease: (() => void) | undefined;
  #closed = false;
  /** Whether the start is complete. */
  #isStarted = false;

  private constructor(
    options: FileStoreOptions,
    segments: Map<string, readonly Segment[]>,
    log: CommitLog,
    unmirrored: Map<string, Committed<Commit>[]>,
  ) {
    this.#options = options;
    this.#segments = segments;
    this.#log = log;
    this.#unmirrored = unmirrored;
    this.#mirrors = new MirrorSchedule(options.clock, () => this.#releaseSoon());
    this.#fileSystem = options.fileSystem ?? realFileSystem;
    this.#index = new RepositoryIndex(options.indexPath, options.folders.temporary, this.#fileSystem, options.clock);
    this.#repositories = new Repositories({
      mostOpen: options.mostOpen ?? defaultMostOpen,
      open: (id, indexed) => this.#makeRepository(id, { indexed }),
      onEvict: ({ id, journal }) => {
        this.#segments.set(id, journal.segments);
        this.#lastChanges.drop(id);
      },
    });
    const { folders, trust, clock, schemaReference, onProblem } = options;
    this.#removedFiles = new RemovedFiles(folders.removed, this.#fileSystem, clock);
    this.#forgettings = new Forgettings({
      log,
      repositories: this.#repositories,
      kept: this.#kept,
      folders,
      fileSystem: this.#fileSystem,
      trust,
      scopes: options.scopes,
      clock,
      shortener: () => this.#shortener,
    });
    this.#foreignChanges = new ForeignChanges({
      log,
      repositories: this.#repositories,
      kept: this.#kept,
      unmirrored,
      forgettings: this.#forgettings,
      removedFiles: this.#removedFiles,
      scopes: options.sharedScopes,
      folders,
      fileSystem: this.#fileSystem,
      clock,
      trust,
      schemaReference,
      openJournal: id => this.#openJournal(id),
      keepSegments: (id, kept) => void this.#segments.set(id, kept),
      publish: event => this.#publish(event),
      dropRepository: repository => this.#dropRepository(repository),
      saveIndex: () => this.#saveIndex(),
      onProblem,
    });
    if (log.shared !== undefined)
      this.#shortener = new LogShortener({
        log,
        repositories: this.#repositories,
        clock: options.clock,
        leastBytes: options.sharedLogBytes ?? defaultSharedLogBytes,
        historyFolder: options.folders.journal,
        repeatScopes: async assertNeeded => options.sharedScopes?.repeat(assertNeeded),
        beforeWriting: () => this.#forgettings.follow(),
        onProblem: (message, error) => options.onProblem(message, { error: String(error) }),
      });
    this.#handEdits = new HandEdits({
      folder: options.folders.repositories,
      rescanInterval: options.rescanInterval ?? defaultRescanInterval,
      repositories: this.#repositories,
      adopt: (ids, onRead) =>
        this.#roster(() => forEachConcurrently(ids, readWidth, id => this.#tryToAdopt(id).finally(onRead))),
      onIndexing: () => options.onIndexing?.(),
      clock: options.clock,
      onProblem: options.onProblem,
    });
  }

  /** Reads the index and lists the folders, but reads no repository's file or journal; `watchFiles` reads those that differ. */
  static async open(options: FileStoreOptions): Promise<FileStore> {
    const { folders, clock, onProblem, fileSystem = realFileSystem, assertHeld } = options;
    const openLog = options.openLog ?? (opening => FileLog.open(opening));
    const { log, entries, lost, isCopy } = await openLog({
      folder: folders.log,
      fileSystem,
      clock,
      assertHeld,
      onProblem,
    });
    const unmirrored = byRepository(entries);
    const store = new FileStore(options, await listSegments(folders.journal), log, unmirrored);
    options.sharedScopes?.begin(log, () => store.reinterpret());
    store.#lost = lost;
    store.#isCopy = isCopy;
    const { data, damaged } = await store.#index.read();
    if (damaged) onProblem("the index is damaged and is being rebuilt", {});
    const there = await listRepositoryFiles(folders.repositories);
    const removed = removedIds(entries);
    for (const entry of Object.values(data.repositories)) {
      if (removed.has(entry.id) && !there.includes(entry.id)) continue;
      store.#repositories.add(entry.id, entry);
      store.#handEdits.follow(entry);
    }
    for (const id of there) if (!store.has(id)) store.#repositories.add(id);
    await store.#recover(entries, lost, isCopy);
    store.#isStarted = true;
    await log.follow({
      prepare: committed => store.#foreignChanges.prepare(committed),
      onReachable: () => store.#retry(),
    });
    return store;
  }

  /** Starts to watch for edits by hand, beginning with earlier ones. Call it once the daemon is ready: it reads every file's stamp. */
  watchFiles(): void {
    this.#handEdits.start();
  }

  has(id: string): boolean {
    return this.#repositories.has(id);
  }

  ids(): Iterable<string> {
    return this.#repositories.ids();
  }

  peek(id: string): RepositoryState | undefined {
    return this.#repositories.opened(id)?.loaded ? this.#repositories.get(id)?.state : undefined;
  }

  async read(id: string): Promise<RepositoryState | undefined> {
    const repository = this.#repositories.get(id);
    if (repository === undefined) return undefined;
    if (!repository.loaded) await repository.refresh();
    return repository.state;
  }

  file(id: string): string | undefined {
    return this.#repositories.get(id)?.file;
  }

  async source(id: string, scope: string, field: string): Promise<ValueSource | undefined> {
    const repository = this.#repositories.get(id);
    // The line must be correct for anyone who opens the file.
    await repository?.follow();
    return repository?.source(scope, field);
  }

  isFromFile(id: string, scope: string, field: string): boolean {
    return this.#repositories.get(id)?.isFromFile(scope, field) ?? false;
  }

  revision(id: string): number {
    return this.#repositories.brief(id)?.revision ?? 0;
  }

  oldest(id: string): number {
    return this.#repositories.get(id)?.oldest ?? 0;
  }

  lineage(id: string): string {
    return this.#repositories.get(id)?.lineage ?? "";
  }

  get problem(): string | undefined {
    return this.#log.problem;
  }

  /** The problems of scopes that machines share, one sentence each. */
  get scopeProblems(): Iterable<string> {
    return this.#options.sharedScopes?.problems ?? [];
  }

  /** Call after the scope files were read: sends people's edits of them to the other machines. */
  shareScopes(): void {
    void this.#options.sharedScopes?.share();
  }

  get position(): Position {
    return formatPosition(this.#log.id, this.#log.newest);
  }

  async revisionAt(id: string, position: Position, turn?: Turn): Promise<number> {
    const number = numberIn(this.#log.id, position);
    const { state } = this.#repositories.require(id);
    if (state.position !== undefined && numberIn(this.#log.id, state.position) <= number) return state.revision;
    return revisionAt(
      await this.#repositories.load(id),
      candidate => numberIn(this.#log.id, candidate) <= number,
      turn,
    );
  }

  get indexing(): IndexingProgress | undefined {
    return this.#handEdits.indexing;
  }

  async summaries(): Promise<readonly RepositorySummary[]> {
    await this.#handEdits.reconciled;
    return [...this.#repositories.ids()].flatMap(id => this.#repositories.summary(id) ?? []);
  }

  /** Copies commits that a crash left only in the log to the histories, so that answers about repositories are correct. */
  async #recover(entries: readonly Committed[], lost: number, isCopy: boolean): Promise<void> {
    for (const id of this.#unmirrored.keys()) if (!this.has(id)) this.#repositories.add(id);
    const ids = lost > 0 ? this.#repositories.ids() : this.#unmirrored.keys();
    const touched = [...ids].flatMap(id => this.#repositories.get(id) ?? []);
    // Before any is read, because the log meanwhile releases entries that no kept repository needs.
    for (const repository of touched) this.#kept.add(repository);
    for (const { number, entry } of entries) if (entry.kind === "forget") this.#forgettings.add(number, entry);
    let done = 0;
    await forEachConcurrently(touched, readWidth, async repository => {
      await repository.refresh();
      done += 1;
      this.#options.onRecovering?.({ done, total: touched.length });
    });
    this.#unmirrored.clear();
    this.#lost = 0;
    this.#isCopy = false;
    await this.#forgettings.follow().catch(error =>
      this.#options.onProblem("some values could not be erased; the next start retries", {
        error: String(error),
      }),
    );
    if (lost > 0 || isCopy) await this.#renewLog();
    await this.#release();
  }

  #retry(): void {
    for (const repository of this.#repositories.allOpened()) repository.retry();
  }

  /** Starts a new log once the histories have every entry of the old one, which is not read any more. */
  async #renewLog(): Promise<void> {
    try {
      for (const { loaded, mirror } of this.#kept) if (loaded) await mirror.writeHistory(false);
      await this.#log.renew();
    } catch (error) {
      // Until the next start, earlier positions are accepted although changes after them may be lost.
      this.#options.onProblem("cannot start a new log", { error: String(error) });
    }
  }

  async *changes(id: string, after: number, turn?: Turn): AsyncGenerator<RecordedChange> {
    yield* changesAfter(await this.#repositories.load(id), after, turn);
  }

  async *history(id: string, from: number, turn?: Turn): AsyncGenerator<HistoryRecord> {
    yield* historyFrom(await this.#repositories.load(id), from, turn);
  }

  mergedHistory(ids: Iterable<string>, options: Parameters<RepositoryStore["mergedHistory"]>[1]) {
    const { id: log, newest } = this.#log;
    return mergedHistory(ids, {
      ...options,
      // Later changes would not be in their order.
      after: options.after ?? { number: newest, repo: "", revision: 0 },
      newest: id => {
        const { position } = this.#repositories.place(id);
        // Without a known position, its history may contain any change.
        return position === undefined ? Number.POSITIVE_INFINITY : numberIn(log, position);
      },
      numberOf: record => numberIn(log, record.kind === "change" ? record.position : undefined),
      history: (id, from, turn) => this.history(id, from, turn),
    });
  }

  async lastChanges(id: string, turn?: Turn): Promise<LastChangeOf> {
    return this.#lastChanges.of(await this.#repositories.load(id), turn);
  }

  async configAt(id: string, revision: number, turn?: Turn): Promise<PastConfig> {
    return configAt(await this.#repositories.load(id), revision, turn);
  }

  forget(id: string, path: ConfigPath, actor: Actor): Promise<void> {
    return this.#forgettings.forget(id, path, actor);
  }

  async waiting(id: string): Promise<readonly WaitingValue[]> {
    return this.#repositories.require(id).waiting();
  }

  async accept(id: string, path: ConfigPath, hash: string): Promise<number> {
    const repository = await this.#repositories.load(id);
    return repository.exclusive(() => repository.accept(path, hash));
  }

  async previewScope(id: string, scopes: Scopes, name: string): Promise<readonly PreviewedValue[]> {
    return this.#repositories.require(id).previewScope(scopes, name);
  }

  isTrusted(id: string, path: ConfigPath, value: JsonValue): boolean {
    const { trust, scopes } = this.#options;
    return this.#repositories.brief(id)?.inTree !== true || trust.has(id, scopes, path, value);
  }

  async apply<Answer>(id: string, request: ChangeRequest<Answer>): Promise<Applied<Answer>> {
    const repository = this.#repositories.require(id);
    const applied = await repository.change(request);
    return request.flush ? { ...applied, mirrored: await repository.flush() } : applied;
  }

  async applyTogether<Answer>(
    requests: ReadonlyMap<string, ChangeRequest<Answer>>,
  ): Promise<Map<string, Applied<Answer>>> {
    // Always in the same order, so that two such changes cannot deadlock.
    const repositories = [...requests.keys()].sort().map(id => this.#repositories.require(id));
    const holdAll = (index: number): Promise<Map<string, Applied<Answer>>> => {
      const repository = repositories[index];
      if (repository === undefined) return commitTogether(repositories, requests, this.#log);
      return repository.exclusive(() => holdAll(index + 1));
    };
    const answers = await holdAll(0);
    await Promise.all(
      repositories.map(async repository => {
        const applied = answers.get(repository.id);
        if (applied === undefined || !requests.get(repository.id)?.flush) return;
        answers.set(repository.id, { ...applied, mirrored: await repository.flush() });
      }),
    );
    return answers;
  }

  async readText(id: string): Promise<FileText> {
    const repository = this.#repositories.require(id);
    await repository.refresh();
    // An editor must start from the committed values.
    await repository.follow();
    const { path, text } = repository.files.edited;
    return { file: path, text };
  }

  async writeText(id: string, text: string, expected: string | null): Promise<boolean> {
    const repository = await this.#repositories.load(id);
    return repository.exclusive(() => repository.text.replace(text, expected));
  }

  async restoreText(id: string): Promise<string | undefined> {
    const repository = await this.#repositories.load(id);
    return repository.exclusive(async () => {
      const kept = await this.#removedFiles.place(`${id}.broken`);
      let copied = false;
      await repository.text.restore(this.#options.schemaReference, async path => {
        // A blocked rename is retried: the copy is from the last try.
        if (copied) await this.#fileSystem.unlink(kept);
        copied = await keepFile(path, kept, this.#fileSystem, this.#options.clock);
      });
      return copied ? kept : undefined;
    });
  }

  async add(repository: NewRepository): Promise<RepositorySummary & Recognition> {
    const remote = await this.#sharedRemote(repository);
    return this.#roster(async () => {
      const { id, name, path, inTree, mayBeKnown, actor } = repository;
      const known = mayBeKnown && remote !== undefined ? this.#cloneOf(remote) : undefined;
      if (known !== undefined && path !== undefined) {
        const recognized = await this.#repositories.load(known);
        await recognized.exclusive(() => recognized.text.changeMetadata({ path }));
        return { ...recognized.summary, recognized: true };
      }
      if (inTree && this.#log.shared !== undefined) {
        const message = `A home with a shared log cannot have in-tree repositories: git already shares their files. To keep the values in the log, without those in ${inTreeFileName}: repo add --in-home (inTree: false).`;
        throw new RepoconfError(1101, message, { repo: id });
      }
      const taken = [...this.#repositories.ids()].some(other => other.toLowerCase() === id.toLowerCase());
      if (taken)
        throw new RepoconfError(1111, `A repository with the id ${id} already exists. Choose another id.`, {
          repo: id,
        });
      if (inTree && path !== undefined) await this.#claimTree(id, path);
      const metadata: JsonObject = inTree
        ? { name, ...(path !== undefined && { path }), inTree: true }
        : {
            $schema: this.#options.schemaReference,
            name,
            ...(path !== undefined && { path }),
            ...(remote !== undefined && { remote }),
            config: {},
          };
      const files = new RepositoryFiles(id, this.#options.folders, this.#fileSystem, this.#options.clock, {
        isNew: true,
      });
      await files.home.refresh();
      if (files.home.status.kind !== "missing") {
        throw new RepoconfError(1111, `${files.home.path} already exists. Choose another id, or move the file away.`, {
          repo: id,
        });
      }
      // Trust for an earlier repository with this id.
      this.#options.trust.drop(id);
      try {
        await files.home.write(metadata);
      } catch (error) {
        throw storageFailure(id, error);
      }
      const added = this.#repositories.get(id) ?? this.#open(id, files, actor);
      await added.refresh();
      this.#publish({ kind: "added", state: added.state });
      return added.summary;
    });
  }

  /** The remote that a new repository is a clone of; undefined without a shared log, or while other machines' commits are missing. */
  async #sharedRemote({ path, inTree }: NewRepository): Promise<string | undefined> {
    if (this.#log.shared === undefined || path === undefined || inTree) return undefined;
    await this.#handEdits.reconciled;
    return readRemote(path);
  }

  /** The repository with this remote that has no folder on this machine. Throws RepoconfError 1111 if there are several. */
  #cloneOf(remote: string): string | undefined {
    const found = [...this.#repositories.ids()].filter(id => {
      const known = this.#repositories.brief(id);
      return known?.remote === remote && known.path === undefined;
    });
    if (found.length < 2) return found[0];
    const names = found.map(id => [this.#repositories.brief(id)?.name, `(${id})`].join(" ")).join(", ");
    const message = `Several repositories of the shared log are clones of ${remote} and have no folder on this machine: ${names}. Give one of them the folder (repoconf repo move ID FOLDER), or add another one with an id of its own (--id).`;
    throw new RepoconfError(1111, message);
  }

  update(id: string, changes: { readonly name?: string; readonly path?: string }): Promise<RepositorySummary> {
    return this.#roster(async () => {
      const repository = await this.#repositories.load(id);
      if (repository.state.inTree && changes.path !== undefined) await this.#claimTree(id, changes.path);
      await repository.exclusive(async () => {
        await this.#shareName(repository, changes.name);
        await repository.text.changeMetadata(changes);
      });
      return repository.summary;
    });
  }

  /** Call it inside `exclusive`. Throws RepoconfError 1108. */
  async #shareName(repository: Repository, name: string | undefined): Promise<void> {
    const { id, state } = repository;
    if (this.#log.shared === undefined || name === undefined || name === state.name) return;
    const renaming: Renaming = { kind: "rename", time: timeText(this.#options.clock), repo: id, name };
    try {
      await appendHeld(this.#log, repository, () => renaming);
    } catch (error) {
      throw storageFailure(id, error);
    }
  }

  remove(id: string): Promise<string | undefined> {
    return this.#roster(async () => {
      const repository = this.#repositories.require(id);
      return repository.exclusive(async () => {
        // The file that is put aside has every commit, and is not written any more.
        await repository.follow();
        return repository.mirror.inTurn(() => this.#removeInTurn(repository));
      });
    });
  }

  async #removeInTurn(repository: Repository): Promise<string | undefined> {
    const { id } = repository;
    try {
      await repository.mirror.dropReplaced();
      // No commit may be in the log only: entries before the removal are never written to files again.
      if (repository.loaded) await repository.mirror.recordText();
      const removal: Removal = { kind: "remove", time: timeText(this.#options.clock), repo: id };
      await appendHeld(this.#log, repository, () => removal);
    } catch (error) {
      throw storageFailure(id, error);
    }
    const movedTo = await this.#removedFiles.putAside(repository);
    this.#dropRepository(repository);
    // Otherwise the next start after a crash would assume that its file was deleted by hand.
    await this.#saveIndex();
    this.#publish({ kind: "removed", state: repository.state });
    return movedTo;
  }

  #dropRepository(repository: Repository): void {
    const { id } = repository;
    repository.markRemoved();
    this.#repositories.delete(id);
    this.#options.trust.drop(id);
    this.#lastChanges.drop(id);
    this.#segments.set(id, repository.journal.segments);
    this.#handEdits.follow(repository.state, true);
    this.#mirrors.drop(repository);
    this.#kept.delete(repository);
  }

  subscribe(listener: (event: StoreEvent) => void): void {
    this.#listeners.push(listener);
  }

  reinterpret(): void {
    for (const repository of this.#repositories.allOpened()) {
      this.#repositories.touch(repository);
      void repository.reinterpret();
    }
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#cancelIndexWrite?.();
    this.#cancelRelease?.();
    this.#shortener?.close();
    this.#options.sharedScopes?.close();
    await this.#handEdits.close();
    for (const repository of this.#repositories.allOpened()) await repository.idle();
    await this.#mirrors.drain();
    for (const repository of this.#repositories.allOpened()) await repository.endReplaced();
    this.#mirrors.close();
    // First apply the edits that were found meanwhile.
    for (const repository of this.#repositories.allOpened()) await repository.idle();
    try {
      await this.#log.seal();
      await this.#release();
    } catch (error) {
      this.#options.onProblem("the log could not be cleaned up; the next start takes longer", { error: String(error) });
    }
    await this.#log.close();
    await this.#options.sharedScopes?.idle();
    await this.#saveIndex();
    await this.#options.trust.saved();
  }

  /** Opens a repository that was unknown. */
  #open(id: string, files: RepositoryFiles, addedBy?: Actor): Repository {
    const repository = this.#makeRepository(id, { files, addedBy });
    this.#repositories.set(repository);
    return repository;
  }

  #makeRepository(
    id: string,
    {
      files,
      addedBy,
      indexed,
    }: {
      readonly files?: RepositoryFiles;
      readonly addedBy?: Actor | undefined;
      readonly indexed?: IndexedRepository | undefined;
    },
  ): Repository {
    const { scopes, trust, folders, clock, onProblem } = this.#options;
    const repository: Repository = new Repository({
      id,
      files: () =>
        files ?? new RepositoryFiles(id, folders, this.#fileSystem, clock, { isExpected: this.#isStarted, indexed }),
      journal: () => this.#openJournal(id),
      log: this.#log,
      scopes,
      trust,
      clock,
      indexed,
      unmirrored: this.#unmirrored.get(id) ?? [],
      lost: this.#lost,
      isCopy: this.#isCopy,
      addedBy,
      publish: event => this.#publish(event),
      onMetadata: state => this.#handEdits.follow(state),
      onBehind: () => {
        // It may have been evicted while somebody was about to change it.
        this.#repositories.touch(repository);
        this.#kept.add(repository);
        this.#mirrors.want(repository);
      },
      onLevel: () => {
        this.#mirrors.drop(repository);
        if (repository.keptFrom === undefined) this.#kept.delete(repository);
      },
      keepText: (repo, path) => this.#keepText(repo, path),
      onProblem: (message, error) => onProblem(message, { repo: id, error: String(error) }),
    });
    return repository;
  }

  async #keepText(id: string, path: string): Promise<void> {
    const kept = await this.#removedFiles.place(`${id}.edit`);
    const isKept = await keepFile(path, kept, this.#fileSystem, this.#options.clock).catch(() => false);
    const context = { repo: id, ...(isKept && { kept }) };
    this.#options.onProblem("a hand edit arrived while the file was being written, and is not valid JSON", context);
  }

  #openJournal(id: string): Journal {
    const { folders, retention, clock, onProblem } = this.#options;
    const segments = this.#segments.get(id) ?? [];
    this.#segments.delete(id);
    return new Journal(
      {
        id,
        folder: folders.journal,
        fileSystem: this.#fileSystem,
        clock,
        retention,
        onDamage: message => onProblem("a journal is damaged", { repo: id, damage: message }),
      },
      segments,
    );
  }

  #publish(event: StoreEvent): void {
    if (event.kind === "changed") this.#lastChanges.note(event.state.id, event.change);
    this.#scheduleIndex();
    for (const listener of this.#listeners) {
      try {
        listener(event);
      } catch (error) {
        // The change is durable, so its caller gets a success even if other watchers cannot be informed.
        this.#options.onProblem("a change could not be published to all watchers", { error: String(error) });
      }
    }
  }

  /** A failure is retried with the next rescan and does not delay other files. */
  async #tryToAdopt(id: string): Promise<void> {
    await this.#adopt(id).catch(error =>
      this.#options.onProblem("a new file cannot be read", { repo: id, error: String(error) }),
    );
  }

  /** Makes an unknown file a repository, once it can be read. */
  async #adopt(id: string): Promise<void> {
    if (this.#closed || this.#repositories.has(id) || this.#foreignChanges.isLeaving(id)) return;
    const files = new RepositoryFiles(id, this.#options.folders, this.#fileSystem, this.#options.clock, {
      isNew: true,
    });
    await files.home.refresh();
    if (files.home.status.kind === "missing" || this.#repositories.has(id)) return;
    const repository = this.#open(id, files);
    await repository.refresh();
    this.#publish({ kind: "added", state: repository.state });
  }

  /** Ensures that an in-tree file belongs to one repository only. Throws RepoconfError 1101 or 1111. */
  async #claimTree(id: string, folder: string): Promise<void> {
    const stats = await foreignDisks.ask(folder, () => stat(folder)).catch(() => undefined);
    if (!stats?.isDirectory()) {
      const message = `${folder} is not a folder. An in-tree repository needs its work tree's folder.`;
      throw new RepoconfError(1101, message, { repo: id });
    }
    const realOf = (path: string) => foreignDisks.ask(path, () => realpath(path)).catch(() => path);
    const real = await realOf(folder);
    for (const other of this.#repositories.ids()) {
      const { path, inTree } = this.#repositories.brief(other) ?? {};
      if (other === id || !inTree || path === undefined) continue;
      if ((await realOf(path)) !== real) continue;
      const message = `The in-tree file of ${folder} already belongs to the repository ${other}.`;
      throw new RepoconfError(1111, message, { repo: id });
    }
  }

  /** Delayed, so that many writes cause one release, which checks every kept repository. */
  #releaseSoon(): void {
    this.#cancelRelease ??= this.#options.clock.schedule(releaseDelay, () => {
      this.#cancelRelease = undefined;
      void this.#release();
      void this.#shortener?.shortenIfLong();
    });
  }

  /** Releases the log entries that no repository needs any more. */
  async #release(): Promise<void> {
    if (!this.#log.hasSealed) return;
    let through = this.#log.newest;
    const { numbers = [] } = this.#options.sharedScopes ?? {};
    for (const number of [...this.#forgettings.numbers, ...this.#foreignChanges.numbers, ...numbers])
      through = Math.min(through, number - 1);
    for (const repository of this.#kept) {
      const { keptFrom } = repository;
      if (keptFrom === undefined) this.#kept.delete(repository);
      else through = Math.min(through, keptFrom - 1);
    }
    await this.#log
      .release(through)
      .catch(error => this.#options.onProblem("a file of the log cannot be removed", { error: String(error) }));
  }

  #scheduleIndex(): void {
    if (this.#closed || this.#cancelIndexWrite !== undefined) return;
    this.#cancelIndexWrite = this.#options.clock.schedule(indexDelay, () => {
      this.#cancelIndexWrite = undefined;
      void this.#saveIndex();
    });
  }

  async #saveIndex(): Promise<void> {
    try {
      await this.#index.write(() => Object.fromEntries([...this.#indexEntries()].map(entry => [entry.id, entry])));
    } catch (error) {
      this.#options.onProblem("cannot write the index; the next start takes longer", { error: String(error) });
    }
  }

  *#indexEntries(): Generator<IndexedRepository> {
    for (const id of this.#repositories.ids()) {
      const indexed = this.#repositories.indexed(id);
      if (indexed !== undefined) yield indexed;
    }
  }
}
