/** JSON text as people edit it by hand: read with its comments, and rewritten with as few changes as possible. */
import { isDeepStrictEqual } from "node:util";
import { createScanner, type Node, type ParseErrorCode, printParseErrorCode, visit } from "jsonc-parser";
import { isJsonObject, type JsonObject, type JsonValue } from "../../shared/json.ts";
import { membersOf, rewriteBody } from "./json-text-edits.ts";
import { defaultStyle, formatValue } from "./json-text-format.ts";
import type { Range } from "./json-text-places.ts";

const byteOrderMark = "\uFEFF";
const deepestNesting = 64;
const endsTooEarly = "this text ends too early";

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

interface Place {
  readonly line: number;
  readonly column: number;
}

/** A text that was read. */
export interface JsonText {
  /** With its BOM if it had one. */
  readonly text: string;
  readonly value: JsonObject;
  /**
   * Where the value at `path` stands, or undefined if there is none. An element of an array is named by its index in
   * decimal digits, the root by the empty path.
   */
  locate(path: readonly string[]): Place | undefined;
}

/**
 * Reads a text whose root is an object. Line and block comments may stand between any two tokens, trailing commas may
 * not.
 *
 * Throws a JsonTextError for the first thing that is wrong: syntax, nesting deeper than 64 levels (the root is the
 * first), a name that stands twice in one object, a member called `__proto__`, a number that is too large.
 */
export function parseJsonText(text: string): JsonText {
  return asJsonText(text, readText(text));
}

/** The most characters of texts whose trees are kept; a tree takes some thirty times as much as its text. */
const mostCharacters = 512 * 1024;
/** Those of the texts that were used last, so that the next rewrite need not read them again. The newest is kept, however long. */
const trees = new WeakMap<JsonText, { readonly read: ReadText; readonly reference: WeakRef<JsonText> }>();
/** Whose those are, with their characters, the one that was used last at the end. */
const treeOrder = new Map<WeakRef<JsonText>, number>();
let treeCharacters = 0;

function asJsonText(text: string, read: ReadText): JsonText {
  const json: JsonText = {
    text,
    value: read.value,
    locate(path) {
      const { body, root } = treeOf(json);
      let node: Node | undefined = root;
      for (const name of path) node = node && childNamed(node, name);
      return node && placeOf(body, node.offset);
    },
  };
  keepTree(json, read);
  return json;
}

function treeOf(json: JsonText): ReadText {
  const kept = trees.get(json);
  if (kept !== undefined) forgetTree(kept.reference);
  const read = kept?.read ?? readText(json.text);
  keepTree(json, read);
  return read;
}

function keepTree(json: JsonText, read: ReadText): void {
  const reference = new WeakRef(json);
  trees.set(json, { read, reference });
  treeOrder.set(reference, json.text.length);
  treeCharacters += json.text.length;
  for (const oldest of treeOrder.keys()) {
    if (treeCharacters <= mostCharacters || oldest === reference) return;
    forgetTree(oldest);
  }
}

function forgetTree(reference: WeakRef<JsonText>): void {
  const json = reference.deref();
  if (json !== undefined) trees.delete(json);
  treeCharacters -= treeOrder.get(reference) ?? 0;
  treeOrder.delete(reference);
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
  const { bom, body, root, value, comments } = treeOf(current);
  const { text, discarded } = rewriteBody(body, root, value, next);
  return checked(bom + text, next, textsOf(body, outside(comments, discarded)));
}

/** The text of a new file: two spaces, LF, a final newline. Throws an Error for what `rewriteJsonText` cannot write. */
export function formatJsonText(value: JsonObject): string {
  return formatJson(value).text;
}

/** As `formatJsonText`; the text as it reads. */
export function formatJson(value: JsonObject): JsonText {
  return checked(`${formatValue(value, "", defaultStyle)}\n`, value, []);
}

/** `text` as it reads, if that is `next` and has these comments; else throws. */
function checked(text: string, next: JsonObject, comments: readonly string[]): JsonText {
  const read = readWritten(text);
  const { body, value, comments: found } = read;
  if (!readsAs(value, next)) {
    throw new Error("A JSON text was about to be written that reads as another value");
  }
  if (!isDeepStrictEqual(textsOf(body, found), comments)) {
    throw new Error("A JSON text was about to be written that has lost a comment");
  }
  return asJsonText(text, read);
}

function readWritten(text: string): ReadText {
  try {
    return readText(text);
  } catch (cause) {
    throw new Error("A JSON text was about to be written that cannot be read", { cause });
  }
}

/** Whether what was read is what was to be written: members that are undefined are not written, nor is the sign of -0. */
function readsAs(read: unknown, next: unknown): boolean {
  if (read === next) return true;
  if (Array.isArray(read) && Array.isArray(next))
    return read.length === next.length && read.every((item, index) => readsAs(item, next[index]));
  if (!isJsonObject(read) || !isJsonObject(next)) return false;
  let members = 0;
  for (const name of Object.keys(next)) {
    if (next[name] === undefined) continue;
    members += 1;
    if (!Object.hasOwn(read, name) || !readsAs(read[name], next[name])) return false;
  }
  return members === Object.keys(read).length;
}

interface ReadText {
  readonly bom: string;
  readonly body: string;
  readonly root: Node;
  readonly value: JsonObject;
  readonly comments: readonly Range[];
}

interface Problem {
  readonly offset: number;
  readonly message: string;
}

function readText(text: string): ReadText {
  const bom = text.startsWith(byteOrderMark) ? byteOrderMark : "";
  const body = text.slice(bom.length);
  const good = readGoodText(body);
  if (good === undefined) throw errorAt(body, firstProblem(body));
  const { root } = good;
  if (root.type !== "object") throw errorAt(body, { offset: root.offset, message: "the outermost value is no object" });
  return { bom, body, ...good, value: objectOf(body, root) };
}

/** Of a text with something wrong in it. */
function firstProblem(body: string): Problem {
  const nesting = findNestingProblem(body);
  const syntax = findSyntaxProblem(body.slice(0, nesting?.offset));
  const nul = body.indexOf("\0");
  const problems = [nul < 0 ? undefined : { offset: nul, message: "a NUL character stands here" }, nesting, syntax];
  const [first] = problems.filter(problem => problem !== undefined).sort((left, right) => left.offset - right.offset);
  return first ?? { offset: body.length, message: endsTooEarly };
}

/** The same tree as jsonc-parser's, and the comments, in one go; undefined for a text with anything wrong in it. */
function readGoodText(body: string): { readonly root: Node; readonly comments: Range[] } | undefined {
  if (body.includes("\0")) return undefined;
  const comments: Range[] = [];
  const top: Node[] = [];
  /** What is open, the innermost last; a member is open until its value has ended. */
  const open: OpenNode[] = [];
  let depth = 0;
  const add = (node: Node) => (open.at(-1)?.children ?? top).push(node);
  const close = (end: number) => {
    const node = open.pop();
    if (node !== undefined) node.length = end - node.offset;
  };
  const endMember = (end: number) => {
    if (open.at(-1)?.type === "property") close(end);
  };
  const begin = (type: "object" | "array" | "property", offset: number) => {
    const node: OpenNode = { type, offset, length: -1, children: [] };
    add(node);
    open.push(node);
  };
  const beginNested = (type: "object" | "array") => (offset: number) => {
    depth += 1;
    if (depth > deepestNesting) throw new NotGoodError();
    begin(type, offset);
  };
  const endNested = (offset: number, length: number) => {
    depth -= 1;
    close(offset + length);
    endMember(offset + length);
  };
  try {
    visit(body, {
      onObjectBegin: beginNested("object"),
      onObjectProperty: (value, offset, length) => {
        begin("property", offset);
        add({ type: "string", value, offset, length });
      },
      onObjectEnd: endNested,
      onArrayBegin: beginNested("array"),
      onArrayEnd: endNested,
      onLiteralValue: (value, offset, length) => {
        add({ type: literalType(value), value, offset, length });
        endMember(offset + length);
      },
      onSeparator: (character, offset) => {
        const member = open.at(-1);
        if (character === ":" && member !== undefined) member.colonOffset = offset;
      },
      onComment: (offset, length) => void comments.push({ start: offset, end: offset + length }),
      onError: () => {
        throw new NotGoodError();
      },
    });
  } catch (error) {
    if (error instanceof NotGoodError) return undefined;
    throw error;
  }
  const [root] = top;
  return root && { root, comments };
}

/** An object, array or member whose end is not known yet. */
interface OpenNode {
  readonly type: "object" | "array" | "property";
  readonly offset: number;
  length: number;
  colonOffset?: number;
  readonly children: Node[];
}

/** Ends a reading. */
class NotGoodError extends Error {}

function literalType(value: unknown): "string" | "number" | "boolean" | "null" {
  if (typeof value === "string") return "string";
  if (typeof value === "number") return "number";
  return typeof value === "boolean" ? "boolean" : "null";
}

/**
 * The first bracket that nests too deeply or closes what is not open. The parser of jsonc-parser recurses, and goes on
 * after errors, so it only ever gets the text before that bracket: as deep as `deepestNesting` at most.
 */
function findNestingProblem(body: string): Problem | undefined {
  const scanner = createScanner(body, true);
  const closers: string[] = [];
  for (;;) {
    scanner.scan();
    const offset = scanner.getTokenOffset();
    // The first character tells tokens apart: none but a bracket starts with a bracket.
    const character = body[offset];
    if (character === undefined) return undefined;
    if (character === "{" || character === "[") {
      if (closers.length === deepestNesting) {
        return { offset, message: `values are nested more than ${deepestNesting} levels deep` };
      }
      closers.push(character === "{" ? "}" : "]");
    } else if (character === "}" || character === "]") {
      const closer = closers.pop();
      if (closer === undefined) return { offset, message: `nothing is open that this ${character} could close` };
      if (closer !== character) return { offset, message: `a ${closer} is missing before this ${character}` };
    }
  }
}

/** Only the first: a text of 4 MB can have 8 million. */
function findSyntaxProblem(body: string): Problem | undefined {
  let problem: Problem | undefined;
  visit(body, {
    onError: (code, offset) => {
      problem ??= syntaxProblem(body, code, offset);
    },
  });
  return problem;
}

const syntaxMessages: Readonly<Record<string, string>> = {
  InvalidSymbol: "this is neither a value nor a name in double quotes",
  PropertyNameExpected: "the name of a member is missing, in double quotes",
  ValueExpected: "a value is missing",
  ColonExpected: "a colon is missing",
  CommaExpected: "a comma is missing",
  EndOfFileExpected: "only comments may follow the end of the outermost value",
  UnexpectedEndOfComment: "this comment has no end",
  UnexpectedEndOfString: "this string has no closing quote on its line",
  UnexpectedEndOfNumber: "this number is incomplete",
  InvalidUnicode: "in this string, \\u is not followed by four hexadecimal digits",
  InvalidEscapeCharacter: "in this string, a backslash is followed by a character that it cannot escape",
  InvalidCharacter: "this control character must be written as an escape, such as \\t",
};

function syntaxProblem(body: string, code: ParseErrorCode, start: number): Problem {
  const name = printParseErrorCode(code);
  const offset = name === "InvalidCharacter" ? findControlCharacter(body, start) : start;
  const isTrailingComma =
    (name === "PropertyNameExpected" && body[start] === "}") || (name === "ValueExpected" && body[start] === "]");
  if (start === body.length) return { offset, message: body.trim() === "" ? "this text is empty" : endsTooEarly };
  if (isTrailingComma) return { offset, message: `no comma may stand before this ${body[start]}` };
  if (/^(<{7}|={7}|>{7}|\|{7})/.test(body.slice(start, start + 7))) {
    return { offset, message: "a merge conflict is not resolved here" };
  }
  return { offset, message: syntaxMessages[name] ?? "this is not JSON" };
}

/** The scanner reports the start of the string in which the character stands. */
function findControlCharacter(body: string, start: number): number {
  let offset = start;
  while (offset < body.length && body.charCodeAt(offset) >= 0x20) offset += 1;
  return offset;
}

/** Built here because jsonc-parser takes a member called `__proto__` for the prototype, and the last of two members. */
function objectOf(body: string, object: Node): JsonObject {
  const value: Record<string, JsonValue> = {};
  for (const member of membersOf(object)) {
    const offset = member.key.start;
    if (member.name === "__proto__") throw errorAt(body, { offset, message: "no member may be called __proto__" });
    if (Object.hasOwn(value, member.name)) {
      throw errorAt(body, { offset, message: `the member ${JSON.stringify(member.name)} stands here a second time` });
    }
    value[member.name] = valueAt(body, member.value);
  }
  return value;
}

function valueAt(body: string, node: Node): JsonValue {
  if (node.type === "object") return objectOf(body, node);
  if (node.type === "array") return (node.children ?? []).map(element => valueAt(body, element));
  if (node.type === "number" && !Number.isFinite(node.value)) {
    throw errorAt(body, { offset: node.offset, message: "this number is too large" });
  }
  return node.value;
}

function childNamed(node: Node, name: string): Node | undefined {
  if (node.type === "object") return membersOf(node).find(member => member.name === name)?.value;
  return node.type === "array" && /^(0|[1-9]\d*)$/.test(name) ? node.children?.[Number(name)] : undefined;
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
  return new JsonTextError(message, placeOf(body, offset));
}

function placeOf(body: string, offset: number): Place {
  const lines = body.slice(0, offset).split(/\r\n|\r|\n/);
  return { line: lines.length, column: (lines.at(-1)?.length ?? 0) + 1 };
}
