/** What a text has to be, whatever its case; where `*` may stand for any characters, also none. */
export interface TextPattern {
  /** In small letters: what stands between the stars. One piece: the text as it is. */
  readonly pieces: readonly string[];
}

/** `isExact`: it was quoted, so that a star is a star. */
export function textPattern(text: string, isExact = false): TextPattern {
  const small = text.toLowerCase();
  return { pieces: isExact ? [small] : small.split("*") };
}

/** Whether the pattern is the whole text. Takes no longer than the text is long times the pattern's length. */
export function matchesWhole({ pieces }: TextPattern, text: string): boolean {
  const small = text.toLowerCase();
  const [first = "", ...rest] = pieces;
  const last = rest.pop();
  if (last === undefined) return small === first;
  if (!small.startsWith(first)) return false;
  let at = first.length;
  for (const piece of rest) {
    // The earliest place leaves the most for what follows.
    const found = small.indexOf(piece, at);
    if (found === -1) return false;
    at = found + piece.length;
  }
  return small.length - last.length >= at && small.endsWith(last);
}

/** Whether the pattern is a part of the text, or, with a star, all of it. */
export function matchesPart(pattern: TextPattern, text: string): boolean {
  const [first = "", ...more] = pattern.pieces;
  return more.length === 0 ? text.toLowerCase().includes(first) : matchesWhole(pattern, text);
}
