/** How `rewriteJsonText` (json-text.ts) finds its edits. Knows offsets, no errors. */
import { createScanner, type JSONScanner, type Node } from "jsonc-parser";
import { isJsonObject, type JsonObject, type JsonValue } from "../../shared/json.ts";
import {
  defaultStyle,
  type Entry,
  entriesOf,
  formatValue,
  inlineValue,
  isContainer,
  isJsonArray,
  lineLimit,
  type Style,
} from "./json-text-format.ts";
import {
  afterBlanks,
  afterCommentsOnLine,
  afterLineBreak,
  beforeBlanks,
  hasLineBreak,
  indentationAt,
  isBlank,
  isLineBreak,
  isLineStart,
  type Range,
  rangeOf,
} from "./json-text-places.ts";

interface Edit extends Range {
  readonly text: string;
}

interface Member {
  readonly name: string;
  readonly key: Range;
  readonly colon: Range;
  readonly value: Node;
}

interface Rewrite {
  readonly body: string;
  readonly style: Style;
  readonly scanner: JSONScanner;
  readonly edits: Edit[];
  readonly discarded: Range[];
}

/** The members of an object node, in the order of the text. */
export function membersOf(object: Node): Member[] {
  const members: Member[] = [];
  for (const { children, colonOffset } of object.children ?? []) {
    const [key, value] = children ?? [];
    if (key === undefined || value === undefined || colonOffset === undefined) continue;
    const colon = { start: colonOffset, end: colonOffset + 1 };
    members.push({ name: String(key.value), key: rangeOf(key), colon, value });
  }
  return members;
}

/**
 * The text that reads as `next`, given the text without its BOM, its tree and what it reads as. `discarded` are the parts of the old text
 * that nothing of is left in the new one: values that were removed or replaced.
 */
export function rewriteBody(
  body: string,
  root: Node,
  current: JsonObject,
  next: JsonObject,
): { text: string; discarded: Range[] } {
  const style = {
    unit: detectUnit(body, root) ?? defaultStyle.unit,
    endOfLine: /\r\n|\r|\n/.exec(body)?.[0] ?? defaultStyle.endOfLine,
  };
  const rewrite: Rewrite = { body, style, scanner: createScanner(body, true), edits: [], discarded: [] };
  compareValue(rewrite, root, current, next);
  return { text: applyEdits(body, rewrite.edits), discarded: rewrite.discarded };
}

function applyEdits(body: string, edits: readonly Edit[]): string {
  // What is inserted at an offset comes before what is replaced from there on; insertions keep their order.
  const sorted = edits.toSorted((left, right) => left.start - right.start || left.end - right.end);
  const parts: string[] = [];
  let done = 0;
  for (const { start, end, text } of sorted) {
    if (start < done) throw new Error(`Two edits of a JSON text overlap at offset ${start}`);
    parts.push(body.slice(done, start), text);
    done = end;
  }
  return parts.join("") + body.slice(done);
}

function compareValue(rewrite: Rewrite, node: Node, current: JsonValue | undefined, next: JsonValue): void {
  // The very same: of a large text most of it.
  if (current === next) return;
  if (node.type === "object" && isJsonObject(next)) {
    compareMembers(rewrite, node, isJsonObject(current) ? current : {}, next);
  } else if (node.type === "array" && isJsonArray(next) && node.children?.length === next.length) {
    for (const [index, element] of next.entries()) {
      const child = node.children[index];
      const item = Array.isArray(current) ? current[index] : undefined;
      if (child !== undefined) compareValue(rewrite, child, item, element);
    }
  } else if (node.value !== next) {
    replaceValue(rewrite, node, next);
  }
}

function replaceValue({ body, style, edits, discarded }: Rewrite, node: Node, next: JsonValue): void {
  const range = rangeOf(node);
  // Only a value that goes over several lines needs the indentation, and to find it can mean to read a long line.
  const inline = hasLineBreak(body, range) && isContainer(next) ? undefined : inlineValue(next);
  const staysInline = inline !== undefined && (inline.length <= lineLimit || !isContainer(next));
  edits.push({ ...range, text: staysInline ? inline : formatValue(next, indentationAt(body, range.start), style) });
  discarded.push(range);
}

function compareMembers(rewrite: Rewrite, object: Node, current: JsonObject, next: JsonObject): void {
  const members = membersOf(object);
  const names = new Set(members.map(({ name }) => name));
  const added = entriesOf(next).filter(([name]) => !names.has(name));
  const survivors: Member[] = [];
  const removed = new Set<Member>();
  for (const member of members) {
    const value = Object.hasOwn(next, member.name) ? next[member.name] : undefined;
    if (value === undefined) {
      removed.add(member);
    } else {
      survivors.push(member);
      compareValue(
        rewrite,
        member.value,
        Object.hasOwn(current, member.name) ? current[member.name] : undefined,
        value,
      );
    }
  }
  if (removed.size === 0 && added.length === 0) return;

  const lastSurvivor = survivors.at(-1);
  const ranges = removedRanges(rewrite, members, removed, added.length === 0 ? lastSurvivor : undefined);
  const [first, ...others] = ranges;
  if (lastSurvivor === undefined && first !== undefined && others.length === 0 && isAllOf(rewrite, object, first)) {
    replaceValue(rewrite, object, next);
    return;
  }
  for (const { value } of removed) rewrite.discarded.push(rangeOf(value));
  let toRemove = ranges;
  if (added.length > 0 && lastSurvivor === undefined && first !== undefined) {
    insertInPlace(rewrite, object, added, first);
    toRemove = others;
  } else if (added.length > 0) {
    insertAfter(rewrite, object, added, lastSurvivor);
  }
  for (const range of toRemove) rewrite.edits.push(removal(rewrite, range));
}

/**
 * The tokens that go, where only blanks stand between them as one range: names, colons and values of the removed
 * members, their commas, and the comma after the member that is now the last. What is left between are comments.
 */
function removedRanges(
  { body, scanner }: Rewrite,
  members: readonly Member[],
  removed: ReadonlySet<Member>,
  newLast: Member | undefined,
): Range[] {
  const ranges: Range[] = [];
  const add = (range: Range) => {
    const previous = ranges.at(-1);
    const touches = previous !== undefined && body.slice(previous.end, range.start).trim() === "";
    if (touches) ranges[ranges.length - 1] = { start: previous.start, end: range.end };
    else ranges.push(range);
  };
  for (const member of members) {
    if (removed.has(member)) {
      add(member.key);
      add(member.colon);
      add(rangeOf(member.value));
    } else if (member !== newLast) {
      continue;
    }
    const comma = commaAfter(body, scanner, rangeOf(member.value).end);
    if (comma !== undefined) add({ start: comma, end: comma + 1 });
  }
  return ranges;
}

/** Whether an object holds nothing but this range, not even a comment. */
function isAllOf({ body }: Rewrite, object: Node, range: Range): boolean {
  const { start, end } = rangeOf(object);
  return (body.slice(start + 1, range.start) + body.slice(range.end, end - 1)).trim() === "";
}

/** How a range of removed tokens is cut out: with its line if nothing else stands there, else with one of the gaps. */
function removal({ body, style }: Rewrite, range: Range): Edit {
  const start = beforeBlanks(body, range.start);
  const end = afterBlanks(body, range.end);
  const startsLine = isLineStart(body, start);
  if (isLineBreak(body[end])) return { start, end: startsLine ? afterLineBreak(body, end) : end, text: "" };
  if (body[end] === "}") return { start, end: range.end, text: "" };
  // A comment on a later line must not move up to the member before, as if it were about that one.
  if (body[end] === "/" && !startsLine && hasLineBreak(body, range)) {
    return { start, end, text: style.endOfLine + indentationAt(body, range.end) };
  }
  const isAfterGap = startsLine || start < range.start || body[start - 1] === "{";
  return { ...range, end: isAfterGap ? end : range.end, text: "" };
}

/** Adds members after the last one that stays, or into an object that holds at most comments. */
function insertAfter(rewrite: Rewrite, object: Node, added: readonly Entry[], last: Member | undefined): void {
  const { body, style, scanner, edits } = rewrite;
  let offset = spaceBeforeEnd(body, object).start;
  if (last !== undefined) {
    const valueEnd = rangeOf(last.value).end;
    const comma = commaAfter(body, scanner, valueEnd);
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

/** Adds members to an object that loses all it had but a comment: they take the place of the first that goes. */
function insertInPlace(rewrite: Rewrite, object: Node, added: readonly Entry[], place: Range): void {
  const { body, style, edits } = rewrite;
  const inline = inlineEntries(body, object, added);
  if (inline !== undefined) {
    edits.push({ ...place, text: inline });
    return;
  }
  const lineStart = style.endOfLine + memberIndentation(rewrite, object, membersOf(object)[0]);
  const lines = entryLines(style, added, lineStart);
  const end = afterBlanks(body, place.end);
  // A comment that was about the removed member gets its own line, or it would seem to be about the new one.
  if (body[end] === "/") edits.push({ start: place.start, end, text: lines + lineStart });
  else edits.push({ ...place, text: lines });
  moveEndToOwnLine(rewrite, object);
}

/** The new members as they follow the others on one line, if their object stands on one line and still fits there. */
function inlineEntries(body: string, object: Node, added: readonly Entry[]): string | undefined {
  if (object.length > lineLimit || hasLineBreak(body, rangeOf(object))) return undefined;
  const text = added.map(([name, value]) => `${JSON.stringify(name)}: ${inlineValue(value)}`).join(", ");
  return object.length + text.length <= lineLimit ? text : undefined;
}

/** The new members on a line each; `lineStart` is a line break and their indentation. */
function entryLines(style: Style, added: readonly Entry[], lineStart: string): string {
  const indentation = lineStart.slice(style.endOfLine.length);
  const lines = added.map(([name, value]) => `${JSON.stringify(name)}: ${formatValue(value, indentation, style)}`);
  return lines.join(`,${lineStart}`);
}

function memberIndentation({ body, style }: Rewrite, object: Node, sibling: Member | undefined): string {
  if (sibling !== undefined && isLineStart(body, beforeBlanks(body, sibling.key.start))) {
    return indentationAt(body, sibling.key.start);
  }
  return indentationAt(body, object.offset) + style.unit;
}

function moveEndToOwnLine({ body, style, edits }: Rewrite, object: Node): void {
  const space = spaceBeforeEnd(body, object);
  if (!hasLineBreak(body, space)) {
    edits.push({ ...space, text: style.endOfLine + indentationAt(body, object.offset) });
  }
}

/** The blanks and line breaks before an object's closing brace. */
function spaceBeforeEnd(body: string, object: Node): Range {
  const end = rangeOf(object).end - 1;
  let start = end;
  while (isBlank(body[start - 1]) || isLineBreak(body[start - 1])) start -= 1;
  return { start, end };
}

/** The difference between the first line that is indented deeper than its parent's line, and that line. */
function detectUnit(body: string, node: Node): string | undefined {
  for (const child of node.children ?? []) {
    if (node.type !== "property" && isLineStart(body, beforeBlanks(body, child.offset))) {
      const outer = indentationAt(body, node.offset);
      const inner = indentationAt(body, child.offset);
      if (inner.length > outer.length && inner.startsWith(outer)) return inner.slice(outer.length);
    }
    const unit = detectUnit(body, child);
    if (unit !== undefined) return unit;
  }
  return undefined;
}

function commaAfter(body: string, scanner: JSONScanner, offset: number): number | undefined {
  scanner.setPosition(offset);
  scanner.scan();
  return body[scanner.getTokenOffset()] === "," ? scanner.getTokenOffset() : undefined;
}
