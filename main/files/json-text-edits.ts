/** Finds the edits for `rewriteJsonText` (json-text.ts). Works on offsets and does not report errors. */
import { isJsonObject, type JsonObject, type JsonValue } from "../../shared/json.ts";
import { keptEntries } from "../../shared/value-diff.ts";
import { defaultStyle, type Entry, inlineValue, isJsonArray, lineLimit } from "./json-text-format.ts";
import { type Edit, editMembers, isWithoutComments, replaceValue, type TextRewrite } from "./json-text-members.ts";
import { beforeBlanks, hasLineBreak, isLineStart, type Range, TextLines } from "./json-text-places.ts";
import type { Member, TextNode } from "./json-text-scan.ts";

/** Members that keep their place under a new name: for objects of the new value (by identity), the new name by the old one. */
export type MovedNames = ReadonlyMap<JsonValue, ReadonlyMap<string, string>>;

interface Rewrite extends TextRewrite {
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
  } else if (node.type === "array" && isJsonArray(next) && current !== undefined && isJsonArray(current)) {
    yield* comparingItems(rewrite, node, current, next);
  } else if (node.type !== "plain" || node.plainValue !== next) {
    replaceValue(rewrite, node, next);
  }
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
  const entries = [...changed].flatMap(([name, value]): Entry[] => (value === undefined ? [] : [[name, value]]));
  const added = entries.length === 0 ? [] : [[lastSurvivor, entries] as const];
  editMembers(rewrite, object, next, { members, removed, added: new Map(added) });
}

/** Items that are equal, or have the same unique `name`, keep their text; of the others, each replaces one in its place if there is one. */
function* comparingItems(
  rewrite: Rewrite,
  array: TextNode,
  current: readonly JsonValue[],
  next: readonly JsonValue[],
): Generator<void> {
  const members = yield* array.readingMembers();
  const sources = keptEntries(current, next);
  yield;
  /** For each item of `next`: where the place ends that it and its unequal neighbours have in the current list. */
  const ends: number[] = [];
  for (let [at, end] = [next.length - 1, current.length]; at >= 0; at -= 1) {
    end = sources[at] ?? end;
    ends[at] = end;
  }
  const removed = new Set<Member>();
  const added = new Map<Member | undefined, Entry[]>();
  const { body, edits } = rewrite;
  const editsBefore = edits.length;
  let last: Member | undefined;
  let done = 0;
  const removeUntil = (end: number) => {
    for (const member of members.slice(done, end)) removed.add(member);
    done = end;
  };
  for (const [at, value] of next.entries()) {
    if (sources[at] !== undefined) removeUntil(sources[at]);
    const member = done < (ends[at] ?? 0) || sources[at] !== undefined ? members[done] : undefined;
    if (member === undefined) {
      const entries = added.get(last) ?? [];
      added.set(last, entries);
      entries.push([undefined, value]);
      continue;
    }
    yield* comparingValue(rewrite, member.value, current[done], value);
    last = member;
    done += 1;
  }
  removeUntil(current.length);
  const isFull = members.length === 0 || inlineValue(next).length > lineLimit;
  if (added.size > 0 && isFull && !hasLineBreak(body, array) && isWithoutComments(body, array)) {
    // Edits inside items would overlap it.
    edits.length = editsBefore;
    replaceValue(rewrite, array, next);
  } else editMembers(rewrite, array, next, { members, removed, added });
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

/** The extra indentation of the first line that is deeper than its parent's line. */
function detectUnit(body: string, lines: TextLines, root: TextNode): string | undefined {
  let left = maxIndentationSamples;
  const detectIn = (node: TextNode): string | undefined => {
    const outer = lines.indentationAt(node.start);
    for (const { key, value } of node.inside()) {
      const { start } = key;
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
