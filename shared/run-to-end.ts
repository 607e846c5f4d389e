/** Does work in parts (a generator that yields between them) in one go. */
export function runToEnd<Result>(steps: Generator<void, Result>): Result {
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
  }
}
