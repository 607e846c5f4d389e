import { RepoconfError } from "../../../shared/errors.ts";
import type { Repository } from "./repository.ts";
import type { IndexedRepository } from "./repository-state.ts";
import type { RepositorySummary } from "./store.ts";

export interface RepositoriesOptions {
  /** How many are held open at most, but for those that have something to do. */
  readonly mostOpen: number;
  /** Makes the object of one; `indexed` is what was known of it last. */
  open(id: string, indexed: IndexedRepository | undefined): Repository;
  /** It was let go: what it held is in its files. */
  onEvict(repository: Repository): void;
}

/** How many are checked when another one needs room, so that nobody waits for long. */
const triesForRoom = 8;

/**
 * All repositories. Most are never requested: for those there is only what the index has. The others are open; of those that were not
 * used for long, only what the index needs is kept.
 */
export class Repositories {
  readonly #options: RepositoriesOptions;
  /** By id: what is known of those that are not open; undefined: nothing but the file's name. */
  readonly #known = new Map<string, IndexedRepository | undefined>();
  /** The one that was used last comes last. */
  readonly #open = new Map<string, Repository>();
  /** Let go, but somebody may still be using it: there must never be two of one repository. */
  readonly #evicted = new Map<string, WeakRef<Repository>>();

  constructor(options: RepositoriesOptions) {
    this.#options = options;
  }

  has(id: string): boolean {
    return this.#known.has(id);
  }

  ids(): Iterable<string> {
    return this.#known.keys();
  }

  /** There is one; it is opened when it is first asked for. */
  add(id: string, indexed?: IndexedRepository): void {
    this.#known.set(id, indexed);
  }

  /** There is one, and this is it. */
  set(repository: Repository): void {
    if (!this.has(repository.id)) this.add(repository.id);
    this.#use(repository);
  }

  /** It is in use, also if it was let go meanwhile. */
  touch(repository: Repository): void {
    if (this.has(repository.id)) this.#use(repository);
  }

  delete(id: string): void {
    this.#known.delete(id);
    this.#open.delete(id);
    this.#evicted.delete(id);
  }

  /** Undefined: it is not open, or there is none. */
  opened(id: string): Repository | undefined {
    return this.#open.get(id) ?? this.#evicted.get(id)?.deref();
  }

  /** Opens it if need be; undefined if there is none. */
  get(id: string): Repository | undefined {
    if (!this.has(id)) return undefined;
    const repository = this.opened(id) ?? this.#options.open(id, this.#known.get(id));
    this.#use(repository);
    return repository;
  }

  /** As `get`. Throws RepoconfError 1102 if there is none. */
  require(id: string): Repository {
    const repository = this.get(id);
    if (repository === undefined) throw new RepoconfError(1102, `There is no repository ${id}.`, { repo: id });
    return repository;
  }

  /** As `require`, with its files and journal read. Throws RepoconfError 1102 or 1108. */
  async load(id: string): Promise<Repository> {
    const repository = this.require(id);
    await repository.load();
    return repository;
  }

  /** All that are open. */
  *allOpened(): Generator<Repository> {
    for (const repository of [...this.#open.values()]) yield repository;
    for (const reference of [...this.#evicted.values()]) {
      const repository = reference.deref();
      if (repository !== undefined) yield repository;
    }
  }

  /** As `summary`, but nothing has to be counted for it. */
  brief(id: string): Pick<RepositorySummary, "name" | "path" | "remote" | "inTree" | "revision"> | undefined {
    if (!this.has(id)) return undefined;
    return this.opened(id)?.state ?? this.#known.get(id) ?? nothingKnown(id);
  }

  /** Where the log has its newest revision, or later; without a position that is not known. */
  place(id: string): Pick<IndexedRepository, "position"> {
    return { position: (this.opened(id)?.state ?? this.#known.get(id))?.position };
  }

  /** What is known of it without opening it. */
  summary(id: string): RepositorySummary | undefined {
    if (!this.has(id)) return undefined;
    const repository = this.opened(id);
    if (repository !== undefined) return repository.summary;
    const { position: _, stamps: __, text: ___, ...summary } = this.#known.get(id) ?? nothingKnown(id);
    return summary;
  }

  /** What the index is to know of it; undefined: nothing yet. */
  indexed(id: string): IndexedRepository | undefined {
    const repository = this.opened(id);
    return repository?.loaded ? repository.indexEntry : this.#known.get(id);
  }

  #use(repository: Repository): void {
    const { id } = repository;
    this.#evicted.delete(id);
    this.#open.delete(id);
    this.#open.set(id, repository);
    let tries = triesForRoom;
    for (const oldest of this.#open.values()) {
      if (this.#open.size <= this.#options.mostOpen || tries === 0) return;
      tries -= 1;
      this.#open.delete(oldest.id);
      if (oldest.isAtRest) this.#drop(oldest);
      else this.#open.set(oldest.id, oldest);
    }
  }

  #drop(repository: Repository): void {
    this.#known.set(repository.id, repository.indexEntry);
    this.#evicted.set(repository.id, new WeakRef(repository));
    this.#options.onEvict(repository);
  }
}

/** Of a file that nobody has read. */
function nothingKnown(id: string): IndexedRepository {
  return { id, name: id, inTree: false, revision: 0, modified: 0, health: [], position: undefined, stamps: {} };
}
