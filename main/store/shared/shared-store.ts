import { RepoconfError } from "../../../shared/errors.ts";
import { timeText } from "../../time/clock.ts";
import type { StoreContext } from "../context.ts";
import { appendWithRetry } from "../log/append-with-retry.ts";
import type { Renaming } from "../log/commit-log.ts";
import { storageFailure } from "../storage-failure.ts";
import type { LogNumber } from "../types.ts";
import type { SharedRepository } from "./kept-history.ts";
import { LogShortener } from "./log-shortener.ts";
import { type ForeignChangesParts, RemoteChanges } from "./remote-changes.ts";
import type { SharedScopes } from "./shared-scopes.ts";

export interface SharedStoreOptions {
  readonly scopes: SharedScopes;
  /** From this many bytes on, the log is shortened if it is much longer than the histories that are kept. */
  readonly leastBytes?: number;
}

const defaultLeastBytes = 64 * 1024 * 1024;

/** Everything that a store does because several machines share its log. */
export class SharedStore {
  readonly shortener: LogShortener;
  readonly #context: StoreContext;
  readonly #parts: ForeignChangesParts;
  readonly #foreignChanges: RemoteChanges;

  constructor(context: StoreContext, parts: ForeignChangesParts, leastBytes = defaultLeastBytes) {
    this.#context = context;
    this.#parts = parts;
    this.#foreignChanges = new RemoteChanges(context, parts);
    this.shortener = new LogShortener(context, parts, leastBytes);
  }

  /** Starts to apply what other machines append. Resolves when that is applied, or when the log cannot be reached. */
  subscribe(onReachable: () => void): Promise<void> {
    return this.#context.log.subscribe({
      prepare: committed => this.#foreignChanges.prepare(committed),
      onReachable,
    });
  }

  /** The numbers of entries that are not in files yet: the log must keep them. */
  get numbers(): LogNumber[] {
    return [...this.#foreignChanges.numbers, ...this.#parts.scopes.numbers];
  }

  /** Whether another machine removed the repository and its file still exists. */
  isLeaving(id: string): boolean {
    return this.#foreignChanges.isLeaving(id);
  }

  /** The repository with this remote that has no folder on this machine. Throws RepoconfError 1111 if there are several. */
  cloneOf(remote: string): string | undefined {
    const { repositories } = this.#parts;
    const found = [...repositories.ids()].filter(id => {
      const known = repositories.brief(id);
      return known?.remote === remote && known.path === undefined;
    });
    if (found.length < 2) return found[0];
    const names = found.map(id => [repositories.brief(id)?.name, `(${id})`].join(" ")).join(", ");
    const message = `Several repositories of the shared log are clones of ${remote} and have no folder on this machine: ${names}. Give one of them the folder (repoconf repo move ID FOLDER), or add another one with an id of its own (--id).`;
    throw new RepoconfError(1111, message);
  }

  /** Tells the other machines a repository's new name. Call it inside `exclusive`. Throws RepoconfError 1108. */
  async shareName(repository: SharedRepository, name: string | undefined): Promise<void> {
    const { id, state } = repository;
    if (name === undefined || name === state.name) return;
    const { log, clock } = this.#context;
    const renaming: Renaming = { kind: "rename", time: timeText(clock), repo: id, name };
    try {
      await appendWithRetry(log, () => renaming, repository);
    } catch (error) {
      throw storageFailure(id, error);
    }
  }

  /** Starts no further work. */
  close(): void {
    this.shortener.close();
    this.#parts.scopes.close();
  }
}
