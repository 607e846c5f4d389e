import { readdir } from "node:fs/promises";
import { dirname, isAbsolute, join, resolve } from "node:path";
import { setImmediate } from "node:timers/promises";
import { foreignDisks } from "../../files/foreign-disks.ts";
import { realFolder } from "../../files/real-folder.ts";
import type { AddedFolder } from "../../git/added-folder.ts";
import type { Store } from "../../store/store.ts";
import type { Clock } from "../../time/clock.ts";

/** Milliseconds after which the links in repositories' paths are resolved again, when somebody asks. */
const linksAge = 60_000;

/** How many repositories are read before other requests have their turn: a millisecond's work. */
const sliceLength = 500;

/** The repositories' ids by folder. */
class Folders {
  readonly #ids = new Map<string, readonly string[]>();
  readonly #folders = new Map<string, string>();
  readonly #onChange: (folder: string) => void;

  constructor(onChange: (folder: string) => void) {
    this.#onChange = onChange;
  }

  /** Without a folder, the repository is dropped. */
  put(id: string, folder: string | undefined): void {
    const before = this.#folders.get(id);
    if (before === folder) return;
    if (before !== undefined) {
      const rest = (this.#ids.get(before) ?? []).filter(other => other !== id);
      if (rest.length > 0) this.#ids.set(before, rest);
      else this.#ids.delete(before);
      this.#folders.delete(id);
      this.#onChange(before);
    }
    if (folder === undefined) return;
    this.#folders.set(id, folder);
    const others = this.#ids.get(folder);
    this.#ids.set(folder, others === undefined ? [id] : [...others, id].sort());
    this.#onChange(folder);
  }

  folderOf(id: string): string | undefined {
    return this.#folders.get(id);
  }

  /** Sorted. */
  at(folder: string): readonly string[] {
    return this.#ids.get(folder) ?? [];
  }

  entries(): (readonly [id: string, folder: string])[] {
    return [...this.#folders];
  }
}

/**
 * Answers which repository has a folder, at the same cost for any number of repositories. Knows each by the path that was named when it was
 * added, and by its real path, without links.
 */
export class FolderIndex {
  readonly #store: Store;
  readonly #clock: Pick<Clock, "monotonic">;
  readonly #named = new Folders(folder => this.#changed(folder));
  /** Only those whose named path has links. */
  readonly #real = new Folders(folder => this.#changed(folder));
  #onChange: (folder: string) => void = () => {};
  #isRead = false;
  /** Resolves when the links of all that is known so far are in `#real`; undefined until somebody asks. */
  #ready: Promise<void> | undefined;
  #resolvedAt = 0;

  constructor(store: Store, clock: Pick<Clock, "monotonic">) {
    this.#store = store;
    this.#clock = clock;
    store.events.subscribe(event => {
      if (this.#ready === undefined) return;
      if (event.kind === "added" || event.kind === "updated") this.#put(event.state.id, event.state.path);
      if (event.kind === "removed") this.#put(event.state.id, undefined);
    });
  }

  /** Calls `onChange` with each folder for which the answer of `has` may have changed since `folders`. */
  subscribe(onChange: (folder: string) => void): void {
    this.#onChange = onChange;
  }

  /** Whether a repository has this folder, which has no links in its path. */
  has(folder: string): boolean {
    return this.#named.at(folder).some(id => this.#hasNoLinks(id)) || this.#real.at(folder).length > 0;
  }

  /** The folders of all repositories, without links in their paths. */
  async folders(): Promise<ReadonlySet<string>> {
    await this.#prepare();
    return new Set(this.#named.entries().map(([id, folder]) => this.#real.folderOf(id) ?? folder));
  }

  /** Which of the wanted repositories has `path`, or the nearest folder above it, as it was named. Does not ask the disk. */
  async nearestNamed(path: string, isWanted: (id: string) => boolean): Promise<AddedFolder | undefined> {
    await this.#prepare();
    return nearest(path, folder => this.#named.at(folder).find(isWanted));
  }

  /** The same by real paths, up to the folder `top`, if it is given. */
  async nearestReal(
    path: string,
    isWanted: (id: string) => boolean = () => true,
    top?: string,
  ): Promise<AddedFolder | undefined> {
    for (;;) {
      await this.#prepare();
      const idAt = (folder: string) => {
        const withoutLinks = this.#named.at(folder).filter(id => this.#hasNoLinks(id));
        const ids = [...withoutLinks, ...this.#real.at(folder)].filter(isWanted);
        return ids.length > 1 ? ids.sort()[0] : ids[0];
      };
      const found = nearest(path, idAt, top);
      if (found === undefined || this.#hasNoLinks(found.id)) return found;
      const { id } = found;
      // A link in its path may lead to another folder by now.
      const [named = "", real] = [this.#named.folderOf(id), this.#real.folderOf(id)];
      const now = await withoutLinks(named);
      if (now === real) return found;
      this.#putReal(id, now);
    }
  }

  #hasNoLinks(id: string): boolean {
    return this.#real.folderOf(id) === undefined;
  }

  /** `folder`: the real one; undefined if the named one has no links. */
  #putReal(id: string, folder: string | undefined): void {
    const [named, before] = [this.#named.folderOf(id), this.#real.folderOf(id)];
    this.#real.put(id, folder === named ? undefined : folder);
    if (named !== undefined && this.#real.folderOf(id) !== before) this.#changed(named);
  }

  #changed(folder: string): void {
    if (this.#isRead) this.#onChange(folder);
  }

  async #prepare(): Promise<void> {
    await this.#store.reconciled;
    const now = this.#clock.monotonic();
    if (this.#ready === undefined) {
      this.#ready = this.#readAll();
      this.#resolvedAt = now;
    } else if (now > this.#resolvedAt + linksAge) {
      this.#resolvedAt = now;
      // Nobody waits for that: links change rarely.
      void this.#resolve(this.#named.entries());
    }
    return this.#ready;
  }

  async #readAll(): Promise<void> {
    const { repositories } = this.#store;
    for (const [index, id] of [...repositories.ids()].entries()) {
      if (index % sliceLength === sliceLength - 1) await setImmediate();
      // As it is now: what changed since the first slice has been put already.
      this.#named.put(id, usable(repositories.brief(id)?.path));
    }
    await this.#resolve(this.#named.entries());
    this.#isRead = true;
  }

  #put(id: string, path: string | undefined): void {
    const folder = usable(path);
    this.#named.put(id, folder);
    if (folder === undefined) this.#real.put(id, undefined);
    else this.#ready = Promise.all([this.#ready, this.#resolve([[id, folder]])]).then(() => {});
  }

  async #resolve(entries: readonly (readonly [id: string, folder: string])[]): Promise<void> {
    const paths = await linkedPaths(entries.map(([, folder]) => folder));
    // Not those that have another folder by now, or none.
    for (const [id, folder] of entries) if (this.#named.folderOf(id) === folder) this.#putReal(id, paths.get(folder));
  }
}

/** A person may have written anything into the file that names the folder. */
function usable(path: string | undefined): string | undefined {
  // Almost all are as `resolve` would make them, which takes longer than the rest of the index.
  if (path?.startsWith("/") && process.platform !== "win32" && !/\/\.{0,2}(\/|$)/.test(path)) return path;
  return path !== undefined && isAbsolute(path) ? resolve(path) : undefined;
}

function nearest(path: string, idAt: (folder: string) => string | undefined, top?: string): AddedFolder | undefined {
  for (let folder = path; ; folder = dirname(folder)) {
    const id = idAt(folder);
    if (id !== undefined) return { id, folder };
    if (folder === top || dirname(folder) === folder) return undefined;
  }
}

/** The path without links, and spelled as on the disk; as given if it does not exist or its disk does not answer. */
export function withoutLinks(path: string): Promise<string> {
  return foreignDisks.ask(path, () => realFolder(path)).catch(() => path);
}

/** The paths without links of those that have some, by the given ones. Folders beside each other take two calls together, and not one each. */
async function linkedPaths(paths: readonly string[]): Promise<ReadonlyMap<string, string>> {
  const found = new Map<string, string>();
  for (const [parent, folders] of Map.groupBy(new Set(paths), dirname)) {
    const [realParent, links] =
      folders.length > 1 ? [await withoutLinks(parent), await linksIn(parent)] : [parent, undefined];
    if (links?.size === 0 && realParent === parent) continue;
    for (const folder of folders) {
      const isLink = links === undefined || links.has(folder);
      if (!isLink && realParent === parent) continue;
      const real = isLink ? await withoutLinks(folder) : join(realParent, folder.slice(parent.length));
      if (real !== folder) found.set(folder, real);
    }
  }
  return found;
}

/** The paths of the links in a folder; undefined if it cannot be listed. */
async function linksIn(folder: string): Promise<ReadonlySet<string> | undefined> {
  const entries = await foreignDisks.ask(folder, () => readdir(folder, { withFileTypes: true })).catch(() => undefined);
  return entries && new Set(entries.filter(entry => entry.isSymbolicLink()).map(entry => join(folder, entry.name)));
}
