/** Splits long work into parts, with a turn of the event loop for other work between them. */

let last: Promise<void> = Promise.resolve();

/**
 * Resolves after one full turn of the event loop. That takes two immediates, because the first may still run in the current turn, before
 * timers and network events. Concurrent callers, such as the many files that a start reads, resolve one per turn: all at once, they would
 * block the loop for the sum of their parts.
 */
export function nextTurn(): Promise<void> {
  last = last.then(() => new Promise(resolve => setImmediate(() => setImmediate(resolve))));
  return last;
}

/** Runs a generator; other work gets a turn of the event loop at each `yield`. */
export async function runInParts<Result>(steps: Generator<void, Result>): Promise<Result> {
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
    await nextTurn();
  }
}
