import { RepoconfError } from "../../../shared/errors.ts";
import { documentsAbove } from "../../../shared/repository-id.ts";
import type { StoreContext } from "../context.ts";
import { revisionOf } from "../history/layered-history.ts";
import { type Commit, type Committed, formatPosition } from "../log/commit-log.ts";
import type { RepositoryFiles } from "../mirror/repository-files.ts";
import {
  IndexEntries,
  type IndexedRepository,
  type IndexLine,
  type RepositoryIndex,
} from "../state/repository-index.ts";
import type { Actor, Position, RepositoryState, RepositorySummary } from "../types.ts";

/** A repository's object. */
export interface OpenRepository {
  readonly id: string;
  readonly state: RepositoryState;
  /** Of its own document alone. */
  readonly own: RepositoryState;
  readonly summary: RepositorySummary;
  readonly indexEntry: IndexedRepository | undefined;
  readonly loaded: boolean;
  readonly isUpToDate: boolean;
  /** Whether it can be evicted. */
  readonly isAtRest: boolean;
  load(): Promise<void>;
  read(): Promise<RepositoryState>;
  markRemoved(): void;
}

/** What is known of a repository that is opened. */
export interface OpenedRepository {
  /** Its entry in the index. */
  readonly indexed?: IndexedRepository | undefined;
  /** Who adds it just now. */
  readonly addedBy?: Actor;
  readonly files?: RepositoryFiles;
  /** Commits of the log that its history lacks. */
  readonly commits?: readonly Committed<Commit>[];
}

export interface RepositoriesOptions<Repository> {
  /** The maximum of open repositories; busy ones may exceed it. */
  readonly mostOpen: number | undefined;
  /** Creates a repository's object. */
  make(id: string, known: OpenedRepository): Repository;
  /** Called when a repository was evicted from memory; its state is in its files. */
  onEvict(repository: Repository): void;
  /** Called when a repository was removed. */
  onDrop(repository: Repository): void;
  /** The documents of layers, which are in the same index. */
  layers?(): IndexedLayers;
}

/** The documents of layers. */
interface IndexedLayers {
  has(id: string): boolean;
  revision(id: string): number;
  indexLines(): Iterable<IndexLine>;
}

/** Milliseconds from a change to the next write of the index. After a crash in between, the next start reads the file. */
const indexDelay = 5_000;
/** Each open one takes about 25 kilobytes once its values have been listed. */
const defaultMostOpen = 2_000;
/** How many repositories are checked for eviction when another one is opened, to keep that short. */
const triesForRoom = 8;

/**
 * All repositories. Most are never requested and have only their index entry. The others are open; those that were not used for long
 * are evicted, which leaves only their index entry.
 */
export class Repositories<Repository extends OpenRepository> {
  readonly #options: RepositoriesOptions<Repository>;
  /** By id: the index entries of repositories that are not open; undefined if only the file's name is known. */
  #known = new IndexEntries();
  /** Entries that only the index has: of dropped ones whose files are still to be moved away, which a start must not take for new. */
  readonly leaving = new Map<string, string>();
  /** The most recently used one comes last. */
  readonly #open = new Map<string, Repository>();
  /** Evicted repositories that somebody may still use: there must never be two objects of one repository. */
  readonly #evicted = new Map<string, WeakRef<Repository>>();

  readonly #context: StoreContext;
  readonly #index: RepositoryIndex;
  /** Cancels the next write of the index. */
  #cancelIndexWrite: (() => void) | undefined;
  #closed = false;

  constructor(context: StoreContext, index: RepositoryIndex, options: RepositoriesOptions<Repository>) {
    this.#context = context;
    this.#index = index;
    this.#options = options;
  }

  get size(): number {
    return this.#known.size;
  }

  has(id: string): boolean {
    return this.#known.has(id);
  }

  ids(): Iterable<string> {
    return this.#known.ids();
  }

  /** Adds a repository, which is opened on first use. */
  add(id: string, indexed?: IndexedRepository): void {
    this.#known.set(id, indexed);
  }

  /** Opens a repository that was unknown. */
  open(id: string, known: OpenedRepository): Repository {
    const repository = this.#options.make(id, known);
    this.add(id);
    this.#use(repository);
    return repository;
  }

  /** Marks a repository as used, even if it was evicted meanwhile. */
  touch(repository: Repository): void {
    if (this.has(repository.id)) this.#use(repository);
  }

  /** Removes a repository: requests to it fail from now on. */
  drop(repository: Repository): void {
    const { id } = repository;
    repository.markRemoved();
    this.#known.delete(id);
    this.#open.delete(id);
    this.#evicted.delete(id);
    this.#options.onDrop(repository);
  }

  /** Undefined if it is not open or does not exist. */
  opened(id: string): Repository | undefined {
    return this.#open.get(id) ?? this.#evicted.get(id)?.deref();
  }

  /** Opens it if necessary; undefined if it does not exist. */
  get(id: string): Repository | undefined {
    if (!this.has(id)) return undefined;
    const repository = this.opened(id) ?? this.#options.make(id, { indexed: this.#known.get(id) });
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

  /** The state if it is in memory and up to date, so that the hot path needs no await. */
  peek(id: string): RepositoryState | undefined {
    const repository = this.opened(id);
    return repository?.isUpToDate ? this.get(id)?.state : undefined;
  }

  /** The state, read if necessary; undefined if the repository does not exist. */
  async read(id: string): Promise<RepositoryState | undefined> {
    return this.get(id)?.read();
  }

  /** The newest revision known now; 0 if the repository does not exist. */
  revision(id: string): number {
    const own = this.brief(id)?.revision ?? 0;
    const layers = this.#options.layers?.();
    // An open one tells the revision of all its layers.
    if (layers === undefined || this.opened(id) !== undefined) return own;
    return revisionOf([own, ...this.#indexedAbove(id).map(document => layers.revision(document))]);
  }

  /** The id of the repository that it is a linked worktree of. */
  baseOf(id: string): string | undefined {
    return (this.opened(id)?.own ?? this.#known.get(id, '"base":'))?.base;
  }

  #indexedAbove(id: string): readonly string[] {
    const layers = this.#options.layers?.();
    return layers === undefined ? [] : documentsAbove(id, this.baseOf(id)).filter(document => layers.has(document));
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
  brief(id: string): Omit<RepositorySummary, "modified" | "health"> | undefined {
    if (!this.has(id)) return undefined;
    return this.opened(id)?.state ?? this.#known.get(id) ?? nothingKnown(id);
  }

  /** The log position of its newest revision, or a later one; undefined if it is not known. */
  position(id: string): Position | undefined {
    const opened = this.opened(id);
    if (opened !== undefined) return opened.state.position;
    // A layer's may be later.
    return this.#indexedAbove(id).length > 0 ? undefined : this.#known.get(id)?.position;
  }

  /** A summary, without opening the repository. */
  summary(id: string): RepositorySummary | undefined {
    if (!this.has(id)) return undefined;
    const opened = this.opened(id);
    if (opened !== undefined) return opened.summary;
    const indexed = this.#known.get(id) ?? nothingKnown(id);
    const { position: _, stamps: __, isLevel: ___, history: ____, folder: _____, counted, ...known } = indexed;
    return { ...known, ...counted, revision: this.revision(id) };
  }

  /** Its entry for the index; undefined if nothing is known yet, or if it is to begin in the log and has not. */
  indexed(id: string): IndexedRepository | undefined {
    const repository = this.opened(id);
    return repository?.loaded ? repository.indexEntry : this.#known.get(id);
  }

  /** Takes over the entries of the index, and adds those of `files`: all that it lacks or that are `removed`, which go without a file. */
  begin(files: readonly string[], indexed: IndexEntries, removed: ReadonlySet<string>): void {
    this.#known = indexed;
    const there = new Set(files);
    for (const id of removed) if (!there.has(id)) indexed.delete(id);
    for (const id of files) if (!this.has(id)) this.add(id);
  }

  /** What the index has of those in work trees. */
  *indexedInTree(): Generator<IndexedRepository> {
    for (const id of this.ids()) {
      const entry = this.#known.get(id, '"inTree":true');
      if (entry?.inTree) yield entry;
    }
  }

  /** Their entries for the index. */
  *indexLines(): Generator<IndexLine> {
    for (const id of this.ids()) {
      const opened = this.opened(id);
      const entry = opened?.loaded ? opened.indexEntry : this.#known.textOf(id);
      if (entry !== undefined) yield [id, typeof entry === "string" ? entry : JSON.stringify(entry)];
    }
    for (const line of this.leaving) if (!this.has(line[0])) yield line;
  }

  saveIndexSoon(): void {
    if (this.#closed || this.#cancelIndexWrite !== undefined) return;
    this.#cancelIndexWrite = this.#context.clock.schedule(indexDelay, () => {
      this.#cancelIndexWrite = undefined;
      void this.saveIndex();
    });
  }

  /** `stop` marks a clean stop. Returns whether it is written. */
  async saveIndex(stop?: string): Promise<boolean> {
    const { log } = this.#context;
    try {
      await this.#index.write(() => {
        const layers = this.#options.layers?.().indexLines() ?? [];
        return { repositories: this.indexLines(), layers, log: formatPosition(log.id, log.newest), stop };
      });
      return true;
    } catch (error) {
      this.#context.onProblem("cannot write the index; the next start takes longer", { error: String(error) });
      return false;
    }
  }

  /** Writes no index later on. */
  close(): void {
    this.#closed = true;
    this.#cancelIndexWrite?.();
  }

  #use(repository: Repository): void {
    const { id } = repository;
    this.#evicted.delete(id);
    this.#open.delete(id);
    this.#open.set(id, repository);
    let tries = triesForRoom;
    for (const oldest of this.#open.values()) {
      if (this.#open.size <= (this.#options.mostOpen ?? defaultMostOpen) || tries === 0) return;
      tries -= 1;
      this.#open.delete(oldest.id);
      if (oldest.isAtRest) this.evict(oldest);
      else this.#open.set(oldest.id, oldest);
    }
  }

  /** Leaves only the index entry of one that is at rest. */
  evict(repository: Repository): void {
    this.#open.delete(repository.id);
    this.#known.set(repository.id, repository.indexEntry);
    this.#evicted.set(repository.id, new WeakRef(repository));
    this.#options.onEvict(repository);
  }
}

/** The entry of a file that was not read yet. */
function nothingKnown(id: string): IndexedRepository {
  return { id, name: id, inTree: false, revision: 0, modified: 0, health: [], position: undefined, stamps: {} };
}
