/** Where strings and numbers of a JSON text end. Regular expressions for them take quadratic time, or fail for long strings. */

const [quote, backslash] = [0x22, 0x5c];
const [zero, nine, point, plus, minus, smallE, largeE] = [0x30, 0x39, 0x2e, 0x2b, 0x2d, 0x65, 0x45];

/** `start` is at the opening quote. The end of the text if the string is not closed. */
export function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end !== -1; end = text.indexOf('"', end + 1)) {
    let escapes = end;
    while (text.charCodeAt(escapes - 1) === backslash) escapes -= 1;
    if ((end - escapes) % 2 === 0) return end + 1;
  }
  return text.length;
}

export function isQuote(character: number): boolean {
  return character === quote;
}

export function isDigit(character: number): boolean {
  return character >= zero && character <= nine;
}

/** `start` is at the first digit. */
export function endOfNumber(text: string, start: number): number {
  let at = start + 1;
  for (;;) {
    const character = text.charCodeAt(at);
    const isInside = isDigit(character) || character === point || character === plus || character === minus;
    if (!isInside && !isExponent(character)) return at;
    at += 1;
  }
}

export function isExponent(character: number): boolean {
  return character === smallE || character === largeE;
}
