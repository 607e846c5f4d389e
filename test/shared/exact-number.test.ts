import fc from "fast-check";
import { expect, test } from "vitest";
import { InexactNumberError, inexactNumberMessage, isExactNumber, parseExactJson } from "../../shared/exact-number.ts";

test.each([
  ..."0 -0 -0.0 0e99999 9007199254740991 -9007199254740991 1.0 1e300 6.02214076E+23 1500000e-5".split(" "),
  // Doubles, and JSON prints them like this.
  ..."9007199254740992 100000000000000000000 9223372036854776000".split(" "),
  // Fractions are rounded.
  ..."0.1 0.1234567890123456789 5e-324".split(" "),
])("%s is kept", text => {
  expect(isExactNumber(text)).toBe(true);
  expect(parseExactJson(`{ "a": [${text}] }`)).toEqual({ a: [Number(text)] });
});

test.each([
  ..."9007199254740993 -9007199254740993 9007199254740993.0 9.007199254740993e15".split(" "),
  ..."9223372036854775807 18446744073709551615".split(" "),
  // A fraction that would become a whole number.
  ..."9007199254740991.5 0.99999999999999999999 12345678.999999999999 1e-400".split(" "),
])("%s would be rounded, and is refused with a next step", text => {
  expect(isExactNumber(text)).toBe(false);
  expect(inexactNumberMessage(text)).toMatch(/^would be rounded, .* store it as text/);
  expect(() => parseExactJson(`{ "a\\"9": [1, ${text}] }`)).toThrow(InexactNumberError);
});

test.each(["1e309", "-1e400", `1${"0".repeat(400)}`])("%s is too large", text => {
  expect(isExactNumber(text)).toBe(false);
  expect(inexactNumberMessage(text)).toMatch(/^is too large; store it as text/);
  expect(() => parseExactJson(text)).toThrow(InexactNumberError);
});

test.each(["", " 1", "1 ", "+1", "01", "1.", ".5", "0x10", "1_000", "1n", "NaN", "Infinity", "١"])(
  "%j is not a number in JSON",
  text => expect(isExactNumber(text)).toBe(false),
);

test("digits in strings and in names are not numbers", () => {
  const text = String.raw`{ "9007199254740993": "9007199254740993", "\"1e999": "\\", "b": 1 }`;
  expect(parseExactJson(text)).toEqual({ "9007199254740993": "9007199254740993", '"1e999': "\\", b: 1 });
});

test("a whole number is kept if and only if its digits stay the same, however it is written", () => {
  const isRight = (whole: bigint, zeros: number) => {
    const isKept = BigInt(JSON.stringify(Number(whole)).replace(/e.*/, "")) === whole;
    const moved = whole === 0n ? "0e5" : `${whole}${"0".repeat(zeros)}e-${zeros}`;
    for (const text of [String(whole), `${whole}.${"0".repeat(zeros + 1)}`, moved])
      expect([text, isExactNumber(text)]).toEqual([text, isKept]);
  };
  const whole = fc.bigInt({ min: -(10n ** 20n), max: 10n ** 20n });
  fc.assert(fc.property(fc.oneof(whole, fc.bigInt({ min: 2n ** 53n - 9n, max: 2n ** 53n + 9n })), fc.nat(9), isRight), {
    numRuns: 2_000,
  });
});

test("every number that JSON prints is kept, so what was written can be read again", () => {
  const number = fc.double({ noNaN: true, noDefaultInfinity: true });
  const isRight = (one: number) => isExactNumber(JSON.stringify(one));
  fc.assert(fc.property(number, isRight), { numRuns: 5_000 });
});
