import { RepoconfError } from "../../../shared/errors.ts";
import type { RepositorySummary } from "../types.ts";
import type { Repository } from "./repository.ts";
import type { IndexedRepository } from "./repository-state.ts";

export interface RepositoriesOptions {
  /** The maximum of open repositories; busy ones may exceed it. */
  readonly mostOpen: number;
  /** Creates a repository's object; `indexed` is its entry in the index. */
  open(id: string, indexed: IndexedRepository | undefined): Repository;
  /** Called when a repository was evicted from memory; its state is in its files. */
  onEvict(repository: Repository): void;
}

/** How many repositories are checked for eviction when another one is opened, to keep that short. */
const triesForRoom = 8;

/**
 * All repositories. Most are never requested and have only their index entry. The others are open; those that were not used for long
 * are evicted, which leaves only their index entry.
 */
export class Repositories {
  readonly #options: RepositoriesOptions;
  /** By id: the index entries of repositories that are not open; undefined if only the file's name is known. */
  readonly #known = new Map<string, IndexedRepository | undefined>();
  /** The most recently used one comes last. */
  readonly #open = new Map<string, Repository>();
  /** Evicted repositories that somebody may still use: there must never be two objects of one repository. */
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

  /** Adds a repository, which is opened on first use. */
  add(id: string, indexed?: IndexedRepository): void {
    this.#known.set(id, indexed);
  }

  /** Adds an open repository. */
  set(repository: Repository): void {
    if (!this.has(repository.id)) this.add(repository.id);
    this.#use(repository);
  }

  /** Marks a repository as used, even if it was evicted meanwhile. */
  touch(repository: Repository): void {
    if (this.has(repository.id)) this.#use(repository);
  }

  delete(id: string): void {
    this.#known.delete(id);
    this.#open.delete(id);
    this.#evicted.delete(id);
  }

  /** Undefined if it is not open or does not exist. */
  opened(id: string): Repository | undefined {
    return this.#open.get(id) ?? this.#evicted.get(id)?.deref();
  }

  /** Opens it if necessary; undefined if it does not exist. */
  get(id: string): Repository | undefined {
    if (!this.has(id)) return undefined;
    const repository = this.opened(id) ?? this.#options.open(id, this.#known.get(id));
    this.#use(repository);
    return repository;
  }

  /** As `get`. Throws RepoconfError 1102 if it does not exist. */
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

  /** As `summary`, without the parts that must be computed. */
  brief(id: string): Pick<RepositorySummary, "name" | "path" | "remote" | "inTree" | "revision"> | undefined {
    if (!this.has(id)) return undefined;
    return this.opened(id)?.state ?? this.#known.get(id) ?? nothingKnown(id);
  }

  /** The log position of its newest revision, or a later one; empty if it is not known. */
  place(id: string): Pick<IndexedRepository, "position"> {
    return { position: (this.opened(id)?.state ?? this.#known.get(id))?.position };
  }

  /** A summary, without opening the repository. */
  summary(id: string): RepositorySummary | undefined {
    if (!this.has(id)) return undefined;
    const repository = this.opened(id);
    if (repository !== undefined) return repository.summary;
    const { position: _, stamps: __, textHash: ___, ...summary } = this.#known.get(id) ?? nothingKnown(id);
    return summary;
  }

  /** Its entry for the index; undefined if nothing is known yet. */
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

/** The entry of a file that was not read yet. */
function nothingKnown(id: string): IndexedRepository {
  return { id, name: id, inTree: false, revision: 0, modified: 0, health: [], position: undefined, stamps: {} };
}
