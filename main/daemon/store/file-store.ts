import { lstat, mkdir, readdir, realpath, rename, stat } from "node:fs/promises";
import { basename, join } from "node:path";
import pLimit from "p-limit";
import { countConfigFields } from "../../../shared/config.ts";
import { RepoconfError } from "../../../shared/errors.ts";
import type { JsonObject } from "../../../shared/json.ts";
import { isRepositoryId } from "../../../shared/repository-id.ts";
import { FolderWatcher } from "../folder-watcher.ts";
import type { Scopes } from "../scopes.ts";
import { type FileStamp, sameStamp } from "./durable-text-file.ts";
import { type FileSystem, realFileSystem, systemErrorCode } from "./file-system.ts";
import { type IndexedRepository, Repository, storageFailure } from "./repository.ts";
import { type FileStamps, inTreeFileName, RepositoryFiles, type StoreFolders } from "./repository-files.ts";
import { RepositoryIndex } from "./repository-index.ts";
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
/** Files looked at side by side in a sweep: enough to keep the disk busy, too few to run out of handles. */
const sweepWidth = 32;

/** The store on files: one JSON file a repository, an index to start fast, one watcher for edits by hand. */
export class FileStore implements RepositoryStore {
  readonly #options: FileStoreOptions;
  readonly #fileSystem: FileSystem;
  readonly #repositories = new Map<string, Repository>();
  readonly #indexed = new Map<string, IndexedRepository>();
  readonly #index: RepositoryIndex;
  readonly #watcher: FolderWatcher;
  /** In-tree repositories by the folder that holds their file. */
  readonly #treeFolders = new Map<string, string>();
  readonly #listeners: ((event: StoreEvent) => void)[] = [];
  /** Adding, moving and removing repositories, one at a time: ids and paths are compared across all. */
  readonly #roster = pLimit(1);
  readonly #folderInodes = new Map<string, number>();
  /** Revisions may have been given out that the index does not know of. */
  #revisionsUncertain: boolean;
  #reconciled: Promise<void> = Promise.resolve();
  #sweepTimer: NodeJS.Timeout | undefined;
  #indexTimer: NodeJS.Timeout | undefined;
  #closed = false;

  private constructor(options: FileStoreOptions) {
    this.#options = options;
    this.#revisionsUncertain = options.afterCrash;
    this.#fileSystem = options.fileSystem ?? realFileSystem;
    const temporaryPath = join(options.folders.temporary, "index.json");
    this.#index = new RepositoryIndex(options.indexPath, temporaryPath, this.#fileSystem);
    this.#watcher = new FolderWatcher(error =>
      options.onProblem("a folder cannot be watched", { error: String(error) }),
    );
  }

  /** Reads the index and the folder's listing, and no repository's file: those that differ are read right after. */
  static async open(options: FileStoreOptions): Promise<FileStore> {
    const store = new FileStore(options);
    const { repositories, unknown } = await store.#index.read();
    if (unknown === "damaged") options.onProblem("the index is damaged and is made anew", {});
    store.#revisionsUncertain ||= unknown === "damaged" || (unknown === "missing" && !options.newHome);
    for (const entry of repositories.values()) {
      store.#indexed.set(entry.id, entry);
      store.#open(entry.id);
      if (entry.inTree && entry.path !== undefined) store.#watchTree(entry.id, entry.path);
    }
    for (const id of await store.#listIds()) if (!store.has(id)) store.#open(id);
    store.#watcher.add(options.folders.repositories, name => store.#hint(name));
    store.#reconciled = store.#watcher.ready().then(() => store.#sweep());
    store.#reconciled.catch(error =>
      options.onProblem("the folder cannot be compared with the index", { error: String(error) }),
    );
    store.#scheduleSweep();
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
    await this.#reconciled;
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
      // One of this id was removed before: its revisions go on, or an old number would be right again.
      const removedNames = await readdir(this.#options.folders.removed);
      const again = removedNames.some(name => name.startsWith(`${id}.`));
      const added = this.#repositories.get(id) ?? this.#open(id, files, again || this.#revisionsUncertain);
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

  remove(id: string): Promise<string> {
    return this.#roster(async () => {
      const repository = this.#require(id);
      return repository.exclusive(async () => {
        const movedTo = join(
          this.#options.folders.removed,
          `${id}.${new Date().toISOString().replaceAll(":", "-")}.json`,
        );
        try {
          await rename(repository.files.home.path, movedTo);
        } catch (error) {
          // Deleted by hand before: there is nothing to keep.
          if (systemErrorCode(error) !== "ENOENT") throw storageFailure(id, error);
        }
        repository.markRemoved();
        this.#repositories.delete(id);
        this.#indexed.delete(id);
        this.#followTree(repository.state, false);
        // Or the next start after a crash would take it for one whose file was deleted by hand.
        await this.#saveIndex();
        this.#publish({ kind: "removed", state: repository.state });
        return movedTo;
      });
    });
  }

  subscribe(listener: (event: StoreEvent) => void): void {
    this.#listeners.push(listener);
  }

  reinterpret(): void {
    for (const repository of this.#repositories.values()) void repository.reinterpret();
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#sweepTimer);
    clearTimeout(this.#indexTimer);
    await this.#watcher.close();
    await this.#reconciled.catch(() => {});
    for (const repository of this.#repositories.values()) await repository.idle();
    await this.#saveIndex();
  }

  #require(id: string): Repository {
    const repository = this.#repositories.get(id);
    if (repository === undefined) throw new RepoconfError(1102, `There is no repository ${id}.`, { repo: id });
    return repository;
  }

  #open(
    id: string,
    files = new RepositoryFiles(id, this.#options.folders, this.#fileSystem),
    uncertain = this.#revisionsUncertain,
  ): Repository {
    const repository = new Repository({
      id,
      files,
      scopes: this.#options.scopes,
      indexed: this.#indexed.get(id),
      nextRevision: indexed => this.#nextRevision(indexed, uncertain),
      publish: event => this.#publish(event),
      onError: (error, repo) =>
        this.#options.onProblem("a repository's files could not be looked at", { repo, error: String(error) }),
    });
    this.#repositories.set(id, repository);
    return repository;
  }

  /**
   * The revision of a repository that is new, or whose files changed while no daemon looked. Where revisions may have been
   * given out that the index does not know of, the microseconds since 1970 are ahead of all of them, so that no number
   * ever means two states.
   */
  #nextRevision(indexed: number | undefined, uncertain: boolean): number {
    const next = (indexed ?? 0) + 1;
    return uncertain ? Math.max(next, Date.now() * 1_000) : next;
  }

  #publish(event: StoreEvent): void {
    if (event.kind === "updated" || event.kind === "added") this.#followTree(event.state, true);
    this.#scheduleIndex();
    for (const listener of this.#listeners) listener(event);
  }

  #summarise(repository: Repository): RepositorySummary {
    const { state } = repository;
    const { stored, broken: _, ...info } = state;
    const modified =
      stored === undefined ? (this.#indexed.get(repository.id)?.modified ?? 0) : countConfigFields(stored);
    return { ...info, modified };
  }

  // --- edits by hand -------------------------------------------------------------------------------------------

  /** Something happened to an entry of the repositories' folder. */
  #hint(name: string | undefined): void {
    if (name === undefined || name === basename(this.#options.folders.repositories)) {
      void this.#sweepNow();
      return;
    }
    const id = idOfFile(name);
    if (id === undefined) return;
    const repository = this.#repositories.get(id);
    if (repository !== undefined) void repository.look();
    else void this.#roster(() => this.#adopt(id));
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

  #watchTree(id: string, folder: string): void {
    if (this.#treeFolders.has(folder)) return;
    this.#treeFolders.set(folder, id);
    this.#watcher.add(folder, name => {
      if (name === undefined || name === inTreeFileName) void this.#repositories.get(id)?.look();
    });
  }

  /** Watches the folder of an in-tree repository, and no longer the one it had. */
  #followTree(
    state: { readonly id: string; readonly path?: string; readonly inTree: boolean },
    present: boolean,
  ): void {
    const wanted = present && state.inTree ? state.path : undefined;
    for (const [folder, id] of this.#treeFolders) {
      if (id !== state.id || folder === wanted) continue;
      this.#treeFolders.delete(folder);
      void this.#watcher.remove(folder);
    }
    if (wanted !== undefined) this.#watchTree(state.id, wanted);
  }

  async #claimTree(id: string, folder: string): Promise<void> {
    const stats = await stat(folder).catch(() => undefined);
    if (!stats?.isDirectory()) {
      throw new RepoconfError(1101, `${folder} is no folder. An in-tree repository needs its work tree's folder.`, {
        repo: id,
      });
    }
    const real = await realpath(folder);
    for (const { state } of this.#repositories.values()) {
      if (state.id === id || !state.inTree || state.path === undefined) continue;
      if ((await realpath(state.path).catch(() => state.path)) !== real) continue;
      throw new RepoconfError(1111, `The in-tree file of ${folder} belongs to the repository ${state.id} already.`, {
        repo: id,
      });
    }
  }

  // --- what a watcher misses -----------------------------------------------------------------------------------

  async #listIds(): Promise<string[]> {
    const names = await readdir(this.#options.folders.repositories);
    return names.map(idOfFile).filter(id => id !== undefined);
  }

  #scheduleSweep(): void {
    this.#sweepTimer = setTimeout(() => {
      void this.#sweepNow().then(() => {
        if (!this.#closed) this.#scheduleSweep();
      });
    }, this.#options.sweepInterval ?? defaultSweepInterval);
    this.#sweepTimer.unref();
  }

  async #sweepNow(): Promise<void> {
    try {
      await this.#reconciled;
      await this.#sweep();
    } catch (error) {
      if (!this.#closed)
        this.#options.onProblem("the folder cannot be compared with what is known", { error: String(error) });
    }
  }

  /** Compares every file's stamp with the one known, and looks at those that differ. */
  async #sweep(): Promise<void> {
    await this.#renewWatches();
    for (const id of await this.#listIds()) if (!this.#repositories.has(id)) await this.#roster(() => this.#adopt(id));
    const width = pLimit(sweepWidth);
    await Promise.all([...this.#repositories.values()].map(repository => width(() => this.#compare(repository))));
  }

  async #compare(repository: Repository): Promise<void> {
    if (this.#closed) return;
    const { files, loaded } = repository;
    const indexed = this.#indexed.get(repository.id);
    const treePath = loaded
      ? files.tree?.path
      : indexed?.inTree && indexed.path
        ? join(indexed.path, inTreeFileName)
        : undefined;
    const found: FileStamps = {
      home: await stampOf(files.home.path),
      tree: (treePath && (await stampOf(treePath))) || undefined,
    };
    const known = loaded ? files.stamps : indexed?.stamps;
    if (known !== undefined && sameStamp(found.home, known.home) && sameStamp(found.tree, known.tree)) return;
    // One that cannot be read has no stamp known, and so is tried again at every sweep.
    await repository.look();
  }

  /** A folder that was removed and made again is another one, and its watch is deaf. */
  async #renewWatches(): Promise<void> {
    for (const folder of [this.#options.folders.repositories, ...this.#treeFolders.keys()]) {
      if (folder === this.#options.folders.repositories) await mkdir(folder, { recursive: true, mode: 0o700 });
      const inode = (await stat(folder).catch(() => undefined))?.ino;
      const known = this.#folderInodes.get(folder);
      if (inode === undefined) this.#folderInodes.set(folder, -1);
      else this.#folderInodes.set(folder, inode);
      if (known !== undefined && inode !== undefined && known !== inode) await this.#watcher.renew(folder);
    }
  }

  // --- the index -----------------------------------------------------------------------------------------------

  #scheduleIndex(): void {
    if (this.#closed || this.#indexTimer !== undefined) return;
    this.#indexTimer = setTimeout(() => {
      this.#indexTimer = undefined;
      void this.#saveIndex();
    }, indexDelay);
    this.#indexTimer.unref();
  }

  async #saveIndex(): Promise<void> {
    const entries: IndexedRepository[] = [];
    for (const repository of this.#repositories.values()) {
      const indexed = this.#indexed.get(repository.id);
      if (!repository.loaded) {
        if (indexed !== undefined) entries.push(indexed);
        continue;
      }
      entries.push({ ...this.#summarise(repository), stamps: repository.files.stamps });
    }
    try {
      await this.#index.write(entries);
    } catch (error) {
      this.#options.onProblem("the index cannot be written; the next start takes longer", { error: String(error) });
    }
  }
}

async function writeTogether<Answer>(
  repositories: readonly Repository[],
  requests: ReadonlyMap<string, ChangeRequest<Answer>>,
): Promise<Map<string, Applied<Answer>>> {
  const answers = new Map<string, Applied<Answer>>();
  let refused = false;
  for (const repository of repositories) {
    const request = requests.get(repository.id);
    if (request === undefined) continue;
    const { edits, answer } = await repository.ask(request);
    answers.set(repository.id, { state: repository.state, answer });
    refused ||= edits === undefined;
  }
  if (refused) return answers;
  const written: { finish(): void; undo(): Promise<void> }[] = [];
  try {
    for (const repository of repositories) {
      const request = requests.get(repository.id);
      if (request === undefined) continue;
      const one = await repository.write(request);
      written.push(one);
      answers.set(repository.id, one.applied);
      refused ||= one.refused;
    }
  } catch (error) {
    await undoAll(written);
    throw error;
  }
  if (refused) await undoAll(written);
  else for (const one of written) one.finish();
  return answers;
}

async function undoAll(written: readonly { undo(): Promise<void> }[]): Promise<void> {
  for (const one of written.toReversed()) await one.undo();
}

/** The id of the repository that a file of this name would be; undefined if it cannot be one. */
function idOfFile(name: string): string | undefined {
  if (!name.endsWith(".json")) return undefined;
  const id = name.slice(0, -".json".length);
  return isRepositoryId(id) ? id : undefined;
}

async function stampOf(path: string): Promise<FileStamp | undefined> {
  try {
    const { size, mtimeMs, ino } = await lstat(path);
    return { size, mtimeMs, ino };
  } catch {
    return undefined;
  }
}
