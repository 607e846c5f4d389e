import { stat } from "node:fs/promises";
import { FSWatcher } from "chokidar";
import { foreignDisks, UnreachableDiskError } from "./foreign-disks.ts";

/**
 * chokidar without listing the folder, which takes a large part of a start with 10,000 files; everything in the folder is ignored
 * anyway (`ignored`). Opens no stream for a watcher that is closed meanwhile.
 */
class HintWatcher extends FSWatcher {
  override createScanStream(): undefined {
    return undefined;
  }
}

export type FolderListener = (name: string | undefined) => void;

interface WatchedFolder {
  readonly listener: FolderListener;
  watcher?: FSWatcher;
  /** Resolves when the folder is watched, was removed, or its disk does not answer. */
  readonly ready: PromiseWithResolvers<void>;
}

/**
 * Reports that something in a folder changed, and the entry's name (undefined: unknown). Only hints: the receiver reads the file
 * itself. Folders are watched, never files: a rename-save ends the watch on a file, and one watch is enough for a folder of any size.
 * The files are hidden from chokidar, which would list the whole folder again at every new name; its `raw` event still reports them.
 */
export class FolderWatcher {
  readonly #watched = new Map<string, WatchedFolder>();
  readonly #onError: (error: unknown) => void;

  constructor(onError: (error: unknown) => void) {
    this.#onError = onError;
  }

  /** Resolves when the folders added so far are watched. */
  async ready(): Promise<void> {
    await Promise.all([...this.#watched.values()].map(({ ready }) => ready.promise));
  }

  /**
   * Resolves when the folder is watched: earlier changes were not reported. A folder whose disk does not answer is not watched until
   * `renew`.
   */
  add(folder: string, listener: FolderListener): Promise<void> {
    const watched: WatchedFolder = { listener, ready: Promise.withResolvers<void>() };
    this.#watched.set(folder, watched);
    void this.#begin(folder, watched);
    return watched.ready.promise;
  }

  async #begin(folder: string, watched: WatchedFolder): Promise<void> {
    // The system sets up a watch in the thread of the event loop, which must not wait for a disk.
    const found = await foreignDisks.ask(folder, () => stat(folder)).catch((error: unknown) => error);
    if (this.#watched.get(folder) !== watched) return;
    if (found instanceof UnreachableDiskError) return watched.ready.resolve();
    const { listener, ready } = watched;
    // One chokidar watcher for each folder: `unwatch` of a folder would permanently silence the folders below it.
    const watcher = new HintWatcher({
      ignoreInitial: true,
      atomic: false,
      awaitWriteFinish: false,
      // Affects only the folder itself: a work tree's path may be a link. Everything inside is ignored anyway.
      followSymlinks: true,
      ignored: path => path !== folder,
    });
    watcher.on("raw", (_event, name) => listener(name ?? undefined));
    watcher.on("error", this.#onError);
    watcher.once("ready", ready.resolve);
    watcher.add(folder);
    watched.watcher = watcher;
  }

  async remove(folder: string): Promise<void> {
    const watched = this.#watched.get(folder);
    this.#watched.delete(folder);
    // If chokidar is closed before it is ready, it never emits `ready`.
    watched?.ready.resolve();
    await watched?.watcher?.close();
  }

  /** Watches a folder again after it was removed and created again: the old watch reports nothing. Resolves as `add`. */
  async renew(folder: string): Promise<void> {
    const watched = this.#watched.get(folder);
    if (watched === undefined) return;
    await this.remove(folder);
    await this.add(folder, watched.listener);
  }

  async close(): Promise<void> {
    await Promise.all([...this.#watched.keys()].map(folder => this.remove(folder)));
  }
}
