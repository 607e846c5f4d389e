import { mkdir, readdir, stat } from "node:fs/promises";
import { basename, join } from "node:path";
import type { IndexingProgress } from "../../../shared/protocol.ts";
import { isRepositoryId } from "../../../shared/repository-id.ts";
import type { Clock } from "../../clock.ts";
import { sameStamp, stampOf } from "../../files/durable-text-file.ts";
import { systemErrorCode } from "../../files/file-system.ts";
import { sideBySide } from "../../side-by-side.ts";
import { FolderWatcher } from "../folder-watcher.ts";
import type { Repositories } from "./repositories.ts";
import { inTreeFileName } from "./work-tree.ts";

/** Files read side by side: enough to keep the disk busy, too few to run out of handles. */
export const readWidth = 32;

export interface HandEditsOptions {
  /** The folder of the repositories' files. */
  readonly folder: string;
  /** Milliseconds between two rescans. */
  readonly rescanInterval: number;
  readonly clock: Clock;
  readonly repositories: Repositories;
  /** There are files without a repository; `onRead` is called after each. */
  adopt(ids: readonly string[], onRead: () => void): Promise<void>;
  /** `indexing` has come further. */
  onIndexing(): void;
  onProblem(message: string, context: { readonly [name: string]: unknown }): void;
}

/**
 * Milliseconds after a write of ours in which a hint is mostly that write's own echo. The refresh waits until they are over,
 * so that a repository set again and again is not read again after each set, with the next one waiting for that.
 */
const echoTime = 30;

/**
 * Notices edits by hand: a watcher's hints make a repository refresh, and a rescan, which compares every file's
 * stamp with the one known, finds what a watcher missed. The truth is in the repository's own refresh.
 */
export class HandEdits {
  readonly #options: HandEditsOptions;
  readonly #watcher: FolderWatcher;
  /** The folder of each in-tree repository, and the other way round. */
  readonly #treeFolders = new Map<string, string>();
  readonly #inFolder = new Map<string, Set<string>>();
  /** Which folder stood there when it was last checked: the numbers of its disk and its inode. */
  readonly #identities = new Map<string, string>();
  /** What calls each delayed refresh off, by the repository's id. */
  readonly #delayed = new Map<string, () => void>();
  /** Settled once what changed before the start has been read, or no longer will be. */
  readonly #firstRescan = Promise.withResolvers<void>();
  /** Files that wait to become repositories. */
  readonly #new = new Set<string>();
  #adopting: Promise<void> | undefined;
  /** Of the files that have not been read yet; both 0 if there are none. */
  #indexing: IndexingProgress = { done: 0, total: 0 };
  #cancelRescan: (() => void) | undefined;
  #started = false;
  #closed = false;

  constructor(options: HandEditsOptions) {
    this.#options = options;
    this.#watcher = new FolderWatcher(error =>
      options.onProblem("a folder cannot be watched", { error: String(error) }),
    );
  }

  /** Begins to watch, and rescans once for what changed before. */
  start(): void {
    this.#started = true;
    const { folder, repositories, onProblem } = this.#options;
    void this.#watcher.add(folder, name => this.#hint(name));
    const expected = [...repositories.ids()].length;
    this.#expect(expected);
    void this.#watcher
      .ready()
      .then(() => this.#rescan(expected))
      .catch(error => {
        this.#indexing = { done: 0, total: 0 };
        onProblem("cannot compare the folder with the index", { error: String(error) });
      })
      .then(this.#firstRescan.resolve);
    this.#scheduleRescan();
  }

  /** How many files have been read of those that are to be read for the first time; undefined when that is done. */
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
    this.#options.onIndexing();
  }

  /** Resolves when what changed before the start has been read. */
  get reconciled(): Promise<void> {
    return this.#firstRescan.promise;
  }

  /** Watches the folder of an in-tree repository, and no longer the one it had. `gone`: no folder at all. */
  follow(state: { readonly id: string; readonly path?: string; readonly inTree: boolean }, isMissing = false): void {
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
    // At the start the first rescan, which waits for all watches, finds what changed before them.
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

  /** Something happened to an entry of the repositories' folder. */
  #hint(name: string | undefined): void {
    if (name === undefined || name === basename(this.#options.folder)) {
      void this.#rescanNow();
      return;
    }
    const id = repositoryOfFile(name);
    if (id === undefined) return;
    if (this.#options.repositories.has(id)) this.#refreshSoon(id);
    else void this.#adopt([id]);
  }

  /** Many at a time, but not all at once: others want to add and remove repositories too. */
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

  /** At once, but for what is probably our own write. */
  #refreshSoon(id: string): void {
    const { repositories, clock } = this.#options;
    if (this.#delayed.has(id)) return;
    const wroteAt = repositories.opened(id)?.wroteAt ?? Number.NEGATIVE_INFINITY;
    const wait = wroteAt + echoTime - clock.monotonic();
    if (wait <= 0) {
      void repositories.get(id)?.refresh();
      return;
    }
    const refresh = () => {
      this.#delayed.delete(id);
      void repositories.get(id)?.refresh();
    };
    this.#delayed.set(id, clock.schedule(wait, refresh));
  }

  #scheduleRescan(): void {
    const { clock, rescanInterval } = this.#options;
    this.#cancelRescan = clock.schedule(rescanInterval, () => {
      void this.#remakeFolder()
        .then(() => this.#rescanNow())
        .then(() => {
          if (!this.#closed) this.#scheduleRescan();
        });
    });
  }

  /** Not at once: it may go because the home does. Nor with the home: that is not to come back without what was in it. */
  async #remakeFolder(): Promise<void> {
    const { folder, onProblem } = this.#options;
    await mkdir(folder, { mode: 0o700 }).catch(error => {
      if (systemErrorCode(error) !== "EEXIST") onProblem("cannot recreate the folder", { error: String(error) });
    });
  }

  async #rescanNow(): Promise<void> {
    try {
      await this.#firstRescan.promise;
      await this.#rescan();
    } catch (error) {
      if (this.#closed) return;
      this.#options.onProblem("cannot compare the folder with the known repositories", { error: String(error) });
    }
  }

  /** `expected`: in the first one, as many as it was said that there are. */
  async #rescan(expected?: number): Promise<void> {
    const { folder, repositories } = this.#options;
    for (const watched of [folder, ...this.#inFolder.keys()]) await this.#renewWatch(watched);
    await this.#adopt((await listRepositoryFiles(folder)).filter(id => !repositories.has(id)));
    const ids = [...repositories.ids()];
    if (expected !== undefined) this.#expect(ids.length - expected);
    await sideBySide(ids, readWidth, async id => {
      await this.#compare(id);
      if (expected !== undefined) this.#countRead();
    });
  }

  async #compare(id: string): Promise<void> {
    if (this.#closed) return;
    const { repositories, folder } = this.#options;
    const repository = repositories.opened(id);
    const indexed = repository?.loaded ? undefined : repositories.indexed(id);
    const indexedTree = indexed?.inTree && indexed.path !== undefined ? join(indexed.path, inTreeFileName) : undefined;
    const treePath = repository?.loaded ? repository.files.tree?.path : indexedTree;
    const home = await stampOf(join(folder, `${id}.json`));
    const tree = treePath === undefined ? undefined : await stampOf(treePath);
    const known = repository?.loaded ? repository.stamps : indexed?.stamps;
    const refresh = () => repositories.get(id)?.refresh();
    // One that cannot be read has no stamp known, and so is tried again at every rescan.
    // A work tree that is gone has no stamps either when it comes back without the file.
    if (treePath !== undefined && repository?.state.broken !== undefined) await refresh();
    // Its file lacked something when the index was written.
    else if (!repository?.loaded && indexed !== undefined && indexed.text === undefined) await refresh();
    else if (known === undefined || !sameStamp(home, known.home) || !sameStamp(tree, known.tree)) await refresh();
  }

  /** A folder that was removed and made again is another one, and its watch is deaf. */
  async #renewWatch(folder: string): Promise<void> {
    const stats = await stat(folder).catch(() => undefined);
    const identity = stats === undefined ? "" : `${stats.dev}:${stats.ino}`;
    const known = this.#identities.get(folder);
    this.#identities.set(folder, identity);
    if (known !== undefined && identity !== "" && known !== identity) await this.#watcher.renew(folder);
  }
}

/** Ids of the repositories that have a file in the folder; none if there is no folder. */
export async function listRepositoryFiles(folder: string): Promise<string[]> {
  const names = await readdir(folder).catch(error => {
    if (systemErrorCode(error) !== "ENOENT") throw error;
    return [];
  });
  return names.map(repositoryOfFile).filter(id => id !== undefined);
}

/** The id of the repository that a file of this name would be; undefined if it cannot be one. */
function repositoryOfFile(name: string): string | undefined {
  if (!name.endsWith(".json")) return undefined;
  const id = name.slice(0, -".json".length);
  return isRepositoryId(id) ? id : undefined;
}
