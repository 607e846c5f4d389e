/** Offsets in a JSON text: lines, blanks, comments. */
export interface Range {
  readonly start: number;
  readonly end: number;
}

/** Line and column, both from 1. */
export interface Place {
  readonly line: number;
  readonly column: number;
}

/** The deepest indentation to copy. It is repeated on every new line, and the result has to fit into a file. */
const maxBlanks = 1_000;

/** The offsets at which a text's lines begin, found once, because a single line can be as long as the text. */
export class TextLines {
  readonly #body: string;
  #starts: readonly number[] | undefined;

  constructor(body: string) {
    this.#body = body;
  }

  /** The start of the line that contains an offset. */
  startOf(offset: number): number {
    return this.#allStarts()[this.#lineOf(offset)] ?? 0;
  }

  placeOf(offset: number): Place {
    return { line: this.#lineOf(offset) + 1, column: offset - this.startOf(offset) + 1 };
  }

  /** The blanks at the start of the line that contains an offset, at most `maxBlanks`. */
  indentationAt(offset: number): string {
    const start = this.startOf(offset);
    const line = this.#body.slice(start, start + maxBlanks);
    return line.slice(0, afterBlanks(line, 0));
  }

  /** Counted from 0. */
  #lineOf(offset: number): number {
    const starts = this.#allStarts();
    let [low, high] = [0, starts.length - 1];
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      if ((starts[middle] ?? 0) <= offset) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  #allStarts(): readonly number[] {
    if (this.#starts !== undefined) return this.#starts;
    const starts = [0];
    const body = this.#body;
    for (let at = 0; at < body.length; at++) {
      const character = body.charCodeAt(at);
      if (character !== 0x0a && character !== 0x0d) continue;
      if (character === 0x0d && body.charCodeAt(at + 1) === 0x0a) at += 1;
      starts.push(at + 1);
    }
    this.#starts = starts;
    return starts;
  }
}

/** The offset after the comments that start on this line, and after the blanks behind them if the line ends there. */
export function afterCommentsOnLine(body: string, offset: number): number {
  const trailing = /(?:[ \t]*(?:\/\/[^\r\n]*|\/\*[\s\S]*?\*\/))*(?:[ \t]*(?=[\r\n]))?/y;
  trailing.lastIndex = offset;
  return offset + (trailing.exec(body)?.[0].length ?? 0);
}

/** The offset after the comments that end on this line, if nothing else follows on it; otherwise the same offset. */
export function afterLineOfComments(body: string, offset: number): number {
  const comments = /(?:[ \t]*(?:\/\/[^\r\n]*|\/\*(?:(?!\*\/)[^\r\n])*\*\/))+(?=[ \t]*[\r\n])/y;
  comments.lastIndex = offset;
  return offset + (comments.exec(body)?.[0].length ?? 0);
}

/**
 * Where the comments begin that stand on lines of their own directly above an offset, without a blank line between; the offset itself if
 * there are none. `after`: the end of the token before them, whose line has its own comments.
 */
export function startOfCommentsAbove(body: string, after: number, offset: number): number {
  const commentOrEnd = /([ \t\r\n]*)(?:\/\/[^\r\n]*|\/\*[\s\S]*?\*\/|$)/g;
  let start = offset;
  for (const { 0: found, 1: gap = "", index } of body.slice(after, offset).matchAll(commentOrEnd)) {
    const breaks = gap.match(/\r\n|\r|\n/g)?.length ?? 0;
    const isEnd = gap === found;
    if (isEnd) return breaks === 1 ? start : offset;
    if (breaks > 1 || (breaks === 1 && start === offset)) start = after + index + gap.length;
  }
  return offset;
}

export function hasLineBreak(body: string, { start, end }: Range): boolean {
  return /[\r\n]/.test(body.slice(start, end));
}

export function isLineBreak(character: string | undefined): boolean {
  return character === "\n" || character === "\r";
}

export function isLineStart(body: string, offset: number): boolean {
  return offset === 0 || isLineBreak(body[offset - 1]);
}

export function afterLineBreak(body: string, offset: number): number {
  return body.startsWith("\r\n", offset) ? offset + 2 : offset + 1;
}

export function isBlank(character: string | undefined): boolean {
  return character === " " || character === "\t";
}

export function beforeBlanks(body: string, offset: number): number {
  let start = offset;
  while (isBlank(body[start - 1])) start -= 1;
  return start;
}

export function afterBlanks(body: string, offset: number): number {
  let end = offset;
  while (isBlank(body[end])) end += 1;
  return end;
}
