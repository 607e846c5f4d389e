/**
 * Numbers are 64-bit floats, here and in most readers of JSON. A whole number beyond 2^53 may read as another whole number, so it is
 * refused wherever a text becomes a value. Fractions are rounded to about 16 digits, as everywhere.
 */
import type { JsonValue } from "./json.ts";
import { endOfNumber, endOfString, isDigit, isExponent, isQuote } from "./json-tokens.ts";
import { limits } from "./limits.ts";
import { nestsDeeper } from "./value-edit.ts";

/**
 * Whether a number as JSON writes it is kept: a whole number stays the same whole number, and a fraction is not rounded to one. False
 * for numbers that are too large, and for anything that is not a number in JSON, such as `0x10` or `1.`.
 */
export function isExactNumber(text: string): boolean {
  const number = Number(text);
  const given = decimalOf(text);
  if (given === undefined || !Number.isFinite(number)) return false;
  if (!Number.isInteger(number)) return true;
  const kept = decimalOf(JSON.stringify(number));
  return given.digits === kept?.digits && given.exponent === kept.exponent;
}

/**
 * Why a number that is not exact is refused, and the next step. Continues a sentence that names its place, and does not repeat the
 * number, which may be masked.
 */
export function inexactNumberMessage(text: string): string {
  const reason = Number.isFinite(Number(text))
    ? `would be rounded, because only whole numbers up to ${Number.MAX_SAFE_INTEGER} are always kept`
    : "is too large";
  return `${reason}; store it as text, in a field that accepts text`;
}

/** A text has a number that is not exact. */
export class InexactNumberError extends Error {
  override readonly name = "InexactNumberError";
}

/** A text is JSON, but nests too deeply. */
export class NestingError extends SyntaxError {}

/** Like `JSON.parse`, but throws an InexactNumberError instead of rounding a whole number, or a SyntaxError. */
export function parseExactJson(text: string): JsonValue {
  // JSON.parse only returns JSON values.
  const value = JSON.parse(text) as JsonValue;
  // Nobody could read it, and functions that call themselves for each level would fail.
  if (nestsDeeper(value, limits.messageNesting))
    throw new NestingError(`values are nested more than ${limits.messageNesting} levels deep`);
  for (const { start, end } of inexactNumbers(text))
    throw new InexactNumberError(`a number in it ${inexactNumberMessage(text.slice(start, end))}`);
  return value;
}

/**
 * A text with each number from this offset on that is not exact replaced by one that reads as infinite. Takes time linear in the text's
 * length, also if it is no JSON.
 */
export function withoutInexactNumbers(text: string, from = 0): string {
  let [result, done] = ["", 0];
  for (const { start, end } of inexactNumbers(text, from)) {
    result += `${text.slice(done, start)}1e999`;
    done = end;
  }
  return done === 0 ? text : result + text.slice(done);
}

/** Without their signs. */
function* inexactNumbers(json: string, from = 0): Generator<{ readonly start: number; readonly end: number }> {
  if (!mayBeInexact.test(json)) return;
  for (let at = from; at < json.length; ) {
    const character = json.charCodeAt(at);
    if (isQuote(character)) at = endOfString(json, at);
    else if (isDigit(character)) {
      const end = endOfNumber(json, at);
      if (!isExactNumberIn(json, at, end)) yield { start: at, end };
      at = end;
    } else at += 1;
  }
}

/** Numbers of up to 15 digits without an exponent are exact. */
const maxExactDigits = 15;
const mayBeInexact = /[\d.]{16}|\d[eE]/;

/** Like `isExactNumber` of a part of a text, but fast for most numbers. */
export function isExactNumberIn(text: string, start: number, end: number): boolean {
  let isShort = end - start <= maxExactDigits;
  for (let at = start; isShort && at < end; at++) isShort = !isExponent(text.charCodeAt(at));
  return isShort || isExactNumber(text.slice(start, end));
}

const numberInJson = /^-?(0|[1-9]\d*)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/;

/** A number without its sign: its significant digits, and the power of ten of the last one. */
interface Decimal {
  readonly digits: string;
  readonly exponent: number;
}

/** Undefined if the text is not a number in JSON. Equal numbers have the same result. */
function decimalOf(text: string): Decimal | undefined {
  const [, whole, fraction = "", power = "0"] = numberInJson.exec(text) ?? [];
  if (whole === undefined) return undefined;
  const all = whole + fraction;
  // Loops, because `/0+$/` takes quadratic time.
  let [start, end] = [0, all.length];
  while (all[start] === "0") start += 1;
  while (end > start && all[end - 1] === "0") end -= 1;
  if (start === end) return { digits: "", exponent: 0 };
  return { digits: all.slice(start, end), exponent: Number(power) - fraction.length + all.length - end };
}
