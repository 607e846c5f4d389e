/** Counts the turns of the event loop until it is disposed of. */
export function countingRounds(): AsyncDisposable & { readonly count: number } {
  let [count, isOver] = [0, false];
  const next = () => {
    count += 1;
    if (!isOver) setImmediate(next);
  };
  setImmediate(next);
  return {
    get count() {
      return count;
    },
    [Symbol.asyncDispose]: async () => {
      isOver = true;
    },
  };
}
