import { distance } from "fastest-levenshtein";

/** The candidate most like what was typed, if it is like enough to be meant. */
export function nearest(typed: string, candidates: Iterable<string>): string | undefined {
  // Of a short word less may be wrong before it is another word.
  const limit = typed.length < 4 ? 1 : Math.max(2, Math.floor(typed.length / 3));
  let best: { readonly candidate: string; readonly away: number } | undefined;
  for (const candidate of candidates) {
    const away = distance(typed.toLowerCase(), candidate.toLowerCase());
    if (away <= limit && away < (best?.away ?? Number.POSITIVE_INFINITY)) best = { candidate, away };
  }
  return best?.candidate;
}
