import { type Appending, ConflictError, type LogNumber } from "./commit-log.ts";
import type { Content } from "./stream-content.ts";
import { repositoriesOf } from "./stream-snapshots.ts";

/** Tells what was decided on a state that others have changed since. */
export class StreamConflicts {
  /** By repository: the newest entry of others; and the newest by which any repository may be another one. */
  readonly #touched = new Map<string, LogNumber>();
  #allTouched: LogNumber = 0;
  /** What is to be resolved when an entry is taken in. */
  #waiting: { readonly number: LogNumber; resolve(): void }[] = [];

  /** Others changed this: it has arrived. */
  touch({ first, entries }: Content): void {
    for (const [index, entry] of entries.entries()) {
      const repos = repositoriesOf(entry);
      if (repos === undefined) this.#allTouched = first + index;
      for (const repo of repos ?? []) this.#touched.set(repo, first + index);
    }
  }

  /** `taken`: up to here all is taken in. */
  of({ entries, after }: Appending, taken: LogNumber): ConflictError | undefined {
    const numbers = entries.flatMap(entry => repositoriesOf(entry)?.map(repo => this.#touched.get(repo) ?? 0) ?? []);
    const newest = Math.max(this.#allTouched, ...numbers);
    if (newest <= after) return undefined;
    const { promise, resolve } = Promise.withResolvers<void>();
    if (newest <= taken) resolve();
    else this.#waiting.push({ number: newest, resolve });
    return new ConflictError(promise);
  }

  /** All up to this entry is taken in: who waits for that can decide again. */
  applied(number: LogNumber): void {
    const ready = this.#waiting.filter(waiting => waiting.number <= number);
    this.#waiting = this.#waiting.filter(waiting => waiting.number > number);
    for (const { resolve } of ready) resolve();
  }
}
