/**
 * Walks a JSON text with comments by its characters: each is checked once, and nothing is made of what nobody asks for. A text of
 * 1 MB is read in a few hundredths of a second, whatever is in it. Knows offsets, no errors.
 */
import { isJsonObject, type JsonValue } from "../../shared/json.ts";
import type { Range } from "./json-text-places.ts";

const [quote, slash, star, backslash, colon, comma] = [0x22, 0x2f, 0x2a, 0x5c, 0x3a, 0x2c];
const [openBrace, closeBrace, openBracket, closeBracket] = [0x7b, 0x7d, 0x5b, 0x5d];
const [tab, lineFeed, carriageReturn, space] = [0x09, 0x0a, 0x0d, 0x20];

/** Objects and arrays whose end is kept are longer: they are not walked through again for it. */
const longValue = 4_096;

/** What a walk through a text finds. */
export interface Scanned {
  readonly body: string;
  readonly comments: readonly Range[];
  /** Where long objects and arrays end, by where they begin. */
  readonly ends: ReadonlyMap<number, number>;
  /** What stands between them. */
  readonly parts: readonly string[];
  /** So many colons stand outside of texts. */
  readonly colons: number;
}

/** What is needed of it to find values. */
export type ScannedText = Pick<Scanned, "body" | "ends">;

/** A walk through a good text. */
export function scanGoodText(body: string): Scanned {
  return scan(body, Number.POSITIVE_INFINITY) ?? { body, comments: [], ends: new Map(), parts: [], colons: 0 };
}

/**
 * What a text says, and the walk through it; undefined if anything is wrong with it: its syntax, values nested deeper than
 * `deepest` levels, a name that stands twice in one object, a member called `__proto__`, a number that is too large. Yields between its
 * walks through the text.
 */
export function* readingGoodText(
  body: string,
  deepest: number,
): Generator<void, { readonly value: JsonValue; readonly scanned: Scanned } | undefined> {
  // Also in a comment, where JSON does not see it.
  const scanned = body.includes("\0") ? undefined : scan(body, deepest);
  if (scanned === undefined) return undefined;
  yield;
  let value: JsonValue;
  try {
    // A comment parts what stands on its sides.
    value = JSON.parse(scanned.parts.join(" ")) as JsonValue;
  } catch {
    return undefined;
  }
  yield;
  // Of two members of one name the first is gone, so that fewer than there are colons are left.
  return countMembers(value) === scanned.colons ? { value, scanned } : undefined;
}

/** Undefined if a comment has no end, or values are nested deeper than that. */
function scan(body: string, deepest: number): Scanned | undefined {
  const comments: Range[] = [];
  const parts: string[] = [];
  const ends = new Map<number, number>();
  const open: number[] = [];
  let [done, colons] = [0, 0];
  for (let at = 0; at < body.length; at++) {
    const character = body.charCodeAt(at);
    if (character === quote) {
      at = endOfString(body, at) - 1;
    } else if (character === slash) {
      const end = endOfComment(body, at);
      if (end === undefined) return undefined;
      comments.push({ start: at, end });
      parts.push(body.slice(done, at));
      done = end;
      at = end - 1;
    } else if (character === openBrace || character === openBracket) {
      if (open.push(at) > deepest) return undefined;
    } else if (character === closeBrace || character === closeBracket) {
      const start = open.pop() ?? at;
      if (at - start >= longValue) ends.set(start, at + 1);
    } else if (character === colon) colons += 1;
  }
  parts.push(body.slice(done));
  return { body, comments, ends, parts, colons };
}

/** NaN if there is a member called `__proto__` or a number that is too large. */
function countMembers(value: JsonValue): number {
  if (typeof value === "number") return Number.isFinite(value) ? 0 : Number.NaN;
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

/** A member of an object in a good text. */
export interface Member {
  readonly name: string;
  readonly key: Range;
  readonly colon: Range;
  readonly value: TextNode;
  /** Where the comma behind it stands; undefined if none does. */
  readonly comma: number | undefined;
}

/** A value in a good text. What is in it is looked for when it is asked for. */
export class TextNode {
  readonly start: number;
  readonly end: number;
  readonly type: "object" | "array" | "plain";
  readonly #text: ScannedText;
  #members: readonly Member[] | undefined;
  #elements: readonly TextNode[] | undefined;

  private constructor(text: ScannedText, start: number) {
    this.#text = text;
    this.start = start;
    this.end = text.ends.get(start) ?? endOfValue(text.body, start);
    const first = text.body.charCodeAt(start);
    this.type = first === openBrace ? "object" : first === openBracket ? "array" : "plain";
  }

  /** The outermost value. */
  static root(text: ScannedText): TextNode {
    return new TextNode(text, afterTrivia(text.body, 0));
  }

  /** Of an object, in the order of the text; none of anything else. */
  get members(): readonly Member[] {
    this.#members ??= this.type === "object" ? [...this.#readMembers()] : [];
    return this.#members;
  }

  /** Of an array; none of anything else. */
  get elements(): readonly TextNode[] {
    this.#elements ??= this.type === "array" ? [...this.#readElements()] : [];
    return this.#elements;
  }

  /** Each member or element: its name or index, where it begins, and its value. Those alone are looked for that are taken, and none is kept. */
  *inside(): Generator<{ readonly name: string; readonly start: number; readonly value: TextNode }> {
    if (this.type === "object")
      for (const { name, key, value } of this.#readMembers()) yield { name, start: key.start, value };
    if (this.type !== "array") return;
    let index = 0;
    for (const value of this.#readElements()) yield { name: String(index++), start: value.start, value };
  }

  /** What it says, if it is neither an object nor an array. */
  get plainValue(): JsonValue {
    return JSON.parse(this.#text.body.slice(this.start, this.end)) as JsonValue;
  }

  *#readMembers(): Generator<Member> {
    const { body } = this.#text;
    for (let at = afterTrivia(body, this.start + 1); at < this.end - 1; ) {
      const key = { start: at, end: endOfString(body, at) };
      const colonAt = afterTrivia(body, key.end);
      const value = new TextNode(this.#text, afterTrivia(body, colonAt + 1));
      const next = afterTrivia(body, value.end);
      const hasComma = body.charCodeAt(next) === comma;
      const raw = body.slice(key.start + 1, key.end - 1);
      const name = raw.includes("\\") ? (JSON.parse(`"${raw}"`) as string) : raw;
      yield { name, key, colon: { start: colonAt, end: colonAt + 1 }, value, comma: hasComma ? next : undefined };
      at = hasComma ? afterTrivia(body, next + 1) : next;
    }
  }

  *#readElements(): Generator<TextNode> {
    const { body } = this.#text;
    for (let at = afterTrivia(body, this.start + 1); at < this.end - 1; ) {
      const element = new TextNode(this.#text, at);
      yield element;
      const next = afterTrivia(body, element.end);
      at = body.charCodeAt(next) === comma ? afterTrivia(body, next + 1) : next;
    }
  }
}

/** Past blanks, line breaks and comments. */
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
      // What has no brackets ends where a comment begins.
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

/** The end of the text if the string has none. */
function endOfString(body: string, start: number): number {
  for (let end = body.indexOf('"', start + 1); end !== -1; end = body.indexOf('"', end + 1)) {
    let escapes = end;
    while (body.charCodeAt(escapes - 1) === backslash) escapes -= 1;
    if ((end - escapes) % 2 === 0) return end + 1;
  }
  return body.length;
}

/** Undefined if no comment begins here, or it has no end. */
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
