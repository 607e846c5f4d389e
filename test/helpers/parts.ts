/** Runs work in parts until it ends; returns the number of parts and the result. */
export function inParts<Result>(work: Generator<void, Result>): { readonly parts: number; readonly result: Result } {
  for (let parts = 1; ; parts++) {
    const { done, value } = work.next();
    if (done === true) return { parts, result: value };
  }
}
