/** JSON text as people edit it by hand: read with its comments, and rewritten with as few changes as possible. */
import { isJsonObject, type JsonObject } from "../../shared/json.ts";
import { runToEnd } from "../../shared/run-to-end.ts";
import { runInParts } from "../time/turns.ts";
import { type MovedNames, rewritingBody } from "./json-text-edits.ts";
import { defaultStyle, formatValue } from "./json-text-format.ts";
import { type Place, type Range, TextLines } from "./json-text-places.ts";
import { deepestNesting, firstProblem, type Problem } from "./json-text-problems.ts";
import { readingValidText, type Scanned, type ScannedText, scanningValidText, TextNode } from "./json-text-scan.ts";

const byteOrderMark = "\uFEFF";
/** Texts up to this many characters take a few milliseconds, so they are read without yielding. */
const shortText = 64 * 1024;

/** What is wrong with a text, and where; line and column count from 1, without the BOM. */
export class JsonTextError extends Error {
  readonly line: number;
  readonly column: number;

  constructor(message: string, { line, column }: Place) {
    super(message);
    this.name = "JsonTextError";
    this.line = line;
    this.column = column;
  }
}

export interface JsonText {
  /** Includes the BOM if there was one. */
  readonly text: string;
  readonly value: JsonObject;
  /**
   * The position of the value at each path, or undefined if there is none. An element of an array is named by its index in
   * decimal digits, the root by the empty path. All paths are found in one pass over the text.
   */
  locate(paths: readonly (readonly string[])[]): readonly (Place | undefined)[];
  /** The bytes of the value at each path, as `locate`. */
  measure(paths: readonly (readonly string[])[]): readonly (number | undefined)[];
}

/**
 * Reads a text whose root is an object. Line and block comments are allowed between any two tokens; trailing commas are not.
 *
 * Throws a JsonTextError for the first problem: syntax, nesting deeper than 64 levels (counting the root), a duplicate name in an
 * object, a member called `__proto__`, or a number that is not exact (shared/exact-number.ts).
 */
export function parseJsonText(text: string): JsonText {
  return runToEnd(reading(text));
}

/** Like `parseJsonText`, but lets the event loop run in between, because a text of megabytes takes long. */
export async function readJsonText(text: string): Promise<JsonText> {
  return text.length <= shortText ? parseJsonText(text) : runInParts(reading(text));
}

/** Yields now and then. */
function* reading(text: string): Generator<void, JsonText> {
  return asJsonText(yield* readText(text));
}

function asJsonText({ text, value, scanned: { body, ends } }: ReadText): JsonText {
  return {
    text,
    value,
    locate: paths => {
      const lines = new TextLines(body);
      return findAll({ body, ends }, paths, ({ start }) => lines.placeOf(start));
    },
    measure: paths => findAll({ body, ends }, paths, node => Buffer.byteLength(body.slice(node.start, node.end))),
  };
}

/** Reads no further than the last of the paths. */
function findAll<Found>(
  text: ScannedText,
  paths: readonly (readonly string[])[],
  found: (node: TextNode) => Found,
): (Found | undefined)[] {
  const all: (Found | undefined)[] = paths.map(() => undefined);
  const locateIn = (node: TextNode, indexes: readonly number[], depth: number) => {
    const inside = new Map<string, number[]>();
    for (const index of indexes) {
      const name = paths[index]?.[depth];
      const known = name === undefined ? undefined : inside.get(name);
      if (name === undefined) all[index] = found(node);
      else if (known === undefined) inside.set(name, [index]);
      else known.push(index);
    }
    if (inside.size === 0) return;
    for (const { name, value } of node.inside()) {
      const wanted = inside.get(name);
      if (wanted === undefined) continue;
      locateIn(value, wanted, depth + 1);
      inside.delete(name);
      if (inside.size === 0) return;
    }
  };
  if (paths.length > 0) locateIn(TextNode.root(text), [...paths.keys()], 0);
  return all;
}

/**
 * The text for `next`, which differs from `current.text` only where a value differs (and is `current.text` itself if none does).
 * New members are added at the end of their object; members that `next` lacks or has as undefined are removed. All comments stay,
 * except those inside a removed or replaced value.
 *
 * Throws an Error instead of returning a text that does not read as `next`: then this function has a bug, or `next` cannot be
 * written (nested too deeply, or a member called `__proto__`).
 */
export function rewriteJsonText(current: JsonText, next: JsonObject): string {
  return runToEnd(rewriting(current, next)).text;
}

/**
 * Like `rewriteJsonText`, but lets the event loop run in between, and returns the new text as it was read for the check. Members
 * in `moved` keep their places.
 */
export async function rewriteJsonInParts(current: JsonText, next: JsonObject, moved?: MovedNames): Promise<JsonText> {
  const rewritten = rewriting(current, next, moved);
  return current.text.length <= shortText ? runToEnd(rewritten) : runInParts(rewritten);
}

function* rewriting(current: JsonText, next: JsonObject, moved?: MovedNames): Generator<void, JsonText> {
  const { mark, body } = withoutMark(current.text);
  yield;
  const scanned = yield* scanningValidText(body);
  yield;
  const { text, discarded } = yield* rewritingBody(body, TextNode.root(scanned), current.value, next, moved);
  yield;
  return yield* checked(mark + text, next, { scanned, discarded });
}

/** The text of a new file: two spaces, LF, a final newline. Throws an Error for what `rewriteJsonText` cannot write. */
export function formatJsonText(value: JsonObject): string {
  return formatJson(value).text;
}

/** Like `formatJsonText`, but returns the text as it was read for the check. */
export function formatJson(value: JsonObject): JsonText {
  return runToEnd(checked(`${formatValue(value, "", defaultStyle)}\n`, value));
}

/** The old text, and the parts of it that were removed or replaced. */
interface Earlier {
  readonly scanned: Scanned;
  readonly discarded: readonly Range[];
}

/** Reads `text` and returns it if it reads as `next` and has the comments of the earlier text; otherwise throws. */
function* checked(text: string, next: JsonObject, earlier?: Earlier): Generator<void, JsonText> {
  let read: ReadText;
  try {
    read = yield* readText(text);
  } catch (cause) {
    throw new Error("A JSON text was about to be written that cannot be read", { cause });
  }
  yield;
  const left = { out: 0 };
  if (!(yield* readingAs(read.value, next, left))) {
    throw new Error("A JSON text was about to be written that reads as another value");
  }
  yield;
  if (earlier !== undefined && !(yield* keepingComments(earlier, read.scanned))) {
    throw new Error("A JSON text was about to be written that has lost a comment");
  }
  // Use the same object, so that the next rewrite can skip unchanged parts by reference.
  return asJsonText(left.out === 0 ? { ...read, value: next } : read);
}

/** Members, items or comments to compare before yielding. */
const comparedAtOnce = 20_000;
/** A file, its `config`, a scope and a value: only these levels are wide enough to take long. */
const wideLevels = 4;

/** Like `readsAs`, but yields now and then. */
function* readingAs(
  read: unknown,
  next: unknown,
  left: { out: number },
  levels = wideLevels,
): Generator<void, boolean> {
  if (levels === 0) return readsAs(read, next, left);
  if (Array.isArray(read) && Array.isArray(next)) {
    for (let index = 0; index < next.length; index++) {
      if (index % comparedAtOnce === comparedAtOnce - 1) yield;
      if (!readsAs(read[index], next[index], left)) return false;
    }
    return read.length === next.length;
  }
  if (!isJsonObject(read) || !isJsonObject(next)) return readsAs(read, next, left);
  let [compared, members] = [0, 0];
  for (const name of Object.keys(next)) {
    if (++compared % comparedAtOnce === 0) yield;
    const value = next[name];
    if (value === undefined) {
      left.out += 1;
      continue;
    }
    members += 1;
    // Inherited members never equal a JSON value.
    if (read[name] === value) continue;
    if (!Object.hasOwn(read, name) || !(yield* readingAs(read[name], value, left, levels - 1))) return false;
  }
  return members === Object.keys(read).length;
}

/**
 * Whether the value that was read is the one that should have been written. Undefined members and the sign of -0 are not written;
 * `left.out` counts them.
 */
function readsAs(read: unknown, next: unknown, left: { out: number }): boolean {
  if (read === next) return true;
  if (Array.isArray(read) && Array.isArray(next)) {
    // A plain loop, because an array may have half a million items.
    for (let index = 0; index < next.length; index++) if (!readsAs(read[index], next[index], left)) return false;
    return read.length === next.length;
  }
  if (!isJsonObject(read) || !isJsonObject(next)) return false;
  return runToEnd(readingAs(read, next, left));
}

interface ReadText {
  readonly text: string;
  readonly value: JsonObject;
  readonly scanned: Scanned;
}

function* readText(text: string): Generator<void, ReadText> {
  const { body } = withoutMark(text);
  const good = yield* readingValidText(body, deepestNesting);
  if (good === undefined) throw errorAt(body, yield* firstProblem(body));
  const { value, scanned } = good;
  if (!isJsonObject(value))
    throw errorAt(body, {
      offset: TextNode.root(scanned).start,
      message: "the outermost value must be an object",
    });
  return { text, value, scanned };
}

function withoutMark(text: string): { readonly mark: string; readonly body: string } {
  const mark = text.startsWith(byteOrderMark) ? byteOrderMark : "";
  return { mark, body: text.slice(mark.length) };
}

/** Whether a text has exactly the comments of the earlier one in the same order, without the discarded ones. */
function* keepingComments({ scanned, discarded }: Earlier, now: Scanned): Generator<void, boolean> {
  const holes = discarded.toSorted((left, right) => left.start - right.start);
  const textOf = ({ body, comments }: Scanned, index: number) => body.slice(comments[index], comments[index + 1]);
  let [hole, kept] = [0, 0];
  for (let index = 0; index < scanned.comments.length; index += 2) {
    if (index % comparedAtOnce === 0) yield;
    const start = scanned.comments[index] ?? 0;
    while ((holes[hole]?.end ?? Number.POSITIVE_INFINITY) <= start) hole += 1;
    if ((holes[hole]?.start ?? Number.POSITIVE_INFINITY) <= start) continue;
    if (textOf(scanned, index) !== textOf(now, kept)) return false;
    kept += 2;
  }
  return kept === now.comments.length;
}

function errorAt(body: string, { offset, message }: Problem): JsonTextError {
  return new JsonTextError(message, new TextLines(body).placeOf(offset));
}
