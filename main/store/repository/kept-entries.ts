import type { StoreContext } from "../context.ts";
import type { Mirror } from "../mirror/mirror.ts";
import type { LogNumber } from "../types.ts";

/** A repository whose history or file may lack entries. */
export interface KeptRepository {
  readonly id: string;
  /** Whether its history can be written. */
  readonly loaded: boolean;
  /** The first entry that the log must keep for it; undefined if none. */
  readonly keptFrom: LogNumber | undefined;
  readonly mirror: Pick<Mirror, "writeHistory">;
}

/** Milliseconds from a write of history and file to the release of its log entries. */
const releaseDelay = 100;

/** Keeps the entries of the log that a history or a file lacks, and releases the others. */
export class KeptEntries {
  /** Repositories for which the log must keep entries. */
  readonly repositories = new Set<KeptRepository>();
  readonly #context: Pick<StoreContext, "log" | "clock" | "onProblem">;
  readonly #others: () => Iterable<LogNumber>;
  readonly #onRelease: () => void;
  #cancelRelease: (() => void) | undefined;

  /** `others`: the numbers of entries to keep that are of no repository's history. `onRelease` is called with each delayed release. */
  constructor(
    context: Pick<StoreContext, "log" | "clock" | "onProblem">,
    others: () => Iterable<LogNumber>,
    onRelease: () => void,
  ) {
    this.#context = context;
    this.#others = others;
    this.#onRelease = onRelease;
  }

  /** Delayed, so that many writes cause one release, which checks every kept repository. */
  releaseSoon(): void {
    this.#cancelRelease ??= this.#context.clock.schedule(releaseDelay, () => {
      this.#cancelRelease = undefined;
      void this.release();
      this.#onRelease();
    });
  }

  /** Releases the entries that nothing needs any more. */
  async release(): Promise<void> {
    const { log, onProblem } = this.#context;
    if (!log.hasSealed) return;
    let through = log.newest;
    for (const number of this.#others()) through = Math.min(through, number - 1);
    for (const repository of this.repositories) {
      const { keptFrom } = repository;
      if (keptFrom === undefined) this.repositories.delete(repository);
      else through = Math.min(through, keptFrom - 1);
    }
    await log
      .release(through)
      .catch(error => onProblem("a file of the log cannot be removed", { error: String(error) }));
  }

  close(): void {
    this.#cancelRelease?.();
  }
}
