import { type Clock, systemClock } from "../../main/time/clock.ts";

interface Timer {
  /** In terms of `monotonic()`. */
  readonly due: number;
  readonly run: () => void;
}

/**
 * A clock that does not move until a test advances it. With `timers: "run"`, only the time stands still: timers run as with the
 * system's clock. Otherwise, they wait until `advance` has reached their time.
 */
export class TestClock implements Clock {
  #start = Date.now();
  #elapsed = 0;
  readonly #timers = new Set<Timer>();
  readonly #runs: boolean;

  constructor(options: { readonly timers?: "run" } = {}) {
    this.#runs = options.timers === "run";
  }

  /** The number of waiting timers; if `milliseconds` is given, only those due within that time. */
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

  /** Advances by so many milliseconds, and runs the timers due until then in the order of their times. */
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
