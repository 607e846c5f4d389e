import { dirname } from "node:path";
import { type FSWatcher, watch } from "chokidar";

export type FolderListener = (name: string | undefined) => void;

/**
 * Hints that something in a folder changed, by the name of the entry (undefined: unknown which). Only hints: whoever
 * hears one reads for itself. Folders are watched, never files: a rename-save ends the watch on a file, and one watch
 * serves a folder of any size. The files themselves are hidden from chokidar, as it would read the whole folder again at
 * every new name; its `raw` event still tells.
 */
export class FolderWatcher {
  readonly #listeners = new Map<string, FolderListener>();
  readonly #watcher: FSWatcher;
  /** Resolves when the folders added first are watched. */
  readonly ready: Promise<void>;

  constructor(onError: (error: unknown) => void) {
    this.#watcher = watch([], {
      ignoreInitial: true,
      atomic: false,
      awaitWriteFinish: false,
      followSymlinks: false,
      ignored: path => !this.#listeners.has(path) && this.#listeners.has(dirname(path)),
    });
    this.#watcher.on("raw", (_event, name, details) => {
      const folder = watchedFolder(details);
      if (folder !== undefined) this.#listeners.get(folder)?.(name ?? undefined);
    });
    this.#watcher.on("error", onError);
    this.ready = new Promise(resolve => this.#watcher.once("ready", resolve));
  }

  add(folder: string, listener: FolderListener): void {
    this.#listeners.set(folder, listener);
    this.#watcher.add(folder);
  }

  remove(folder: string): void {
    if (this.#listeners.delete(folder)) this.#watcher.unwatch(folder);
  }

  /** Watches a folder again that was removed and made anew: the old watch is deaf. */
  renew(folder: string): void {
    if (!this.#listeners.has(folder)) return;
    this.#watcher.unwatch(folder);
    this.#watcher.add(folder);
  }

  async close(): Promise<void> {
    this.#listeners.clear();
    await this.#watcher.close();
  }
}

function watchedFolder(details: unknown): string | undefined {
  if (typeof details !== "object" || details === null || !("watchedPath" in details)) return undefined;
  return typeof details.watchedPath === "string" ? details.watchedPath : undefined;
}
