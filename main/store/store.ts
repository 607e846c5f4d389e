import { randomUUID } from "node:crypto";
import type { IndexingProgress } from "../../shared/protocol.ts";
import { repositoryOfDocument } from "../../shared/repository-id.ts";
import type { StoreContext, StoreSurroundings } from "./context.ts";
import { Erasures } from "./erasures.ts";
import { StoreEvents } from "./events.ts";
import type { Findings } from "./findings.ts";
import { HandEditWatcher } from "./hand-edits/hand-edit-watcher.ts";
import { listRepositoryFiles } from "./hand-edits/repository-folder.ts";
import type { Journals } from "./history/journals.ts";
import { LastChanges } from "./history/last-changes.ts";
import { Layers, noneAbove, watchedLayers } from "./layers/layers.ts";
import { LinkedRepositories } from "./layers/linked-repositories.ts";
import { type CommitLog, formatPosition } from "./log/commit-log.ts";
import { markStopped } from "./log/log-folder.ts";
import { RepositoryFiles } from "./mirror/repository-files.ts";
import { type MissedEntries, recoverHistories, removedIds } from "./missed-entries.ts";
import { type OpenedStore, type OpenOptions, openStore } from "./open-store.ts";
import { MirrorSchedule } from "./repository/mirror-schedule.ts";
import { type OpenedRepository, Repositories } from "./repository/repositories.ts";
import { Repository } from "./repository/repository.ts";
import { Roster } from "./roster.ts";
import { noLocalValues, SharedStore, type SharedStoreOptions } from "./shared/shared-store.ts";
import type { ContextEvent } from "./state/repository-context.ts";
import type { LogNumber, Position, RepositoryState, StorePaths } from "./types.ts";
import type { TrustedValues } from "./values/trusted-values.ts";

export interface StoreOptions extends OpenOptions {
  /** Only if several machines share the log. */
  readonly shared?: SharedStoreOptions;
  /** Milliseconds between two rescans of the folder. */
  readonly rescanInterval?: number;
  /** The maximum of repositories kept in memory; the values of others are read on request. */
  readonly mostOpen?: number;
  /** Reports the progress of recovery after a crash, during `open`. */
  onRecovering?(progress: IndexingProgress): void;
  /** Called when `indexing` has progressed. */
  onIndexing?(): void;
}

/** The repositories of a home: a log that is the source of truth, and for each repository a history and a JSON file that follow it. */
export class Store {
  readonly paths: StorePaths;
  readonly log: CommitLog;
  readonly trust: TrustedValues;
  readonly events: StoreEvents;
  readonly repositories: Repositories<Repository>;
  readonly layers: Layers;
  readonly linked: LinkedRepositories;
  readonly roster: Roster;
  /** Called when `problems`, or what was found about the whole home, may have changed. */
  onProblems: () => void = () => {};
  readonly lastChanges = new LastChanges();
  readonly erasures: Erasures;
  readonly #context: StoreContext;
  /** How much history of each repository is kept. */
  readonly retention: StoreOptions["retention"];
  readonly #options: StoreOptions;
  readonly #journals: Journals;
  readonly #mirrors: MirrorSchedule;
  readonly #handEdits: HandEditWatcher;
  readonly #localEdits: HandEditWatcher;
  /** The documents of layers above repositories' own. */
  readonly #documents: Repositories<Repository>;
  readonly #shared: SharedStore | undefined;
  /** The log's end when the index was written. Histories of repositories that were added since then name later entries. */
  readonly #indexedUntil: LogNumber | undefined;
  /** Until the start is complete: what repositories that are opened meanwhile may lack. */
  #missed: MissedEntries | undefined;

  private constructor({ context, index, indexed, journals, missed }: OpenedStore, options: StoreOptions) {
    this.#context = context;
    this.paths = context.paths;
    this.#options = options;
    this.retention = options.retention;
    this.#journals = journals;
    this.#missed = missed;
    this.log = context.log;
    this.#indexedUntil = indexed.log === undefined ? undefined : this.log.numberOf(indexed.log);
    this.trust = context.trust;
    this.events = new StoreEvents(context);
    const { events } = this;
    this.repositories = new Repositories(context, index, {
      mostOpen: options.mostOpen,
      make: (id, known) => this.#make(id, known),
      onEvict: repository => {
        journals.keep(repository.id, repository.journal);
        this.layers.evict(repository);
      },
      onDrop: repository => this.#drop(repository),
      layers: () => this.#documents,
    });
    this.#documents = new Repositories(context, index, {
      // They are evicted together with the repository that stands on them.
      mostOpen: Number.POSITIVE_INFINITY,
      make: (id, known) => this.#makeLayer(id, known),
      onEvict: ({ id, journal }) => journals.keep(id, journal),
      onDrop: repository => this.#drop(repository),
    });
    const { repositories } = this;
    this.linked = new LinkedRepositories(repositories);
    const refusal = context.log.isAuthority ? noLocalValues : undefined;
    const { linked } = this;
    this.layers = new Layers(context, { repositories, documents: this.#documents, journals, linked, refusal });
    events.subscribe(event => {
      if (event.kind === "added" || event.kind === "updated" || event.kind === "removed") this.linked.forget();
      if (event.kind === "changed") this.lastChanges.note(repositories.opened(event.state.id), event.change);
      repositories.saveIndexSoon();
    });
    context.findings.onChange = repo => {
      const state = repo === undefined ? undefined : repositories.summary(repositoryOfDocument(repo));
      if (state !== undefined) events.publish({ kind: "found", state });
      this.onProblems();
    };
    const allOpened = () => this.#allOpened();
    this.#mirrors = new MirrorSchedule(context, {
      repositories: allOpened,
      others: () => [...this.erasures.numbers, ...(this.#shared?.numbers ?? [])],
      onRelease: () => void this.#shared?.shortener.shortenIfLong(),
    });
    const find = (id: string) => repositories.get(id) ?? this.#documents.get(id);
    this.erasures = new Erasures(context, { repositories, find, allOpened }, () => this.#shared?.shortener);
    const { scopes, leastBytes } = options.shared ?? {};
    const parts = { repositories, journals, erasures: this.erasures, events };
    const { snapshots } = context.log;
    this.#shared = scopes && snapshots && new SharedStore(context, { ...parts, scopes }, snapshots, leastBytes);
    scopes?.begin(context.log, () => this.reinterpret());
    const reconciled = () => this.#handEdits.reconciled;
    this.roster = new Roster(context, { repositories, layers: this.layers, shared: this.#shared, reconciled, events });
    this.#handEdits = new HandEditWatcher(context, context.paths.repositories, {
      rescanInterval: options.rescanInterval,
      repositories,
      adopt: (ids, onRead) => this.roster.adopt(ids, onRead),
      onIndexing: () => options.onIndexing?.(),
    });
    this.#localEdits = new HandEditWatcher(context, context.paths.local, {
      rescanInterval: options.rescanInterval,
      repositories: watchedLayers(repositories, this.#documents),
      adopt: (ids, onRead) => this.layers.adopt(ids, onRead),
    });
  }

  /** Reads the index and lists the folders, but reads no repository's file or journal; `watchFiles` reads those that differ. */
  static async open(surroundings: StoreSurroundings, options: StoreOptions): Promise<Store> {
    const opened = await openStore(surroundings, options);
    const store = new Store(opened, options);
    const giveUp = () => store.#stopWork().then(() => store.log.close());
    await store.#start(opened).catch(error => giveUp().then(() => Promise.reject(error)));
    return store;
  }

  async #start({ context, indexed, missed }: OpenedStore): Promise<void> {
    const { repositories, erasures } = this;
    const removed = removedIds(missed.entries);
    const isKnown = (id: string) => indexed.repositories.has(id) && !removed.has(id);
    const files = await listRepositoryFiles(context.paths.repositories, isKnown);
    repositories.begin(files, indexed.repositories, removed);
    await this.layers.begin(indexed, { commits: missed.commits, removed });
    for (const entry of repositories.indexedInTree()) this.#handEdits.watchFolder(entry);
    const onRecovering = (progress: IndexingProgress) => this.#options.onRecovering?.(progress);
    await recoverHistories(context, { repositories, documents: this.#documents }, erasures, missed, onRecovering);
    await this.#mirrors.release();
    this.#missed = undefined;
    const onReachable = () => {
      for (const repository of repositories.allOpened())
        if (repository.reader.unrecorded !== undefined) void repository.refresh();
    };
    await this.#shared?.subscribe({ onReachable, onProblems: () => this.onProblems() });
  }

  /** Starts to watch for edits by hand, beginning with earlier ones. Call it once the daemon is ready: it reads every file's stamp. */
  watchFiles(): void {
    this.#handEdits.start();
    if (!this.log.isAuthority) this.#localEdits.start();
    void this.reconciled.then(() => this.linked.forget());
  }

  /** The log's present position: later changes have later positions. */
  get position(): Position {
    return formatPosition(this.log.id, this.log.newest);
  }

  /** Whether the log may have an entry with this number: another machine's daemon may be further than this one. */
  mayHave(number: LogNumber): boolean {
    return this.log.isAuthority || number <= this.log.newest;
  }

  /** What a person should know until they dismiss it. */
  get findings(): Findings {
    return this.#context.findings;
  }

  /** Why answers may be outdated, changes are refused, or scopes are not shared, one sentence each. */
  get problems(): readonly string[] {
    const { problem, warnings = [] } = this.log;
    const ofScopes = this.#options.shared?.scopes.problems ?? [];
    return [...(problem === undefined ? [] : [problem]), ...warnings, ...ofScopes];
  }

  /** The progress of the first read of files, which `ids` waits for; undefined when it is complete. */
  get indexing(): IndexingProgress | undefined {
    return this.#handEdits.indexing;
  }

  /** Resolves when files that changed before the start have been read. */
  get reconciled(): Promise<void> {
    const reconciled = this.#handEdits.reconciled;
    return this.log.isAuthority ? reconciled : reconciled.then(() => this.#localEdits.reconciled);
  }

  /** The ids of all repositories, sorted. Waits for files that are being read. */
  async ids(): Promise<readonly string[]> {
    await this.reconciled;
    return [...this.repositories.ids()].sort();
  }

  /** Call after the scope files were read: sends people's edits of them to the other machines. */
  shareScopes(): void {
    void this.#options.shared?.scopes.share();
  }

  /** Call when the rules for values have changed: checks the stored values again. */
  reinterpret(): void {
    for (const repository of this.#allOpened()) {
      this.repositories.touch(repository);
      if (repository.isRead) void repository.refresh();
    }
  }

  /** Finishes pending work, then closes the store. */
  async close(): Promise<void> {
    const { repositories, log, trust } = this;
    await this.#stopWork();
    for (const repository of this.#allOpened()) await repository.idle();
    await this.#mirrors.drain();
    for (const repository of this.#allOpened()) await repository.reader.lateEdits.end();
    // First apply the edits that were found meanwhile.
    for (const repository of this.#allOpened()) await repository.idle();
    try {
      await log.seal();
      await this.#mirrors.release();
    } catch (error) {
      const message = "the log could not be cleaned up; the next start takes longer";
      this.#context.onProblem(message, { error: String(error) });
    }
    await log.close();
    await this.#options.shared?.scopes.idle();
    const stop = randomUUID();
    const isIndexed = await repositories.saveIndex(stop);
    await trust.saved();
    // The last of all: a start that finds it relies on the index.
    if (isIndexed && !log.isAuthority) await markStopped(this.#context.paths.log, stop).catch(() => {});
    await this.#context.findings.saved();
  }

  async #stopWork(): Promise<void> {
    this.roster.close();
    this.repositories.close();
    this.#mirrors.close();
    this.#shared?.close();
    await this.#handEdits.close();
    await this.#localEdits.close();
  }

  /** Also those of layers. */
  *#allOpened(): Generator<Repository> {
    yield* this.repositories.allOpened();
    yield* this.#documents.allOpened();
  }

  #makeLayer(id: string, known: OpenedRepository): Repository {
    const files = known.files ?? this.layers.filesOf(id, known.indexed, this.#missed === undefined);
    return this.#make(id, { ...known, files }, true);
  }

  #make(id: string, { files, indexed, addedBy, commits }: OpenedRepository, isLayer = false): Repository {
    const isKnown = indexed !== undefined || commits !== undefined;
    const given = {
      id,
      files: files ?? new RepositoryFiles(id, this.#context, { isExpected: this.#missed === undefined, indexed }),
      journal: this.#journals.open(id),
      indexed,
      addedBy,
      missed: { commits: commits ?? this.#missed?.commits.get(id) ?? [], lost: this.#missed?.lost ?? [] },
      absentUntil: isKnown ? undefined : files === undefined ? this.#indexedUntil : this.log.newest,
      isLayer,
    };
    const reports = {
      publish: (event: ContextEvent) => {
        for (const one of isLayer ? this.layers.standingOn(id) : [repository]) {
          const translated = one.translate(event);
          if (translated !== undefined) this.events.publish(translated);
        }
        if (!isLayer && event.kind === "changed") this.layers.tellHidden(repository, event.change.changes);
      },
      onMetadata: (state: RepositoryState) => {
        if (!isLayer) this.#handEdits.watchFolder(state);
      },
      onOutdated: () => {
        // It may have been evicted while somebody was about to change it.
        for (const one of isLayer ? this.layers.standingOn(id) : [repository]) this.repositories.touch(one);
        this.#mirrors.want(repository);
      },
      onUpToDate: () => this.#mirrors.drop(repository),
    };
    const above = isLayer ? noneAbove : this.layers.of(id);
    const repository: Repository = new Repository(this.#context, given, reports, above);
    return repository;
  }

  #drop(repository: Repository): void {
    const { id, journal, state } = repository;
    this.trust.drop(id);
    void this.#context.findings.drop(id);
    this.#journals.keep(id, journal);
    this.#handEdits.watchFolder(state, true);
    this.#mirrors.drop(repository);
  }
}
