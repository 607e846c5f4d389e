/** Offsets in a JSON text: lines, blanks, comments. */
import type { Node } from "jsonc-parser";

export interface Range {
  readonly start: number;
  readonly end: number;
}

export function rangeOf({ offset, length }: Node): Range {
  return { start: offset, end: offset + length };
}

/** Past the comments that start on this line, and past the blanks after them if the line then ends. */
export function afterCommentsOnLine(body: string, offset: number): number {
  const trailing = /(?:[ \t]*(?:\/\/[^\r\n]*|\/\*[\s\S]*?\*\/))*(?:[ \t]*(?=[\r\n]))?/y;
  trailing.lastIndex = offset;
  return offset + (trailing.exec(body)?.[0].length ?? 0);
}

/** Deeper than people indent. What is written has the blanks again on each of its lines, and has to fit into a file. */
const mostBlanks = 1_000;

/** The blanks at the start of the line on which an offset lies, so many at most. */
export function indentationAt(body: string, offset: number): string {
  let start = offset;
  while (!isLineStart(body, start)) start -= 1;
  return body.slice(start, Math.min(afterBlanks(body, start), start + mostBlanks));
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
