import pLimit from "p-limit";
import type { Clock } from "../../time/clock.ts";
import type { KeptEntries } from "./kept-entries.ts";
import { retryPause } from "./parts.ts";
import type { Repository } from "./repository.ts";

/** The minimum of milliseconds between two writes of one repository, and the pause after a write as a multiple of its duration. */
const shortestPause = 50;
const restFactor = 10;
/** The maximum of milliseconds by which many waiting repositories extend the pause. */
const longestCrowdedPause = 2_000;
/** The maximum of repositories written at the same time, so that the log's syncs are not delayed. */
const width = 8;

/** Schedules the writes of histories and files, within a budget. The repository that has waited longest comes first. */
export class MirrorSchedule {
  readonly #clock: Clock;
  readonly #lock = pLimit(width);
  /** The earliest time of a repository's next write, by the clock's `monotonic()`. */
  readonly #notBefore = new WeakMap<Repository, number>();
  /** Repositories that lack a commit, and the function that cancels their next write. */
  readonly #behind = new Map<Repository, (() => void) | undefined>();
  readonly #kept: KeptEntries;
  #closed = false;

  constructor(clock: Clock, kept: KeptEntries) {
    this.#clock = clock;
    this.#kept = kept;
  }

  want(repository: Repository): void {
    this.#kept.repositories.add(repository);
    if (this.#closed || this.#behind.has(repository)) return;
    const notBefore = this.#notBefore.get(repository) ?? 0;
    this.#behind.set(repository, undefined);
    this.#schedule(repository, Math.max(0, notBefore - this.#clock.monotonic()));
  }

  /** Call when a repository lacks nothing any more, or has been removed. */
  drop(repository: Repository): void {
    this.#behind.get(repository)?.();
    this.#behind.delete(repository);
  }

  /** Writes every repository that lacks a commit, as far as the disk allows. */
  async drain(): Promise<void> {
    const all = [...this.#behind];
    await Promise.all(
      all.map(async ([repository, cancel]) => {
        cancel?.();
        await repository.writer.write();
        if (!repository.mirror.isOutdated) this.#behind.delete(repository);
      }),
    );
  }

  close(): void {
    this.#closed = true;
    for (const cancel of this.#behind.values()) cancel?.();
  }

  #schedule(repository: Repository, milliseconds: number): void {
    const run = () => {
      this.#behind.set(repository, undefined);
      void this.#lock(() => this.#write(repository));
    };
    this.#behind.set(repository, this.#clock.schedule(milliseconds, run));
  }

  async #write(repository: Repository): Promise<void> {
    if (this.#closed || !this.#behind.has(repository)) return;
    const began = this.#clock.monotonic();
    const written = await repository.writer.write({ isScheduled: true });
    const ended = this.#clock.monotonic();
    const duration = ended - began;
    // The more repositories are waiting, the longer each one pauses.
    const rest = restFactor * duration;
    const crowded = Math.min((rest * this.#behind.size) / width, longestCrowdedPause);
    const pause = written === true ? Math.max(shortestPause, rest, crowded) : Math.max(retryPause, duration);
    this.#notBefore.set(repository, ended + pause);
    if (this.#closed) return;
    if (this.#behind.has(repository)) {
      if (repository.mirror.isOutdated) this.#schedule(repository, pause);
      else this.#behind.delete(repository);
    }
    this.#kept.releaseSoon();
  }
}
