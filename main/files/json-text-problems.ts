/** Finds the problem in an invalid JSON text. */

import { createScanner, type ParseErrorCode, printParseErrorCode, visit } from "jsonc-parser";
import { inexactNumberMessage, isExactNumber } from "../../shared/exact-number.ts";
import { shortened } from "../../shared/shortened.ts";

/** The most levels of objects and arrays in a text, counting the root. */
export const deepestNesting = 64;
const endsTooEarly = "unexpected end of the text";

/** What is wrong, and at which offset. */
export interface Problem {
  readonly offset: number;
  readonly message: string;
}

/** The first problem of an invalid text. Yields between its passes over the text. */
export function* firstProblem(body: string): Generator<void, Problem> {
  yield;
  const nesting = findNestingProblem(body);
  yield;
  const syntax = findSyntaxProblem(body.slice(0, nesting?.offset));
  yield;
  const nul = body.indexOf("\0");
  const problems = [
    nul < 0 ? undefined : { offset: nul, message: "unexpected NUL character: is it UTF-16? Save it as UTF-8" },
    nesting,
    syntax,
  ];
  const [first] = problems.filter(problem => problem !== undefined).sort((left, right) => left.offset - right.offset);
  return first ?? findMemberProblem(body) ?? { offset: body.length, message: endsTooEarly };
}

/** What is wrong with a text that is no JSON, and where, as the end of a sentence: "a value is missing (line 1, column 6)". */
export function describeJsonProblem(text: string): string {
  const { offset, message } = commentIn(text) ?? firstProblemNow(text);
  const before = text.slice(0, offset).split("\n");
  return `${message} (line ${before.length}, column ${(before.at(-1) ?? "").length + 1})`;
}

function firstProblemNow(text: string): Problem {
  const search = firstProblem(text);
  for (;;) {
    const { done, value } = search.next();
    if (done) return value;
  }
}

/** A comment that is the first problem: files may have them, typed values not. */
function commentIn(text: string): Problem | undefined {
  const found = { problem: undefined as Problem | undefined };
  const report = (offset: number, message?: string) => {
    if (message !== undefined) found.problem = { offset, message };
    throw new FoundError();
  };
  untilFound(() =>
    visit(text.slice(0, findNestingProblem(text)?.offset), {
      onComment: offset => report(offset, "a comment cannot be here"),
      onError: (_, offset) => report(offset),
    }),
  );
  return found.problem;
}

/** Finds names and numbers that JSON allows but we do not. The text must be well formed. */
function findMemberProblem(body: string): Problem | undefined {
  const names: Set<string>[] = [];
  const found = { problem: undefined as Problem | undefined };
  const report = (offset: number, message: string) => {
    found.problem = { offset, message };
    throw new FoundError();
  };
  untilFound(() =>
    visit(body, {
      onObjectBegin: () => void names.push(new Set()),
      onObjectEnd: () => void names.pop(),
      onObjectProperty: (name, offset) => {
        if (name === "__proto__") report(offset, "a member must not be called __proto__");
        if (names.at(-1)?.has(name))
          report(offset, `the member ${JSON.stringify(shortened(name, maxOfName))} is a duplicate`);
        names.at(-1)?.add(name);
      },
      onLiteralValue: (value, offset, length, _line, _column, path) => {
        const text = body.slice(offset, offset + length);
        if (typeof value !== "number" || isExactNumber(text)) return;
        const place = shortened(path().join("."), maxOfName);
        report(offset, `${place === "" ? "the number" : `the number at ${place}`} ${inexactNumberMessage(text)}`);
      },
    }),
  );
  return found.problem;
}

/** Characters of a name that a message quotes. */
const maxOfName = 80;

/** Thrown to stop a walk early. */
class FoundError extends Error {}

function untilFound(walk: () => void): void {
  try {
    walk();
  } catch (error) {
    if (!(error instanceof FoundError)) throw error;
  }
}

/**
 * The first bracket that nests too deeply or closes nothing. jsonc-parser recurses and continues after errors, so it only
 * receives the text before that bracket, nested at most `deepestNesting` levels.
 */
function findNestingProblem(body: string): Problem | undefined {
  const scanner = createScanner(body, true);
  const closers: string[] = [];
  for (;;) {
    scanner.scan();
    const offset = scanner.getTokenOffset();
    // Only brackets start with a bracket, so the first character identifies the token.
    const character = body[offset];
    if (character === undefined) return undefined;
    if (character === "{" || character === "[") {
      if (closers.length === deepestNesting) {
        return { offset, message: `values are nested more than ${deepestNesting} levels deep` };
      }
      closers.push(character === "{" ? "}" : "]");
    } else if (character === "}" || character === "]") {
      const closer = closers.pop();
      if (closer === undefined) return { offset, message: `unexpected ${character}: there is nothing to close` };
      if (closer !== character) return { offset, message: `a ${closer} is missing before this ${character}` };
    }
  }
}

/** Only the first error: a text of 4 MB can have 8 million. */
function findSyntaxProblem(body: string): Problem | undefined {
  const found = { problem: undefined as Problem | undefined };
  untilFound(() =>
    visit(body, {
      onError: (code, offset) => {
        found.problem = syntaxProblem(body, code, offset);
        throw new FoundError();
      },
    }),
  );
  return found.problem;
}

const syntaxMessages: Readonly<Record<string, string>> = {
  InvalidSymbol: "expected a value or a name in double quotes",
  PropertyNameExpected: "the name of a member is missing, in double quotes",
  ValueExpected: "a value is missing",
  ColonExpected: "a colon is missing",
  CommaExpected: "a comma is missing",
  EndOfFileExpected: "only comments may follow the end of the outermost value",
  UnexpectedEndOfComment: "this comment is not closed",
  UnexpectedEndOfString: "this string is not closed on its line",
  UnexpectedEndOfNumber: "this number is incomplete",
  InvalidUnicode: "invalid escape in this string: \\u needs four hexadecimal digits",
  InvalidEscapeCharacter: "invalid escape in this string",
  InvalidCharacter: "this control character must be written as an escape, such as \\t",
};

function syntaxProblem(body: string, code: ParseErrorCode, start: number): Problem {
  const name = printParseErrorCode(code);
  const offset = name === "InvalidCharacter" ? findControlCharacter(body, start) : start;
  const isTrailingComma =
    (name === "PropertyNameExpected" && body[start] === "}") || (name === "ValueExpected" && body[start] === "]");
  if (start === body.length) return { offset, message: body.trim() === "" ? "the text is empty" : endsTooEarly };
  if (isTrailingComma) return { offset, message: `unexpected comma before this ${body[start]}` };
  if (/^(<{7}|={7}|>{7}|\|{7})/.test(body.slice(start, start + 7))) {
    return { offset, message: "unresolved merge conflict" };
  }
  return { offset, message: syntaxMessages[name] ?? "this is not valid JSON" };
}

/** The scanner reports the start of the string, so find the character in it. */
function findControlCharacter(body: string, start: number): number {
  let offset = start;
  while (offset < body.length && body.charCodeAt(offset) >= 0x20) offset += 1;
  return offset;
}
