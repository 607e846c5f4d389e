/** Long work in parts: between two of them the event loop has a turn for everyone else. */

/** Lets the event loop come round once. */
export function nextTurn(): Promise<void> {
  return new Promise(resolve => setImmediate(resolve));
}

/** Lets others have a turn wherever it yields. */
export async function runInParts<Result>(steps: Generator<void, Result>): Promise<Result> {
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
    await nextTurn();
  }
}
