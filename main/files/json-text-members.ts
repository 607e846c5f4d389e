/** Removes and inserts members of objects and items of arrays in a JSON text, for json-text-edits.ts. */
import type { JsonValue } from "../../shared/json.ts";
import {
  type Entry,
  formatValue,
  inlineValue,
  isContainer,
  lineLimit,
  nameOf,
  type Style,
} from "./json-text-format.ts";
import {
  afterBlanks,
  afterCommentsOnLine,
  afterLineBreak,
  afterLineOfComments,
  beforeBlanks,
  hasLineBreak,
  isBlank,
  isLineBreak,
  isLineStart,
  type Range,
  startOfCommentsAbove,
  type TextLines,
} from "./json-text-places.ts";
import type { Member, TextNode } from "./json-text-scan.ts";

export interface Edit extends Range {
  readonly text: string;
}

/** A text that is being rewritten, and what was found so far. */
export interface TextRewrite {
  readonly body: string;
  readonly style: Style;
  readonly lines: TextLines;
  readonly edits: Edit[];
  readonly discarded: Range[];
}

export function replaceValue(
  { body, style, lines, edits, discarded }: TextRewrite,
  node: TextNode,
  next: JsonValue,
): void {
  const { start, end } = node;
  // Only a value of several lines needs the indentation.
  const inline = hasLineBreak(body, node) && isContainer(next) ? undefined : inlineValue(next);
  const staysInline = inline !== undefined && (inline.length <= lineLimit || !isContainer(next));
  edits.push({ start, end, text: staysInline ? inline : formatValue(next, lines.indentationAt(start), style) });
  discarded.push({ start, end });
}

export interface MemberChanges {
  readonly members: readonly Member[];
  readonly removed: ReadonlySet<Member>;
  /** New members or items, by the one that they follow; undefined for the start. */
  readonly added: ReadonlyMap<Member | undefined, readonly Entry[]>;
}

/** Removes and inserts members of an object or items of an array. */
export function editMembers(rewrite: TextRewrite, object: TextNode, next: JsonValue, changes: MemberChanges): void {
  const { members, removed, added } = changes;
  if (removed.size === 0 && added.size === 0) return;
  const lastSurvivor = members.findLast(member => !removed.has(member));
  const newLast = added.has(lastSurvivor) ? undefined : lastSurvivor;
  const ranges = removed.size === 0 ? [] : removedRanges(rewrite, object, changes, newLast);
  const [first, ...others] = ranges;
  if (lastSurvivor === undefined && first !== undefined && others.length === 0 && isAllOf(rewrite, object, first)) {
    replaceValue(rewrite, object, next);
    return;
  }
  for (const { value } of removed) rewrite.discarded.push({ start: value.start, end: value.end });
  let toRemove = ranges;
  for (const [after, entries] of added) {
    if (lastSurvivor === undefined && first !== undefined) {
      insertInPlace(rewrite, object, entries, { place: first, sibling: members[0] });
      toRemove = others;
    } else if (after === lastSurvivor) insertAfter(rewrite, object, entries, after);
    else insertBetween(rewrite, object, entries, { after, sibling: after ?? members[0] });
  }
  for (const range of toRemove) rewrite.edits.push(removal(rewrite, range));
}

/**
 * The tokens to remove: names, colons, values and commas of the removed members, and the comma after the member that is now last.
 * Tokens with only blanks in between form one range; comments stay, except those about what is removed.
 */
function removedRanges(
  rewrite: TextRewrite,
  object: TextNode,
  { members, removed, added }: MemberChanges,
  newLast: Member | undefined,
): Range[] {
  const { body } = rewrite;
  const tokens: Tokens[] = [];
  let after = object.start + 1;
  const pass = ({ start, end }: Range, isTaken: boolean) => {
    if (isTaken) tokens.push({ start, end, after });
    after = end;
  };
  for (const member of members) {
    const { key, colon, value, comma } = member;
    const isRemoved = removed.has(member);
    for (const token of [key, colon, value]) pass(token, isRemoved);
    if (comma !== undefined) pass({ start: comma, end: comma + 1 }, isRemoved || member === newLast);
  }
  return joined(
    body,
    joined(body, tokens).map(range =>
      // Where members come and go at once, comments stay: they may be about the new ones.
      added.size > 0 || hasLineBreak(body, object)
        ? withOwnComments(rewrite, range)
        : withInlineComments(rewrite, range),
    ),
  );
}

/** A range of tokens, and where the token before it ends. */
interface Tokens extends Range {
  readonly after: number;
}

/** Ranges with only blanks in between become one. */
function joined(body: string, ranges: readonly Tokens[]): Tokens[] {
  const found: Tokens[] = [];
  for (const range of ranges) {
    const previous = found.at(-1);
    const touches = previous !== undefined && body.slice(previous.end, range.start).trim() === "";
    if (touches) found[found.length - 1] = { ...previous, end: range.end };
    else found.push(range);
  }
  return found;
}

/**
 * The range with the comments behind it and directly above it, if its lines have nothing else: they are about what is removed, unless
 * that is only a comma.
 */
function withOwnComments({ body, discarded }: TextRewrite, range: Tokens): Tokens {
  const isComma = body.slice(range.start, range.end) === ",";
  const startsLine = isLineStart(body, beforeBlanks(body, range.start));
  if (isComma || (!startsLine && !hasLineBreak(body, range))) return range;
  const end = afterLineOfComments(body, range.end);
  const isAlone = startsLine && /[\r\n}\]]/.test(body.charAt(afterBlanks(body, end)));
  const start = isAlone ? startOfCommentsAbove(body, range.after, range.start) : range.start;
  discarded.push({ start, end: range.start }, { start: range.end, end });
  return { ...range, start, end };
}

/**
 * On one line, the range with the comments between it and the commas or brackets around it: they are about what is removed, unless that begins
 * or ends with the comma.
 */
function withInlineComments({ body, discarded }: TextRewrite, range: Tokens): Tokens {
  const start = body[range.start] === "," ? range.start : afterBlanks(body, range.after);
  const end = body[range.end - 1] === "," ? range.end : afterCommentsOnLine(body, range.end);
  discarded.push({ start, end: range.start }, { start: range.end, end });
  return { ...range, start, end };
}

/** Whether there are no comments in a value of a valid text. */
export function isWithoutComments(body: string, { start, end }: Range): boolean {
  try {
    JSON.parse(body.slice(start, end));
    return true;
  } catch {
    return false;
  }
}

/** Whether an object contains nothing but this range, not even a comment. */
function isAllOf({ body }: TextRewrite, object: TextNode, range: Range): boolean {
  const { start, end } = object;
  return (body.slice(start + 1, range.start) + body.slice(range.end, end - 1)).trim() === "";
}

/** How to cut out a range of tokens: with its line if nothing else is on it, otherwise with one of the blanks around it. */
function removal({ body, style, lines }: TextRewrite, range: Range): Edit {
  const start = beforeBlanks(body, range.start);
  const end = afterBlanks(body, range.end);
  const startsLine = isLineStart(body, start);
  if (isLineBreak(body[end])) return { start, end: startsLine ? afterLineBreak(body, end) : end, text: "" };
  if (body[end] === "}" || body[end] === "]") return { start, end: range.end, text: "" };
  // A comment on a later line must not move up to the member before, as if it were about that one.
  if (body[end] === "/" && !startsLine && hasLineBreak(body, range)) {
    return { start, end, text: style.endOfLine + lines.indentationAt(range.end) };
  }
  const isAfterGap = startsLine || start < range.start || body[start - 1] === "{" || body[start - 1] === "[";
  return { ...range, end: isAfterGap ? end : range.end, text: "" };
}

/** Adds members after the last one that stays, or to an object that contains at most comments. */
function insertAfter(rewrite: TextRewrite, object: TextNode, added: readonly Entry[], last: Member | undefined): void {
  const { body, style, edits } = rewrite;
  let offset = spaceBeforeEnd(body, object).start;
  if (last !== undefined) {
    const { comma } = last;
    const valueEnd = last.value.end;
    if (comma === undefined) edits.push({ start: valueEnd, end: valueEnd, text: "," });
    offset = comma === undefined ? valueEnd : comma + 1;
  }
  offset = afterCommentsOnLine(body, offset);
  const inline = last === undefined ? undefined : inlineEntries(body, object, added);
  if (inline !== undefined) {
    edits.push({ start: offset, end: offset, text: ` ${inline}` });
    return;
  }
  const lineStart = style.endOfLine + memberIndentation(rewrite, object, last);
  edits.push({ start: offset, end: offset, text: lineStart + entryLines(style, added, lineStart) });
  moveEndToOwnLine(rewrite, object);
}

/** Adds members or items before others that stay. `sibling` is the one at whose line they are indented. */
function insertBetween(
  rewrite: TextRewrite,
  object: TextNode,
  added: readonly Entry[],
  { after, sibling }: { readonly after: Member | undefined; readonly sibling: Member | undefined },
): void {
  const { body, style, lines, edits } = rewrite;
  const offset = after === undefined ? object.start + 1 : (after.comma ?? after.value.end) + 1;
  const start = sibling?.key.start ?? offset;
  if (isLineStart(body, beforeBlanks(body, start))) {
    const lineStart = style.endOfLine + lines.indentationAt(start);
    const at = afterCommentsOnLine(body, offset);
    edits.push({ start: at, end: at, text: `${lineStart}${entryLines(style, added, lineStart)},` });
    return;
  }
  const text = added.map(inlineEntry).join(", ");
  const at = after === undefined ? afterBlanks(body, offset) : offset;
  edits.push({ start: at, end: at, text: after === undefined ? `${text}, ` : ` ${text},` });
}

/** Adds members to an object that loses all of its members but has a comment: they replace the first one removed. */
function insertInPlace(
  rewrite: TextRewrite,
  object: TextNode,
  added: readonly Entry[],
  { place, sibling }: { readonly place: Range; readonly sibling: Member | undefined },
): void {
  const { body, style, edits } = rewrite;
  const inline = inlineEntries(body, object, added);
  if (inline !== undefined) {
    edits.push({ ...place, text: inline });
    return;
  }
  const lineStart = style.endOfLine + memberIndentation(rewrite, object, sibling);
  const lines = entryLines(style, added, lineStart);
  const end = afterBlanks(body, place.end);
  // A comment about the removed member moves to its own line, so that it does not seem to be about the new one.
  if (body[end] === "/") edits.push({ start: place.start, end, text: lines + lineStart });
  else edits.push({ ...place, text: lines });
  moveEndToOwnLine(rewrite, object);
}

/** The new members as text for the same line, if their object is on one line and still fits there. */
function inlineEntries(body: string, object: TextNode, added: readonly Entry[]): string | undefined {
  const length = object.end - object.start;
  if (length > lineLimit || hasLineBreak(body, object)) return undefined;
  const text = added.map(inlineEntry).join(", ");
  return length + text.length <= lineLimit ? text : undefined;
}

function inlineEntry([name, value]: Entry): string {
  return `${nameOf(name)}${inlineValue(value)}`;
}

/** The new members, one per line; `lineStart` is a line break with their indentation. */
function entryLines(style: Style, added: readonly Entry[], lineStart: string): string {
  const indentation = lineStart.slice(style.endOfLine.length);
  const lines = added.map(([name, value]) => `${nameOf(name)}${formatValue(value, indentation, style)}`);
  return lines.join(`,${lineStart}`);
}

function memberIndentation({ body, style, lines }: TextRewrite, object: TextNode, sibling: Member | undefined): string {
  if (sibling !== undefined && isLineStart(body, beforeBlanks(body, sibling.key.start))) {
    return lines.indentationAt(sibling.key.start);
  }
  return lines.indentationAt(object.start) + style.unit;
}

function moveEndToOwnLine({ body, style, lines, edits }: TextRewrite, object: TextNode): void {
  const space = spaceBeforeEnd(body, object);
  if (!hasLineBreak(body, space)) {
    edits.push({ ...space, text: style.endOfLine + lines.indentationAt(object.start) });
  }
}

/** The blanks and line breaks before an object's closing brace. */
function spaceBeforeEnd(body: string, object: TextNode): Range {
  const end = object.end - 1;
  let start = end;
  while (isBlank(body[start - 1]) || isLineBreak(body[start - 1])) start -= 1;
  return { start, end };
}
