import { mkdir, stat } from "node:fs/promises";
import { basename, join } from "node:path";
import type { IndexingProgress } from "../../../shared/protocol.ts";
import { foreignStampOf, sameStamp, stampOf } from "../../files/durable-text-file.ts";
import { systemErrorCode } from "../../files/file-system.ts";
import { FolderWatcher } from "../../files/folder-watcher.ts";
import { foreignDisks } from "../../files/foreign-disks.ts";
import { inTreeFileName } from "../../git/work-tree.ts";
import { forEachConcurrently } from "../../time/for-each-concurrently.ts";
import type { StoreContext } from "../context.ts";
import type { FileStamps, RepositoryFiles } from "../mirror/repository-files.ts";
import type { IndexedRepository } from "../state/repository-index.ts";
import type { RepositoryState } from "../types.ts";
import { listRepositoryFiles, readWidth, repositoryOfFile } from "./repository-folder.ts";

interface WatchedRepository {
  /** Whether its files have been read; until then, its index entry counts. */
  readonly loaded: boolean;
  readonly state: RepositoryState;
  readonly files: Pick<RepositoryFiles, "tree">;
  /** The versions of the files that `state` was made from. */
  readonly stamps: FileStamps;
  /** When the daemon last wrote the file of the values, by the clock's `monotonic()`. */
  readonly wroteAt: number;
  refresh(): Promise<void>;
}

interface WatchedRepositories {
  has(id: string): boolean;
  ids(): Iterable<string>;
  indexed(id: string): IndexedRepository | undefined;
  /** Undefined if it is not open. */
  opened(id: string): WatchedRepository | undefined;
  /** Opens it. */
  get(id: string): WatchedRepository | undefined;
}

export interface HandEditWatcherOptions {
  /** Milliseconds between two rescans; `defaultRescanInterval` if undefined. */
  readonly rescanInterval: number | undefined;
  readonly repositories: WatchedRepositories;
  /** Makes repositories of files that have none; calls `onRead` after each. */
  adopt(ids: readonly string[], onRead: () => void): Promise<void>;
  /** Called when `indexing` has progressed. */
  onIndexing?(): void;
}

export const defaultRescanInterval = 10_000;

/**
 * Milliseconds after a write by the daemon during which a watcher's event is mostly caused by that write. The refresh waits until then,
 * so that frequent sets do not cause a read of the file after each one, which would delay the next.
 */
const echoTime = 30;

/**
 * Notices edits by hand. A watcher's event makes a repository refresh, and a rescan, which compares every file's stamp with the known
 * one, finds changes that the watcher missed. Only the refresh decides what changed.
 */
export class HandEditWatcher {
  readonly #context: StoreContext;
  /** The folder of the repositories' files. */
  readonly #folder: string;
  readonly #options: HandEditWatcherOptions;
  readonly #watcher: FolderWatcher;
  /** The folder of each in-tree repository, and the repository of each folder. */
  readonly #treeFolders = new Map<string, string>();
  readonly #inFolder = new Map<string, Set<string>>();
  /** Disk and inode number of each folder when it was last checked. */
  readonly #identities = new Map<string, string>();
  /** Cancels the delayed refresh of a repository, by id. */
  readonly #delayed = new Map<string, () => void>();
  /** Settles once changes from before the start have been read, or the watch was stopped. */
  readonly #firstRescan = Promise.withResolvers<void>();
  /** Ids of files that are to become repositories. */
  readonly #new = new Set<string>();
  #adopting: Promise<void> | undefined;
  /** The progress of the first read of new files; both 0 if there are none. */
  #indexing: IndexingProgress = { done: 0, total: 0 };
  #cancelRescan: (() => void) | undefined;
  #started = false;
  #closed = false;

  /** `folder`: that of the files. */
  constructor(context: StoreContext, folder: string, options: HandEditWatcherOptions) {
    this.#context = context;
    this.#folder = folder;
    this.#options = options;
    this.#watcher = new FolderWatcher(error =>
      context.onProblem("a folder cannot be watched", { error: String(error) }),
    );
  }

  /** Starts to watch, and rescans once for earlier changes. */
  start(): void {
    this.#started = true;
    const { repositories } = this.#options;
    void this.#watcher.add(this.#folder, name => this.#hint(name));
    const expected = [...repositories.ids()].length;
    this.#expect(expected);
    void this.#watcher
      .ready()
      .then(() => this.#rescan(expected))
      .catch(error => {
        this.#indexing = { done: 0, total: 0 };
        this.#context.onProblem("cannot compare the folder with the index", { error: String(error) });
      })
      .then(this.#firstRescan.resolve);
    this.#scheduleRescan();
  }

  /** The progress of the first read of new files; undefined when it is complete. */
  get indexing(): IndexingProgress | undefined {
    return this.#indexing.total === 0 ? undefined : this.#indexing;
  }

  #expect(files: number): void {
    const { done, total } = this.#indexing;
    this.#indexing = { done, total: total + files };
  }

  #countRead(): void {
    const { done, total } = this.#indexing;
    this.#indexing = done + 1 >= total ? { done: 0, total: 0 } : { done: done + 1, total };
    this.#options.onIndexing?.();
  }

  /** Resolves when changes from before the start have been read. */
  get reconciled(): Promise<void> {
    return this.#firstRescan.promise;
  }

  /** Watches the folder of an in-tree repository instead of its earlier one; none if `isMissing`. */
  watchFolder(
    state: { readonly id: string; readonly path?: string; readonly inTree: boolean },
    isMissing = false,
  ): void {
    const { id } = state;
    const before = this.#treeFolders.get(id);
    const wanted = !isMissing && state.inTree ? state.path : undefined;
    if (before === wanted) return;
    if (before !== undefined) this.#leave(id, before);
    if (wanted === undefined) return;
    this.#treeFolders.set(id, wanted);
    const inside = this.#inFolder.get(wanted) ?? new Set();
    inside.add(id);
    if (this.#inFolder.has(wanted)) return;
    this.#inFolder.set(wanted, inside);
    const refreshInside = () => {
      for (const one of inside) this.#refreshSoon(one);
    };
    const watched = this.#watcher.add(wanted, name => {
      if (name === undefined || name === inTreeFileName) refreshInside();
    });
    // At the start this is done by the first rescan, which waits for all watches.
    if (this.#started) void watched.then(() => this.#renewWatch(wanted)).then(refreshInside);
  }

  #leave(id: string, folder: string): void {
    this.#treeFolders.delete(id);
    const inside = this.#inFolder.get(folder);
    inside?.delete(id);
    if (inside?.size !== 0) return;
    this.#inFolder.delete(folder);
    void this.#watcher.remove(folder);
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#cancelRescan?.();
    for (const cancel of this.#delayed.values()) cancel();
    await this.#watcher.close();
    if (this.#started) await this.#firstRescan.promise;
    await this.#adopting;
  }

  /** Handles a watcher's event about an entry of the repositories' folder. */
  #hint(name: string | undefined): void {
    if (name === undefined || name === basename(this.#folder)) {
      void this.#rescanNow();
      return;
    }
    const id = repositoryOfFile(name);
    if (id === undefined) return;
    if (this.#options.repositories.has(id)) this.#refreshSoon(id);
    else void this.#adopt([id]);
  }

  /** In groups, because adding and removing repositories waits for each group. */
  #adopt(ids: Iterable<string>): Promise<void> {
    for (const id of ids) {
      if (!this.#new.has(id)) this.#expect(1);
      this.#new.add(id);
    }
    const adoptAll = async () => {
      while (this.#new.size > 0) {
        const some = [...this.#new].slice(0, readWidth);
        await this.#options.adopt(some, () => this.#countRead());
        for (const id of some) this.#new.delete(id);
      }
    };
    this.#adopting ??= adoptAll().finally(() => {
      this.#adopting = undefined;
    });
    return this.#adopting;
  }

  /** Refreshes at once, except after an event that the daemon's own write probably caused. */
  #refreshSoon(id: string): void {
    const { repositories } = this.#options;
    const { clock } = this.#context;
    if (this.#delayed.has(id)) return;
    const wroteAt = repositories.opened(id)?.wroteAt ?? Number.NEGATIVE_INFINITY;
    const wait = wroteAt + echoTime - clock.monotonic();
    const refresh = () => {
      this.#delayed.delete(id);
      void repositories.get(id)?.refresh();
    };
    if (wait <= 0) refresh();
    else this.#delayed.set(id, clock.schedule(wait, refresh));
  }

  #scheduleRescan(): void {
    const { rescanInterval = defaultRescanInterval } = this.#options;
    this.#cancelRescan = this.#context.clock.schedule(rescanInterval, () => {
      void this.#remakeFolder()
        .then(() => this.#rescanNow())
        .then(() => {
          if (!this.#closed) this.#scheduleRescan();
        });
    });
  }

  /** Creates a deleted folder again. Not at once, and only if the home still exists: somebody may be deleting the home. */
  async #remakeFolder(): Promise<void> {
    await mkdir(this.#folder, { mode: 0o700 }).catch(error => {
      if (systemErrorCode(error) !== "EEXIST")
        this.#context.onProblem("cannot recreate the folder", { error: String(error) });
    });
  }

  async #rescanNow(): Promise<void> {
    try {
      await this.#firstRescan.promise;
      await this.#rescan();
    } catch (error) {
      if (this.#closed) return;
      this.#context.onProblem("cannot compare the folder with the known repositories", { error: String(error) });
    }
  }

  /** Compares every file with its known stamp. `expected`: in the first rescan, the number of new files reported so far. */
  async #rescan(expected?: number): Promise<void> {
    const { repositories } = this.#options;
    for (const watched of [this.#folder, ...this.#inFolder.keys()]) await this.#renewWatch(watched);
    await this.#adopt(await listRepositoryFiles(this.#folder, id => repositories.has(id)));
    const ids = [...repositories.ids()];
    if (expected !== undefined) this.#expect(ids.length - expected);
    await forEachConcurrently(ids, readWidth, async id => {
      await this.#compare(id);
      if (expected !== undefined) this.#countRead();
    });
  }

  async #compare(id: string): Promise<void> {
    if (this.#closed) return;
    const { repositories } = this.#options;
    const repository = repositories.opened(id);
    const indexed = repository?.loaded ? undefined : repositories.indexed(id);
    const indexedTree = indexed?.inTree && indexed.path !== undefined ? join(indexed.path, inTreeFileName) : undefined;
    const treePath = repository?.loaded ? repository.files.tree?.path : indexedTree;
    const home = await stampOf(join(this.#folder, `${id}.json`));
    const tree = treePath === undefined ? undefined : await foreignStampOf(treePath, this.#context.clock);
    const known = repository?.loaded ? repository.stamps : indexed?.stamps;
    const refresh = () => repositories.get(id)?.refresh();
    // An unreadable file has no known stamp, so it is read again at every rescan.
    // A missing work tree that comes back without the file has no stamp either.
    if (treePath !== undefined && repository?.state.broken !== undefined) await refresh();
    // The file lacked a commit when the index was written.
    else if (!repository?.loaded && indexed !== undefined && !indexed.isLevel) await refresh();
    else if (known === undefined || !sameStamp(home, known.home) || !sameStamp(tree, known.tree)) await refresh();
  }

  /** Watches a folder again that was deleted and created again: the old watch gets no events any more. */
  async #renewWatch(folder: string): Promise<void> {
    const stats = await foreignDisks.ask(folder, () => stat(folder), this.#context.clock).catch(() => undefined);
    const identity = stats === undefined ? "" : `${stats.dev}:${stats.ino}`;
    const known = this.#identities.get(folder);
    this.#identities.set(folder, identity);
    if (known !== undefined && identity !== "" && known !== identity) await this.#watcher.renew(folder);
  }
}
