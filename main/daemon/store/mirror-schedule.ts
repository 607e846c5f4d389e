import pLimit from "p-limit";
import type { Clock } from "../../clock.ts";
import { retryPause } from "./mirror-follower.ts";
import type { Repository } from "./repository.ts";

/** Milliseconds between two mirrors of one repository, at least; and how many times its duration a mirror rests where few wait. */
const shortestPause = 50;
const restFactor = 10;
/** Nor does one rest for longer because many wait. */
const longestCrowdedPause = 2_000;
/** Mirrors written at once: they must not keep the log's sync waiting. */
const width = 8;

/** Lets histories and files follow the log, each at its own pace and all within a budget; who waits longest comes first. */
export class MirrorSchedule {
  readonly #clock: Clock;
  readonly #inTurn = pLimit(width);
  /** When the next mirror may come at the earliest, by the clock's `monotonic()`. */
  readonly #notBefore = new WeakMap<Repository, number>();
  /** What lacks something, and what calls its next mirror off. */
  readonly #behind = new Map<Repository, (() => void) | undefined>();
  /** After each mirror that was written. */
  readonly #onWritten: () => void;
  #closed = false;

  constructor(clock: Clock, onWritten: () => void) {
    this.#clock = clock;
    this.#onWritten = onWritten;
  }

  want(repository: Repository): void {
    if (this.#closed || this.#behind.has(repository)) return;
    const notBefore = this.#notBefore.get(repository) ?? 0;
    this.#behind.set(repository, undefined);
    this.#schedule(repository, Math.max(0, notBefore - this.#clock.monotonic()));
  }

  /** It lacks nothing, or is gone. */
  drop(repository: Repository): void {
    this.#behind.get(repository)?.();
    this.#behind.delete(repository);
  }

  /** Writes what every repository lacks, as far as the disk lets it. */
  async drain(): Promise<void> {
    const all = [...this.#behind];
    await Promise.all(
      all.map(async ([repository, cancel]) => {
        cancel?.();
        await repository.follow();
        if (!repository.mirror.isBehind) this.#behind.delete(repository);
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
      void this.#inTurn(() => this.#write(repository));
    };
    this.#behind.set(repository, this.#clock.schedule(milliseconds, run));
  }

  async #write(repository: Repository): Promise<void> {
    if (this.#closed || !this.#behind.has(repository)) return;
    const began = this.#clock.monotonic();
    const written = await repository.follow({ isScheduled: true });
    const ended = this.#clock.monotonic();
    const duration = ended - began;
    // The more wait, the less of the time each may take.
    const rest = restFactor * duration;
    const crowded = Math.min((rest * this.#behind.size) / width, longestCrowdedPause);
    const pause = written === true ? Math.max(shortestPause, rest, crowded) : Math.max(retryPause, duration);
    this.#notBefore.set(repository, ended + pause);
    if (this.#closed) return;
    if (this.#behind.has(repository)) {
      if (repository.mirror.isBehind) this.#schedule(repository, pause);
      else this.#behind.delete(repository);
    }
    this.#onWritten();
  }
}
