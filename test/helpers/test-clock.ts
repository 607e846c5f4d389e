import { type Clock, systemClock } from "../../main/clock.ts";

interface Timer {
  /** By `monotonic()`. */
  readonly due: number;
  readonly run: () => void;
}

/**
 * A clock that stands still until a test moves it on. With `timers: "run"` only the time stands still: what waits, waits
 * for as long as it would by the system's clock. Without, it waits until `advance` has come that far.
 */
export class TestClock implements Clock {
  #start = Date.now();
  #elapsed = 0;
  readonly #timers = new Set<Timer>();
  readonly #runs: boolean;

  constructor(options: { readonly timers?: "run" } = {}) {
    this.#runs = options.timers === "run";
  }

  /** How many wait for a moment that is to come, those that asked for `milliseconds` or less if it is given. */
  waiting(milliseconds = Number.POSITIVE_INFINITY): number {
    return [...this.#timers].filter(({ due }) => due - this.#elapsed <= milliseconds).length;
  }

  now(): number {
    return this.#start + this.#elapsed;
  }

  monotonic(): number {
    return this.#elapsed;
  }

  delay(milliseconds: number): Promise<void> {
    if (this.#runs) return systemClock.delay(milliseconds);
    return new Promise(resolve => void this.#add(milliseconds, resolve));
  }

  schedule(milliseconds: number, task: () => void): () => void {
    return this.#runs ? systemClock.schedule(milliseconds, task) : this.#add(milliseconds, task);
  }

  /** Moves on by so many milliseconds, and runs what is due on the way in the order of its moments. */
  advance(milliseconds: number): void {
    const end = this.#elapsed + milliseconds;
    for (;;) {
      const due = [...this.#timers].filter(timer => timer.due <= end).sort((one, other) => one.due - other.due);
      const [next] = due;
      if (next === undefined) break;
      this.#timers.delete(next);
      this.#elapsed = Math.max(this.#elapsed, next.due);
      next.run();
    }
    this.#elapsed = end;
  }

  #add(milliseconds: number, run: () => void): () => void {
    const timer = { due: this.#elapsed + milliseconds, run };
    this.#timers.add(timer);
    return () => void this.#timers.delete(timer);
  }
}
