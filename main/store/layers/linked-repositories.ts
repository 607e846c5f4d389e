interface KnownRepositories {
  ids(): Iterable<string>;
  baseOf(id: string): string | undefined;
}

/** The linked worktrees of each repository: those that name it as their base. */
export class LinkedRepositories {
  readonly #repositories: KnownRepositories;
  #byBase: ReadonlyMap<string, readonly string[]> | undefined;

  constructor(repositories: KnownRepositories) {
    this.#repositories = repositories;
  }

  /** Call it when a repository was added, changed or removed. */
  forget(): void {
    this.#byBase = undefined;
  }

  /** By the ids of bases; the same object as long as nothing changes. */
  get all(): ReadonlyMap<string, readonly string[]> {
    const repositories = this.#repositories;
    const ids = () => [...repositories.ids()].filter(id => repositories.baseOf(id) !== undefined);
    this.#byBase ??= Map.groupBy(ids(), id => repositories.baseOf(id) ?? "");
    return this.#byBase;
  }

  of(base: string): readonly string[] {
    return this.all.get(base) ?? none;
  }
}

const none: readonly string[] = [];
