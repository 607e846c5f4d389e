import { realpath, stat } from "node:fs/promises";
import { join } from "node:path";
import pLimit from "p-limit";
import { countConfigFields } from "../../../shared/config.ts";
import { RepoconfError } from "../../../shared/errors.ts";
import type { JsonObject } from "../../../shared/json.ts";
import type { Scopes } from "../scopes.ts";
import { moveFile } from "./durable-text-file.ts";
import { type FileSystem, realFileSystem } from "./file-system.ts";
import { HandEdits, listRepositoryFiles } from "./hand-edits.ts";
import { type IndexedRepository, Repository } from "./repository.ts";
import { RepositoryFiles, type StoreFolders } from "./repository-files.ts";
import { RepositoryIndex } from "./repository-index.ts";
import { storageFailure } from "./storage-failure.ts";
import type {
  Applied,
  ChangeRequest,
  NewRepository,
  RepositoryState,
  RepositoryStore,
  RepositorySummary,
  StoreEvent,
  ValueSource,
} from "./store.ts";
import { writeTogether } from "./write-together.ts";

export interface FileStoreOptions {
  readonly folders: StoreFolders;
  readonly indexPath: string;
  readonly scopes: Scopes;
  /** What `$schema` in a new repository's file says. */
  readonly schemaReference: string;
  /** The last run did not end in order, so the index may be behind what was acknowledged. */
  readonly afterCrash: boolean;
  /** No daemon ran on this home before, so there is no index to miss. */
  readonly newHome: boolean;
  readonly fileSystem?: FileSystem;
  /** Milliseconds between two comparisons of the folder with what is known. */
  readonly sweepInterval?: number;
  /** Something worth a log line happened that no caller is told of. */
  onProblem(message: string, context: { readonly [name: string]: unknown }): void;
}

/** Milliseconds from a change to the index that knows it; a crash in between costs a reading of the file at the next start. */
const indexDelay = 5_000;
const defaultSweepInterval = 10_000;
/** The store on files: one JSON file a repository, an index to start fast, one watcher for edits by hand. */
export class FileStore implements RepositoryStore {
  readonly #options: FileStoreOptions;
  readonly #fileSystem: FileSystem;
  readonly #repositories = new Map<string, Repository>();
  readonly #indexed = new Map<string, IndexedRepository>();
  /** The last revisions of repositories that were removed. */
  readonly #removed = new Map<string, number>();
  readonly #index: RepositoryIndex;
  readonly #handEdits: HandEdits;
  readonly #listeners: ((event: StoreEvent) => void)[] = [];
  /** Adding, moving and removing repositories, one at a time: ids and paths are compared across all. */
  readonly #roster = pLimit(1);
  /** Revisions may have been given out that the index does not know of. */
  #revisionsUncertain: boolean;
  #indexTimer: NodeJS.Timeout | undefined;
  #closed = false;

  private constructor(options: FileStoreOptions) {
    this.#options = options;
    this.#revisionsUncertain = options.afterCrash;
    this.#fileSystem = options.fileSystem ?? realFileSystem;
    this.#index = new RepositoryIndex(options.indexPath, options.folders.temporary, this.#fileSystem);
    this.#handEdits = new HandEdits({
      folder: options.folders.repositories,
      sweepInterval: options.sweepInterval ?? defaultSweepInterval,
      repositories: this.#repositories,
      indexed: this.#indexed,
      adopt: id => this.#roster(() => this.#adopt(id)),
      onProblem: options.onProblem,
    });
  }

  /** Reads the index and the folder's listing, and no repository's file: those that differ are read right after. */
  static async open(options: FileStoreOptions): Promise<FileStore> {
    const store = new FileStore(options);
    const { data, unknown } = await store.#index.read();
    if (unknown === "damaged") options.onProblem("the index is damaged and is made anew", {});
    store.#revisionsUncertain ||= unknown === "damaged" || (unknown === "missing" && !options.newHome);
    for (const [id, revision] of Object.entries(data.removed)) store.#removed.set(id, revision);
    for (const entry of Object.values(data.repositories)) {
      store.#indexed.set(entry.id, entry);
      store.#open(entry.id);
      store.#handEdits.follow(entry);
    }
    for (const id of await listRepositoryFiles(options.folders.repositories)) if (!store.has(id)) store.#open(id);
    store.#handEdits.start();
    return store;
  }

  has(id: string): boolean {
    return this.#repositories.has(id);
  }

  ids(): Iterable<string> {
    return this.#repositories.keys();
  }

  peek(id: string): RepositoryState | undefined {
    const repository = this.#repositories.get(id);
    return repository?.loaded ? repository.state : undefined;
  }

  async read(id: string): Promise<RepositoryState | undefined> {
    const repository = this.#repositories.get(id);
    if (repository === undefined) return undefined;
    if (!repository.loaded) await repository.look();
    return repository.state;
  }

  source(id: string, scope: string, field: string): ValueSource | undefined {
    return this.#repositories.get(id)?.source(scope, field);
  }

  revision(id: string): number {
    return this.#repositories.get(id)?.state.revision ?? 0;
  }

  async summaries(): Promise<readonly RepositorySummary[]> {
    await this.#handEdits.reconciled;
    return [...this.#repositories.values()].map(repository => this.#summarise(repository));
  }

  async apply<Answer>(id: string, request: ChangeRequest<Answer>): Promise<Applied<Answer>> {
    return this.#require(id).change(request);
  }

  async applyTogether<Answer>(
    requests: ReadonlyMap<string, ChangeRequest<Answer>>,
  ): Promise<Map<string, Applied<Answer>>> {
    // Always in the same order, so that two of these never wait for each other.
    const repositories = [...requests.keys()].sort().map(id => this.#require(id));
    const holdAll = (index: number): Promise<Map<string, Applied<Answer>>> => {
      const repository = repositories[index];
      if (repository === undefined) return writeTogether(repositories, requests);
      return repository.exclusive(() => holdAll(index + 1));
    };
    return holdAll(0);
  }

  add(repository: NewRepository): Promise<RepositorySummary> {
    return this.#roster(async () => {
      const { id, name, path, inTree } = repository;
      const taken = [...this.#repositories.keys()].some(other => other.toLowerCase() === id.toLowerCase());
      if (taken)
        throw new RepoconfError(1111, `There is a repository with the id ${id} already. Choose another id.`, {
          repo: id,
        });
      if (inTree && path !== undefined) await this.#claimTree(id, path);
      const head: JsonObject = inTree
        ? { name, ...(path !== undefined && { path }), inTree: true }
        : { $schema: this.#options.schemaReference, name, ...(path !== undefined && { path }), config: {} };
      const files = new RepositoryFiles(id, this.#options.folders, this.#fileSystem);
      await files.home.look();
      if (files.home.status.kind !== "gone") {
        throw new RepoconfError(
          1111,
          `${files.home.path} is there already. Choose another id, or move the file away.`,
          { repo: id },
        );
      }
      try {
        await files.home.write(head);
      } catch (error) {
        throw storageFailure(id, error);
      }
      const added = this.#repositories.get(id) ?? this.#open(id, files);
      await added.look();
      this.#publish({ kind: "added", state: added.state });
      return this.#summarise(added);
    });
  }

  update(id: string, changes: { readonly name?: string; readonly path?: string }): Promise<RepositorySummary> {
    return this.#roster(async () => {
      const repository = this.#require(id);
      const state = await this.read(id);
      if (state?.inTree && changes.path !== undefined) await this.#claimTree(id, changes.path);
      await repository.exclusive(() => repository.changeHead(changes));
      return this.#summarise(repository);
    });
  }

  remove(id: string): Promise<string | undefined> {
    return this.#roster(async () => {
      const repository = this.#require(id);
      return repository.exclusive(async () => {
        const name = `${id}.${new Date().toISOString().replaceAll(":", "-")}.json`;
        const movedTo = join(this.#options.folders.removed, name);
        let moved: boolean;
        try {
          moved = await moveFile(repository.files.home.path, movedTo, this.#fileSystem);
        } catch (error) {
          throw storageFailure(id, error);
        }
        repository.markRemoved();
        this.#repositories.delete(id);
        this.#indexed.delete(id);
        this.#removed.set(id, repository.state.revision);
        this.#handEdits.follow(repository.state, true);
        // Or the next start after a crash would take it for one whose file was deleted by hand.
        await this.#saveIndex();
        this.#publish({ kind: "removed", state: repository.state });
        // Deleted by hand before: there is nothing to keep.
        return moved ? movedTo : undefined;
      });
    });
  }

  subscribe(listener: (event: StoreEvent) => void): void {
    this.#listeners.push(listener);
  }

  reinterpret(): void {
    for (const repository of this.#repositories.values()) void repository.reinterpret();
  }

  async close(): Promise<boolean> {
    this.#closed = true;
    clearTimeout(this.#indexTimer);
    await this.#handEdits.close();
    for (const repository of this.#repositories.values()) await repository.idle();
    const saved = await this.#saveIndex();
    // What the index said when it could not be sure is still in there, for those that nobody has looked at.
    return saved && (!this.#revisionsUncertain || this.#handEdits.comparedAll);
  }

  #require(id: string): Repository {
    const repository = this.#repositories.get(id);
    if (repository === undefined) throw new RepoconfError(1102, `There is no repository ${id}.`, { repo: id });
    return repository;
  }

  #open(id: string, files = new RepositoryFiles(id, this.#options.folders, this.#fileSystem)): Repository {
    const repository = new Repository({
      id,
      files,
      scopes: this.#options.scopes,
      indexed: this.#indexed.get(id),
      nextRevision: indexed => this.#nextRevision(indexed ?? this.#removed.get(id)),
      publish: event => this.#publish(event),
      onHead: state => this.#handEdits.follow(state),
      onError: (error, repo) =>
        this.#options.onProblem("a repository's files could not be looked at", { repo, error: String(error) }),
    });
    this.#repositories.set(id, repository);
    return repository;
  }

  /**
   * The revision of a repository that is new or back again, or whose files changed while no daemon looked. Where revisions may have been
   * given out that the index does not know of, the microseconds since 1970 are ahead of all of them, so that no number
   * ever means two states.
   */
  #nextRevision(known: number | undefined): number {
    const next = (known ?? 0) + 1;
    return this.#revisionsUncertain ? Math.max(next, Date.now() * 1_000) : next;
  }

  #publish(event: StoreEvent): void {
    this.#scheduleIndex();
    for (const listener of this.#listeners) {
      try {
        listener(event);
      } catch (error) {
        // What is written is written: its caller is to be told so, whatever becomes of the telling of others.
        this.#options.onProblem("a change could not be told to all", { error: String(error) });
      }
    }
  }

  #summarise(repository: Repository): RepositorySummary {
    const { state } = repository;
    const { stored, broken: _, ...info } = state;
    const modified =
      stored === undefined ? (this.#indexed.get(repository.id)?.modified ?? 0) : countConfigFields(stored);
    return { ...info, modified };
  }

  /** A file nobody knew: a repository, once it can be read. */
  async #adopt(id: string): Promise<void> {
    if (this.#closed || this.#repositories.has(id)) return;
    const files = new RepositoryFiles(id, this.#options.folders, this.#fileSystem);
    await files.home.look();
    if (files.home.status.kind === "gone" || this.#repositories.has(id)) return;
    const repository = this.#open(id, files);
    await repository.look();
    this.#publish({ kind: "added", state: repository.state });
  }

  /** Sees to it that an in-tree file has one repository. Throws RepoconfError 1101 or 1111. */
  async #claimTree(id: string, folder: string): Promise<void> {
    const stats = await stat(folder).catch(() => undefined);
    if (!stats?.isDirectory()) {
      const message = `${folder} is no folder. An in-tree repository needs its work tree's folder.`;
      throw new RepoconfError(1101, message, { repo: id });
    }
    const real = await realpath(folder);
    for (const { state } of this.#repositories.values()) {
      if (state.id === id || !state.inTree || state.path === undefined) continue;
      if ((await realpath(state.path).catch(() => state.path)) !== real) continue;
      const message = `The in-tree file of ${folder} belongs to the repository ${state.id} already.`;
      throw new RepoconfError(1111, message, { repo: id });
    }
  }

  #scheduleIndex(): void {
    if (this.#closed || this.#indexTimer !== undefined) return;
    this.#indexTimer = setTimeout(() => {
      this.#indexTimer = undefined;
      void this.#saveIndex();
    }, indexDelay);
    this.#indexTimer.unref();
  }

  /** Tells whether it was saved. */
  async #saveIndex(): Promise<boolean> {
    try {
      await this.#index.write(() => ({
        repositories: Object.fromEntries([...this.#indexEntries()].map(entry => [entry.id, entry])),
        removed: Object.fromEntries(this.#removed),
      }));
      return true;
    } catch (error) {
      this.#options.onProblem("the index cannot be written; the next start takes longer", { error: String(error) });
      return false;
    }
  }

  *#indexEntries(): Generator<IndexedRepository> {
    for (const repository of this.#repositories.values()) {
      const indexed = this.#indexed.get(repository.id);
      if (repository.loaded) yield { ...this.#summarise(repository), stamps: repository.stamps };
      else if (indexed !== undefined) yield indexed;
    }
  }
}
