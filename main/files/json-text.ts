/** JSON text as people edit it by hand: read with its comments, and rewritten with as few changes as possible. */
import { isDeepStrictEqual } from "node:util";
import { isJsonObject, type JsonObject } from "../../shared/json.ts";
import { runToEnd } from "../../shared/run-to-end.ts";
import { runInParts } from "../turns.ts";
import { type MovedNames, rewritingBody } from "./json-text-edits.ts";
import { defaultStyle, formatValue } from "./json-text-format.ts";
import { type Place, type Range, TextLines } from "./json-text-places.ts";
import { deepestNesting, firstProblem, type Problem } from "./json-text-problems.ts";
import { readingGoodText, type Scanned, type ScannedText, scanGoodText, TextNode } from "./json-text-scan.ts";

const byteOrderMark = "\uFEFF";
/** So many characters are read in a few milliseconds: nobody else needs a turn. */
const shortText = 64 * 1024;

/** What is wrong with a text, and where; line and column from 1, a BOM not counted. */
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

/** A text that was read. */
export interface JsonText {
  /** With its BOM if it had one. */
  readonly text: string;
  readonly value: JsonObject;
  /**
   * Where the value at each path stands, or undefined if there is none. An element of an array is named by its index in
   * decimal digits, the root by the empty path. Asked for many at once the text is walked once.
   */
  locate(paths: readonly (readonly string[])[]): readonly (Place | undefined)[];
}

/**
 * Reads a text whose root is an object. Line and block comments may stand between any two tokens, trailing commas may
 * not.
 *
 * Throws a JsonTextError for the first thing that is wrong: syntax, nesting deeper than 64 levels (the root is the
 * first), a name that stands twice in one object, a member called `__proto__`, a number that is too large.
 */
export function parseJsonText(text: string): JsonText {
  return runToEnd(reading(text));
}

/** As `parseJsonText`, in parts, with a turn of the event loop for others between them: a text of megabytes takes its time. */
export async function readJsonText(text: string): Promise<JsonText> {
  return text.length <= shortText ? parseJsonText(text) : runInParts(reading(text));
}

/** Where it yields it can be interrupted. */
function* reading(text: string): Generator<void, JsonText> {
  return asJsonText(yield* readText(text));
}

function asJsonText({ text, value, scanned: { body, ends } }: ReadText): JsonText {
  return { text, value, locate: paths => locateAll({ body, ends }, paths) };
}

/** No further into the text than the last of them stands. */
function locateAll(text: ScannedText, paths: readonly (readonly string[])[]): (Place | undefined)[] {
  const places: (Place | undefined)[] = paths.map(() => undefined);
  const lines = new TextLines(text.body);
  const locateIn = (node: TextNode, indexes: readonly number[], depth: number) => {
    const inside = new Map<string, number[]>();
    for (const index of indexes) {
      const name = paths[index]?.[depth];
      const known = name === undefined ? undefined : inside.get(name);
      if (name === undefined) places[index] = lines.placeOf(node.start);
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
  return places;
}

/**
 * The text that reads as `next` and differs from `current.text` only where a value differs; `current.text` itself if
 * none does. Members that are new come last in their object; members that `next` lacks, or has as undefined, go. All
 * comments stay but those within a value that is removed or replaced.
 *
 * Throws an Error if the new text turns out to read differently, so that nobody writes it: then this function has a
 * bug, or `next` cannot be written (it is nested too deeply or has a member called `__proto__`).
 */
export function rewriteJsonText(current: JsonText, next: JsonObject): string {
  return rewriteJson(current, next).text;
}

/** As `rewriteJsonText`; the new text as it reads, which it was read for anyway. */
export function rewriteJson(current: JsonText, next: JsonObject): JsonText {
  return runToEnd(rewriting(current, next));
}

/** As `rewriteJson`, in parts as `readJsonText`; members in `moved` keep their places. */
export async function rewriteJsonInParts(current: JsonText, next: JsonObject, moved?: MovedNames): Promise<JsonText> {
  const rewritten = rewriting(current, next, moved);
  return current.text.length <= shortText ? runToEnd(rewritten) : runInParts(rewritten);
}

function* rewriting(current: JsonText, next: JsonObject, moved?: MovedNames): Generator<void, JsonText> {
  const { mark, body } = withoutMark(current.text);
  yield;
  const scanned = scanGoodText(body);
  yield;
  const { text, discarded } = yield* rewritingBody(body, TextNode.root(scanned), current.value, next, moved);
  yield;
  return yield* checked(mark + text, next, textsOf(body, outside(scanned.comments, discarded)));
}

/** The text of a new file: two spaces, LF, a final newline. Throws an Error for what `rewriteJsonText` cannot write. */
export function formatJsonText(value: JsonObject): string {
  return formatJson(value).text;
}

/** As `formatJsonText`; the text as it reads. */
export function formatJson(value: JsonObject): JsonText {
  return runToEnd(checked(`${formatValue(value, "", defaultStyle)}\n`, value, []));
}

/** `text` as it reads, if that is `next` and has these comments; else throws. */
function* checked(text: string, next: JsonObject, comments: readonly string[]): Generator<void, JsonText> {
  let read: ReadText;
  try {
    read = yield* readText(text);
  } catch (cause) {
    throw new Error("A JSON text was about to be written that cannot be read", { cause });
  }
  yield;
  const left = { out: 0 };
  if (!readsAs(read.value, next, left)) {
    throw new Error("A JSON text was about to be written that reads as another value");
  }
  yield;
  if (!isDeepStrictEqual(textsOf(read.scanned.body, read.scanned.comments), comments)) {
    throw new Error("A JSON text was about to be written that has lost a comment");
  }
  // The next rewrite passes over all that is the very same object.
  return asJsonText(left.out === 0 ? { ...read, value: next } : read);
}

/**
 * Whether what was read is what was to be written: members that are undefined are not written, nor is the sign of -0. Counts in
 * `left.out` what is not written.
 */
function readsAs(read: unknown, next: unknown, left: { out: number }): boolean {
  if (read === next) return true;
  if (Array.isArray(read) && Array.isArray(next)) {
    // Nothing is made for each of what may be half a million.
    for (let index = 0; index < next.length; index++) if (!readsAs(read[index], next[index], left)) return false;
    return read.length === next.length;
  }
  if (!isJsonObject(read) || !isJsonObject(next)) return false;
  let members = 0;
  for (const name of Object.keys(next)) {
    const value = next[name];
    if (value === undefined) {
      left.out += 1;
      continue;
    }
    members += 1;
    // What is inherited is never equal to a value.
    if (read[name] !== value && (!Object.hasOwn(read, name) || !readsAs(read[name], value, left))) return false;
  }
  return members === Object.keys(read).length;
}

interface ReadText {
  readonly text: string;
  readonly value: JsonObject;
  readonly scanned: Scanned;
}

function* readText(text: string): Generator<void, ReadText> {
  const { body } = withoutMark(text);
  const good = yield* readingGoodText(body, deepestNesting);
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

/** The ranges that lie in none of `holes`. */
function outside(ranges: readonly Range[], holes: readonly Range[]): Range[] {
  const sorted = holes.toSorted((left, right) => left.start - right.start);
  let index = 0;
  return ranges.filter(({ start }) => {
    while ((sorted[index]?.end ?? Number.POSITIVE_INFINITY) <= start) index += 1;
    return (sorted[index]?.start ?? Number.POSITIVE_INFINITY) > start;
  });
}

function textsOf(body: string, ranges: readonly Range[]): string[] {
  return ranges.map(({ start, end }) => body.slice(start, end));
}

function errorAt(body: string, { offset, message }: Problem): JsonTextError {
  return new JsonTextError(message, new TextLines(body).placeOf(offset));
}
