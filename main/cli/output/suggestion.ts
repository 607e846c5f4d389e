import { distance } from "fastest-levenshtein";

/** The candidate that is most similar to the typed text; undefined if none is similar enough. */
export function nearest(typed: string, candidates: Iterable<string>): string | undefined {
  // In a short word, a second difference usually makes it another word.
  const limit = typed.length < 4 ? 1 : Math.max(2, Math.floor(typed.length / 3));
  let best: { readonly candidate: string; readonly away: number } | undefined;
  for (const candidate of candidates) {
    const away = distance(typed.toLowerCase(), candidate.toLowerCase());
    if (away <= limit && away < (best?.away ?? Number.POSITIVE_INFINITY)) best = { candidate, away };
  }
  return best?.candidate;
}
