/** A text to find, ignoring case. `*` stands for any characters, including none. */
export interface TextPattern {
  /** The parts between the stars, in lower case. A single part must match as it is. */
  readonly pieces: readonly string[];
}

/** `isExact`: the text was quoted, so a star is an ordinary character. */
export function textPattern(text: string, isExact = false): TextPattern {
  const small = text.toLowerCase();
  return { pieces: isExact ? [small] : small.split("*") };
}

/** Whether the pattern matches the whole text. Takes time in proportion to the text's length times the pattern's. */
export function matchesWhole({ pieces }: TextPattern, text: string): boolean {
  const small = text.toLowerCase();
  const [first = "", ...rest] = pieces;
  const last = rest.pop();
  if (last === undefined) return small === first;
  if (!small.startsWith(first)) return false;
  let at = first.length;
  for (const piece of rest) {
    // Taking the earliest match leaves the most text for the following parts.
    const found = small.indexOf(piece, at);
    if (found === -1) return false;
    at = found + piece.length;
  }
  return small.length - last.length >= at && small.endsWith(last);
}

/** Whether the pattern matches part of the text or, if it contains a star, all of it. */
export function matchesPart(pattern: TextPattern, text: string): boolean {
  const [first = "", ...more] = pattern.pieces;
  return more.length === 0 ? text.toLowerCase().includes(first) : matchesWhole(pattern, text);
}
