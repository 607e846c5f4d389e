import type { Clock } from "./clock.ts";

/** Milliseconds after which long work yields the event loop. */
const slice = 10;

/** The turns of one long task that shares the event loop with others. Between two steps: `if (turn.isOver) await turn.pass()`. */
export interface Turn {
  readonly isOver: boolean;
  /** Resolves when it is this work's turn again. */
  pass(): Promise<void>;
}

/** For work that blocks nobody, for example at a start. */
export const endlessTurn: Turn = { isOver: false, pass: () => Promise.resolve() };

/**
 * Shares the event loop between long operations: in each round, one of them runs for some milliseconds, and the keys of those that
 * wait take turns. So a new request is answered after one slice, however much work there is.
 */
export class Yielding {
  readonly #clock: Pick<Clock, "monotonic">;
  readonly #soon: (task: () => void) => void;
  /** The waiting tasks by key; the first key is next, with its first task. */
  readonly #waiting = new Map<string, (() => void)[]>();
  #yields = 0;

  constructor(clock: Pick<Clock, "monotonic">, soon: (task: () => void) => void = setImmediate) {
    this.#clock = clock;
    this.#soon = soon;
  }

  /** How often long work has yielded. */
  get yields(): number {
    return this.#yields;
  }

  /** A turn for work that a key has requested. It is over at once: new work also waits for its first slice. */
  begin(keyId: string): Turn {
    let end = Number.NEGATIVE_INFINITY;
    const clock = this.#clock;
    return {
      get isOver() {
        return clock.monotonic() >= end;
      },
      pass: async () => {
        await this.#pass(keyId);
        end = clock.monotonic() + slice;
      },
    };
  }

  #pass(keyId: string): Promise<void> {
    this.#yields += 1;
    return new Promise(resolve => {
      const waiting = this.#waiting.get(keyId);
      if (waiting !== undefined) waiting.push(resolve);
      else this.#waiting.set(keyId, [resolve]);
      if (waiting === undefined && this.#waiting.size === 1) this.#soon(() => this.#goOn());
    });
  }

  #goOn(): void {
    const [first] = this.#waiting;
    if (first === undefined) return;
    const [keyId, waiting] = first;
    const resolve = waiting.shift();
    this.#waiting.delete(keyId);
    if (waiting.length > 0) this.#waiting.set(keyId, waiting);
    if (this.#waiting.size > 0) this.#soon(() => this.#goOn());
    resolve?.();
  }
}
