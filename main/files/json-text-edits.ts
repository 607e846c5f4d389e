/** Finds the edits for `rewriteJsonText` (json-text.ts). Works on offsets and does not report errors. */
import { isJsonObject, type JsonObject, type JsonValue } from "../../shared/json.ts";
import {
  defaultStyle,
  type Entry,
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
  isBlank,
  isLineBreak,
  isLineStart,
  type Range,
  TextLines,
} from "./json-text-places.ts";
import type { Member, TextNode } from "./json-text-scan.ts";

interface Edit extends Range {
  readonly text: string;
}

/** Members that keep their place under a new name: for objects of the new value (by identity), the new name by the old one. */
export type MovedNames = ReadonlyMap<JsonValue, ReadonlyMap<string, string>>;

interface Rewrite {
  readonly body: string;
  readonly style: Style;
  readonly lines: TextLines;
  readonly edits: Edit[];
  readonly discarded: Range[];
  readonly moved: MovedNames;
  /** The number of values compared so far. */
  compared: number;
}

/** Values to compare before yielding; an object with more members yields by itself. */
const comparedAtOnce = 2_000;

/** How many values to search for the text's indentation: it shows in the first ones or not at all. */
const maxIndentationSamples = 1_000;

/**
 * The text for `next`, made from the text without its BOM, its root and its current value. `discarded` are the parts of the old
 * text that were removed or replaced. Yields now and then.
 */
export function* rewritingBody(
  body: string,
  root: TextNode,
  current: JsonObject,
  next: JsonObject,
  moved: MovedNames = new Map(),
): Generator<void, { text: string; discarded: Range[] }> {
  const lines = new TextLines(body);
  const style = {
    unit: detectUnit(body, lines, root) ?? defaultStyle.unit,
    endOfLine: /\r\n|\r|\n/.exec(body)?.[0] ?? defaultStyle.endOfLine,
  };
  yield;
  const rewrite: Rewrite = { body, style, lines, edits: [], discarded: [], moved, compared: 0 };
  yield* comparingValue(rewrite, root, current, next);
  return { text: applyEdits(body, rewrite.edits), discarded: rewrite.discarded };
}

function applyEdits(body: string, edits: readonly Edit[]): string {
  // At the same offset, insertions come before replacements and keep their order.
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

function* comparingValue(
  rewrite: Rewrite,
  node: TextNode,
  current: JsonValue | undefined,
  next: JsonValue,
): Generator<void> {
  // The same object, as most of a large text is.
  if (current === next) return;
  rewrite.compared += 1;
  if (rewrite.compared % comparedAtOnce === 0) yield;
  if (node.type === "object" && isJsonObject(next)) {
    yield* comparingMembers(rewrite, node, isJsonObject(current) ? current : {}, next);
  } else if (node.type === "array" && isJsonArray(next) && node.elements.length === next.length) {
    for (const [index, child] of node.elements.entries()) {
      const item = Array.isArray(current) ? current[index] : undefined;
      if (item !== next[index]) yield* comparingValue(rewrite, child, item, next[index] ?? null);
    }
  } else if (node.type !== "plain" || node.plainValue !== next) {
    replaceValue(rewrite, node, next);
  }
}

function replaceValue({ body, style, lines, edits, discarded }: Rewrite, node: TextNode, next: JsonValue): void {
  const { start, end } = node;
  // Only a value of several lines needs the indentation.
  const inline = hasLineBreak(body, node) && isContainer(next) ? undefined : inlineValue(next);
  const staysInline = inline !== undefined && (inline.length <= lineLimit || !isContainer(next));
  edits.push({ start, end, text: staysInline ? inline : formatValue(next, lines.indentationAt(start), style) });
  discarded.push({ start, end });
}

function* comparingMembers(rewrite: Rewrite, object: TextNode, current: JsonObject, next: JsonObject): Generator<void> {
  const members = yield* object.readingMembers();
  if (members.length > comparedAtOnce) yield;
  const changed = yield* findingChanges(current, next);
  if (members.length > comparedAtOnce) yield;
  const removed = new Set<Member>();
  const moved = rewrite.moved.get(next);
  let lastSurvivor: Member | undefined;
  for (const member of members) {
    const { name } = member;
    const newName = moved?.get(name);
    const movedValue = newName === undefined ? undefined : changed.get(newName);
    if (newName !== undefined && movedValue !== undefined && changed.has(name) && !Object.hasOwn(current, newName)) {
      // Only the name changes, so that the comments beside it stay.
      rewrite.edits.push({ ...member.key, text: JSON.stringify(newName) });
      changed.delete(name);
      changed.delete(newName);
      lastSurvivor = member;
      yield* comparingValue(rewrite, member.value, current[name], movedValue);
      continue;
    }
    const value = changed.get(name);
    if (value === undefined && changed.has(name)) {
      removed.add(member);
      continue;
    }
    lastSurvivor = member;
    if (value === undefined) continue;
    // Whatever remains in `changed` after the loop is new.
    changed.delete(name);
    yield* comparingValue(rewrite, member.value, Object.hasOwn(current, name) ? current[name] : undefined, value);
  }
  const added = [...changed].flatMap(([name, value]): Entry[] => (value === undefined ? [] : [[name, value]]));
  if (removed.size === 0 && added.length === 0) return;

  const newLast = added.length === 0 ? lastSurvivor : undefined;
  const ranges = removed.size === 0 ? [] : removedRanges(rewrite, members, removed, newLast);
  const [first, ...others] = ranges;
  if (lastSurvivor === undefined && first !== undefined && others.length === 0 && isAllOf(rewrite, object, first)) {
    replaceValue(rewrite, object, next);
    return;
  }
  for (const { value } of removed) rewrite.discarded.push({ start: value.start, end: value.end });
  let toRemove = ranges;
  if (added.length > 0 && lastSurvivor === undefined && first !== undefined) {
    insertInPlace(rewrite, object, added, first);
    toRemove = others;
  } else if (added.length > 0) {
    insertAfter(rewrite, object, added, lastSurvivor);
  }
  for (const range of toRemove) rewrite.edits.push(removal(rewrite, range));
}

/** The members of `next` that differ from `current`, by name and in order; undefined for those that `next` lacks. */
function* findingChanges(current: JsonObject, next: JsonObject): Generator<void, Map<string, JsonValue | undefined>> {
  const changed = new Map<string, JsonValue | undefined>();
  let [compared, kept] = [0, 0];
  for (const name of Object.keys(next)) {
    compared += 1;
    if (compared % comparedAtOnce === 0) yield;
    const value = next[name];
    // Inherited members never equal a JSON value.
    if (current[name] !== value) changed.set(name, value);
    if (value !== undefined && (!changed.has(name) || Object.hasOwn(current, name))) kept += 1;
  }
  const names = Object.keys(current);
  // No member was removed.
  if (kept === names.length) return changed;
  for (const name of names) if (!Object.hasOwn(next, name)) changed.set(name, undefined);
  return changed;
}

/**
 * The tokens to remove: names, colons, values and commas of the removed members, and the comma after the member that is now last.
 * Tokens with only blanks in between form one range; comments stay.
 */
function removedRanges(
  { body }: Rewrite,
  members: readonly Member[],
  removed: ReadonlySet<Member>,
  newLast: Member | undefined,
): Range[] {
  const ranges: Range[] = [];
  const add = (range: Range) => {
    const previous = ranges.at(-1);
    const touches = previous !== undefined && body.slice(previous.end, range.start).trim() === "";
    if (touches) ranges[ranges.length - 1] = { start: previous.start, end: range.end };
    else ranges.push({ start: range.start, end: range.end });
  };
  for (const member of members) {
    if (removed.has(member)) {
      add(member.key);
      add(member.colon);
      add(member.value);
    } else if (member !== newLast) {
      continue;
    }
    const { comma } = member;
    if (comma !== undefined) add({ start: comma, end: comma + 1 });
  }
  return ranges;
}

/** Whether an object contains nothing but this range, not even a comment. */
function isAllOf({ body }: Rewrite, object: TextNode, range: Range): boolean {
  const { start, end } = object;
  return (body.slice(start + 1, range.start) + body.slice(range.end, end - 1)).trim() === "";
}

/** How to cut out a range of tokens: with its line if nothing else is on it, otherwise with one of the blanks around it. */
function removal({ body, style, lines }: Rewrite, range: Range): Edit {
  const start = beforeBlanks(body, range.start);
  const end = afterBlanks(body, range.end);
  const startsLine = isLineStart(body, start);
  if (isLineBreak(body[end])) return { start, end: startsLine ? afterLineBreak(body, end) : end, text: "" };
  if (body[end] === "}") return { start, end: range.end, text: "" };
  // A comment on a later line must not move up to the member before, as if it were about that one.
  if (body[end] === "/" && !startsLine && hasLineBreak(body, range)) {
    return { start, end, text: style.endOfLine + lines.indentationAt(range.end) };
  }
  const isAfterGap = startsLine || start < range.start || body[start - 1] === "{";
  return { ...range, end: isAfterGap ? end : range.end, text: "" };
}

/** Adds members after the last one that stays, or to an object that contains at most comments. */
function insertAfter(rewrite: Rewrite, object: TextNode, added: readonly Entry[], last: Member | undefined): void {
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

/** Adds members to an object that loses all of its members but has a comment: they replace the first one removed. */
function insertInPlace(rewrite: Rewrite, object: TextNode, added: readonly Entry[], place: Range): void {
  const { body, style, edits } = rewrite;
  const inline = inlineEntries(body, object, added);
  if (inline !== undefined) {
    edits.push({ ...place, text: inline });
    return;
  }
  const lineStart = style.endOfLine + memberIndentation(rewrite, object, object.members[0]);
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
  const text = added.map(([name, value]) => `${JSON.stringify(name)}: ${inlineValue(value)}`).join(", ");
  return length + text.length <= lineLimit ? text : undefined;
}

/** The new members, one per line; `lineStart` is a line break with their indentation. */
function entryLines(style: Style, added: readonly Entry[], lineStart: string): string {
  const indentation = lineStart.slice(style.endOfLine.length);
  const lines = added.map(([name, value]) => `${JSON.stringify(name)}: ${formatValue(value, indentation, style)}`);
  return lines.join(`,${lineStart}`);
}

function memberIndentation({ body, style, lines }: Rewrite, object: TextNode, sibling: Member | undefined): string {
  if (sibling !== undefined && isLineStart(body, beforeBlanks(body, sibling.key.start))) {
    return lines.indentationAt(sibling.key.start);
  }
  return lines.indentationAt(object.start) + style.unit;
}

function moveEndToOwnLine({ body, style, lines, edits }: Rewrite, object: TextNode): void {
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

/** The extra indentation of the first line that is deeper than its parent's line. */
function detectUnit(body: string, lines: TextLines, root: TextNode): string | undefined {
  let left = maxIndentationSamples;
  const detectIn = (node: TextNode): string | undefined => {
    const outer = lines.indentationAt(node.start);
    for (const { start, value } of node.inside()) {
      if (--left < 0) return undefined;
      if (isLineStart(body, beforeBlanks(body, start))) {
        const inner = lines.indentationAt(start);
        if (inner.length > outer.length && inner.startsWith(outer)) return inner.slice(outer.length);
      }
      const unit = detectIn(value);
      if (unit !== undefined) return unit;
    }
    return undefined;
  };
  return detectIn(root);
}
