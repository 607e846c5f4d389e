/** Does work in parts to its end; in how many, and what it gave. */
export function inParts<Result>(work: Generator<void, Result>): { readonly parts: number; readonly result: Result } {
  for (let parts = 1; ; parts++) {
    const { done, value } = work.next();
    if (done === true) return { parts, result: value };
  }
}
