/**
 * Numbers are 64-bit floats, here and in most readers of JSON. A whole number beyond 2^53 may read as another whole number, so it is
 * refused wherever a text becomes a value. Fractions are rounded to about 16 digits, as everywhere.
 */
import type { JsonValue } from "./json.ts";

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

/** Like `JSON.parse`, but throws an InexactNumberError instead of rounding a whole number, or a SyntaxError. */
export function parseExactJson(text: string): JsonValue {
  // JSON.parse only returns JSON values.
  const value = JSON.parse(text) as JsonValue;
  const [inexact] = inexactNumbers(text);
  if (inexact !== undefined) throw new InexactNumberError(`a number in it ${inexactNumberMessage(inexact.text)}`);
  return value;
}

/** A number and its offset in a text. */
export interface NumberInText {
  readonly offset: number;
  readonly text: string;
}

/** The numbers in a valid JSON text without comments that are not exact. Takes time linear in the text's length. */
export function* inexactNumbers(json: string): Generator<NumberInText> {
  if (!mayBeInexact.test(json)) return;
  for (const { 0: text, index: offset } of json.matchAll(stringOrNumber))
    if (!text.startsWith('"') && !isExactNumber(text)) yield { offset, text };
}

/** Numbers of up to 15 digits without an exponent are exact. */
const mayBeInexact = /[\d.]{16}|\d[eE]/;
const stringOrNumber = /"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*/g;
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
