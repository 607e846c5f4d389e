/** The candidate most like what was typed, if it is like enough to be meant. */
export function nearest(typed: string, candidates: Iterable<string>): string | undefined {
  let best: { readonly candidate: string; readonly distance: number } | undefined;
  for (const candidate of candidates) {
    const distance = editDistance(typed.toLowerCase(), candidate.toLowerCase());
    if (distance < (best?.distance ?? Math.max(2, Math.ceil(typed.length / 3)))) best = { candidate, distance };
  }
  return best?.candidate;
}

/** Letters to insert, drop or change to come from one to the other (Levenshtein). */
function editDistance(one: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, index) => index);
  for (const [index, letter] of [...one].entries()) {
    const next = [index + 1];
    for (const [column, otherLetter] of [...other].entries()) {
      const change = (row[column] ?? 0) + (letter === otherLetter ? 0 : 1);
      next.push(Math.min(change, (row[column + 1] ?? 0) + 1, (next[column] ?? 0) + 1));
    }
    row = next;
  }
  return row.at(-1) ?? 0;
}
