/**
 * Scans a JSON text with comments. It checks each character once and creates objects only on request: a text of 1 MB takes tens
 * of milliseconds, whatever it contains. Works on offsets and does not report errors.
 */
import { isExactNumberIn } from "../../shared/exact-number.ts";
import { isJsonObject, type JsonValue } from "../../shared/json.ts";
import { endOfNumber, endOfString, isDigit } from "../../shared/json-tokens.ts";
import type { Range } from "./json-text-places.ts";

const [quote, slash, star, colon, comma] = [0x22, 0x2f, 0x2a, 0x3a, 0x2c];
const [openBrace, closeBrace, openBracket, closeBracket] = [0x7b, 0x7d, 0x5b, 0x5d];
const [tab, lineFeed, carriageReturn, space] = [0x09, 0x0a, 0x0d, 0x20];

/** Characters to scan before yielding. */
const walkedAtOnce = 100_000;
/** Members to read before yielding. */
const membersAtOnce = 10_000;

/** Objects and arrays longer than this have their end recorded, so that they need not be scanned again. */
const longValue = 4_096;

/** The result of scanning a text. */
export interface Scanned {
  readonly body: string;
  /** The start and end of each comment, in one flat array, because a text of 1 MB can have 300,000. */
  readonly comments: readonly number[];
  /** The ends of long objects and arrays, by their starts. */
  readonly ends: ReadonlyMap<number, number>;
  /** The text between the comments. */
  readonly parts: readonly string[];
  /** The number of colons outside of strings. */
  readonly colons: number;
}

/** The parts needed to find values. */
export type ScannedText = Pick<Scanned, "body" | "ends">;

/** Scans a valid text. Yields now and then. */
export function* scanningValidText(body: string): Generator<void, Scanned> {
  const scanned = yield* scanning(body, Number.POSITIVE_INFINITY);
  return scanned ?? { body, comments: [], ends: new Map(), parts: [], colons: 0 };
}

/**
 * The value of a text and its scan; undefined if the text is invalid: its syntax, values nested deeper than `deepest` levels, a
 * duplicate name in an object, a member called `__proto__`, or a number that is not exact. Yields now and then.
 */
export function* readingValidText(
  body: string,
  deepest: number,
): Generator<void, { readonly value: JsonValue; readonly scanned: Scanned } | undefined> {
  // NUL is not allowed anywhere, including comments, which JSON.parse does not see.
  const scanned = body.includes("\0") ? undefined : yield* scanning(body, deepest);
  if (scanned === undefined) return undefined;
  yield;
  let value: JsonValue;
  try {
    // A blank replaces each comment, so that the tokens around it stay separate.
    value = JSON.parse(scanned.parts.join(" ")) as JsonValue;
  } catch {
    return undefined;
  }
  yield;
  // JSON.parse keeps only one of two members with the same name, so fewer members than colons means a duplicate.
  return countMembers(value) === scanned.colons ? { value, scanned } : undefined;
}

/** Undefined if a comment is not closed, values are nested too deeply, or a number is not exact. */
function* scanning(body: string, deepest: number): Generator<void, Scanned | undefined> {
  const comments: number[] = [];
  const parts: string[] = [];
  const ends = new Map<number, number>();
  const open: number[] = [];
  let [done, colons, rest] = [0, 0, walkedAtOnce];
  for (let at = 0; at < body.length; at++) {
    if (at >= rest) {
      yield;
      rest = at + walkedAtOnce;
    }
    const character = body.charCodeAt(at);
    if (character === quote) {
      at = endOfString(body, at) - 1;
    } else if (character === slash) {
      const end = endOfComment(body, at);
      if (end === undefined) return undefined;
      comments.push(at, end);
      parts.push(body.slice(done, at));
      done = end;
      at = end - 1;
    } else if (character === openBrace || character === openBracket) {
      if (open.push(at) > deepest) return undefined;
    } else if (character === closeBrace || character === closeBracket) {
      const start = open.pop() ?? at;
      if (at - start >= longValue) ends.set(start, at + 1);
    } else if (character === colon) colons += 1;
    else if (isDigit(character)) {
      const end = endOfNumber(body, at);
      if (!isExactNumberIn(body, at, end)) return undefined;
      at = end - 1;
    }
  }
  parts.push(body.slice(done));
  return { body, comments, ends, parts, colons };
}

/** NaN if there is a member called `__proto__`. */
function countMembers(value: JsonValue): number {
  if (typeof value !== "object" || value === null) return 0;
  let count = 0;
  if (!isJsonObject(value)) {
    for (const item of value) count += countMembers(item);
    return count;
  }
  if (Object.hasOwn(value, "__proto__")) return Number.NaN;
  for (const name of Object.keys(value)) count += 1 + countMembers(value[name] ?? null);
  return count;
}

/** A member of an object in a valid text, or an item of an array, whose name is its index and whose key and colon are empty. */
export interface Member {
  readonly name: string;
  readonly key: Range;
  readonly colon: Range;
  readonly value: TextNode;
  /** The offset of the comma after it; undefined if there is none. */
  readonly comma: number | undefined;
}

/** A value in a valid text. Its parts are only read when needed. */
export class TextNode {
  readonly start: number;
  readonly end: number;
  readonly type: "object" | "array" | "plain";
  readonly #text: ScannedText;
  #members: readonly Member[] | undefined;

  private constructor(text: ScannedText, start: number) {
    this.#text = text;
    this.start = start;
    this.end = text.ends.get(start) ?? endOfValue(text.body, start);
    const first = text.body.charCodeAt(start);
    this.type = first === openBrace ? "object" : first === openBracket ? "array" : "plain";
  }

  /** The root value. */
  static root(text: ScannedText): TextNode {
    return new TextNode(text, afterTrivia(text.body, 0));
  }

  /** The members or items in the order of the text; empty for any other value. Yields if there are many. */
  *readingMembers(): Generator<void, readonly Member[]> {
    if (this.#members !== undefined) return this.#members;
    const members: Member[] = [];
    for (const member of this.inside()) {
      members.push(member);
      if (members.length % membersAtOnce === 0) yield;
    }
    this.#members = members;
    return members;
  }

  /** The members or items. Reads them one at a time and keeps none. */
  *inside(): Generator<Member> {
    if (this.type === "plain") return;
    const { body } = this.#text;
    const isNamed = this.type === "object";
    for (let [at, index] = [afterTrivia(body, this.start + 1), 0]; at < this.end - 1; index += 1) {
      const key = { start: at, end: isNamed ? endOfString(body, at) : at };
      const colonAt = isNamed ? afterTrivia(body, key.end) : at;
      const colon = { start: colonAt, end: isNamed ? colonAt + 1 : at };
      const value = new TextNode(this.#text, isNamed ? afterTrivia(body, colon.end) : at);
      const next = afterTrivia(body, value.end);
      const hasComma = body.charCodeAt(next) === comma;
      const raw = body.slice(key.start + 1, key.end - 1);
      const name = raw.includes("\\") ? (JSON.parse(`"${raw}"`) as string) : raw;
      yield { name: isNamed ? name : String(index), key, colon, value, comma: hasComma ? next : undefined };
      at = hasComma ? afterTrivia(body, next + 1) : next;
    }
  }

  /** The value, if it is neither an object nor an array. */
  get plainValue(): JsonValue {
    return JSON.parse(this.#text.body.slice(this.start, this.end)) as JsonValue;
  }
}

/** Skips blanks, line breaks and comments. */
function afterTrivia(body: string, offset: number): number {
  let at = offset;
  for (;;) {
    const character = body.charCodeAt(at);
    if (character === space || character === tab || character === lineFeed || character === carriageReturn) at += 1;
    else if (character === slash) at = endOfComment(body, at) ?? body.length;
    else return at;
  }
}

function endOfValue(body: string, start: number): number {
  const first = body.charCodeAt(start);
  if (first === quote) return endOfString(body, start);
  let [at, depth] = [start, 0];
  for (; at < body.length; at++) {
    const character = body.charCodeAt(at);
    if (character === quote) at = endOfString(body, at) - 1;
    else if (character === slash) {
      // A value without brackets ends at a comment.
      if (depth === 0) return at;
      at = (endOfComment(body, at) ?? body.length) - 1;
    } else if (character === openBrace || character === openBracket) depth += 1;
    else if (character === closeBrace || character === closeBracket) {
      if (depth === 0) return at;
      depth -= 1;
      if (depth === 0) return at + 1;
    } else if (depth === 0 && (character === comma || character <= space)) return at;
  }
  return at;
}

/** Undefined if no comment starts here or it is not closed. */
function endOfComment(body: string, start: number): number | undefined {
  const second = body.charCodeAt(start + 1);
  if (second === star) {
    const end = body.indexOf("*/", start + 2);
    return end === -1 ? undefined : end + 2;
  }
  if (second !== slash) return undefined;
  let at = start + 2;
  while (at < body.length && body.charCodeAt(at) !== lineFeed && body.charCodeAt(at) !== carriageReturn) at += 1;
  return at;
}
