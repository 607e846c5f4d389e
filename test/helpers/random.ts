/** Returns an integer from 0 below a bound; the same sequence for the same seed (mulberry32). */
export type Random = (below: number) => number;

export function randomNumbers(start: number): Random {
  let state = start;
  return below => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * below);
  };
}
