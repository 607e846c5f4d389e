import { type AppendRequest, ConflictError } from "../../log/commit-log.ts";
import type { LogNumber } from "../../types.ts";
import type { Content } from "./stream-content.ts";
import { repositoriesOf } from "./stream-snapshots.ts";

/** Finds appends that were decided on a state that other machines have changed since. */
export class StreamConflicts {
  /** The newest entry of another machine, by repository. */
  readonly #newestForeign = new Map<string, LogNumber>();
  /** The newest entry of another machine that may have changed any repository. */
  #newestForeignToAll: LogNumber = 0;
  /** Conflicts whose `applied` resolves when this entry is applied. */
  #waiting: { readonly number: LogNumber; resolve(): void }[] = [];

  /** Call when a message of another machine is received. */
  recordForeign({ first, entries }: Content): void {
    for (const [index, entry] of entries.entries()) {
      const repos = repositoriesOf(entry);
      if (repos === undefined) this.#newestForeignToAll = first + index;
      for (const repo of repos ?? []) this.#newestForeign.set(repo, first + index);
    }
  }

  /** The conflict of an append, if any. `applied` is the newest applied entry. */
  find({ entries, after }: AppendRequest, applied: LogNumber): ConflictError | undefined {
    const repos = entries.flatMap(entry => repositoriesOf(entry) ?? []);
    const numbers = repos.map(repo => this.#newestForeign.get(repo) ?? 0);
    const newest = Math.max(this.#newestForeignToAll, ...numbers);
    if (newest <= after) return undefined;
    const { promise, resolve } = Promise.withResolvers<void>();
    if (newest <= applied) resolve();
    else this.#waiting.push({ number: newest, resolve });
    return new ConflictError(promise);
  }

  /** Call when everything up to this entry is applied: callers that wait for it can decide again. */
  applied(number: LogNumber): void {
    const ready = this.#waiting.filter(waiting => waiting.number <= number);
    this.#waiting = this.#waiting.filter(waiting => waiting.number > number);
    for (const { resolve } of ready) resolve();
  }
}
