/** Long work in parts: between two of them the event loop has a turn for everyone else. */

let last: Promise<void> = Promise.resolve();

/**
 * Lets the event loop come round once: the first immediate may still run in the round that is under way, before timers and what the
 * network brought have had their turn. What waits side by side, as many files do that are read at a start, goes on one by one: all
 * at once the loop would stand still for the sum of their parts.
 */
export function nextTurn(): Promise<void> {
  last = last.then(() => new Promise(resolve => setImmediate(() => setImmediate(resolve))));
  return last;
}

/** Lets others have a turn wherever it yields. */
export async function runInParts<Result>(steps: Generator<void, Result>): Promise<Result> {
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
    await nextTurn();
  }
}
