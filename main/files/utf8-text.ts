import { type Place, TextLines } from "./json-text-places.ts";
import { UnreadableFileError } from "./unreadable-file-error.ts";

/** Made when it is needed: most commands read no such text, and to load it takes time. */
let utf8: InstanceType<typeof TextDecoder> | undefined;

/**
 * The text of bytes from outside, with its byte order mark. Throws UnreadableFileError, whose message says what else they are, instead
 * of storing other characters than were meant.
 */
export function utf8Text(bytes: Uint8Array): string {
  const [first, second] = bytes;
  if ((first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff))
    throw new UnreadableFileError("it is not UTF-8 text but UTF-16; save it as UTF-8");
  utf8 ??= new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  try {
    return utf8.decode(bytes);
  } catch {
    const { byte, line, column } = invalidByte(bytes);
    const what = `it is not UTF-8 text (byte 0x${byte?.toString(16)} in line ${line}, as in Latin-1); save it as UTF-8`;
    throw new UnreadableFileError(what, { line, column });
  }
}

/** Like `utf8Text`, for a text that is no JSON, whose reader would name the place of a NUL: refuses that too. */
export function plainText(bytes: Uint8Array): string {
  const text = utf8Text(bytes);
  if (!text.includes("\0")) return text;
  throw new UnreadableFileError("it contains a NUL byte, as UTF-16 and binary files do; save it as UTF-8 text");
}

/** Like `plainText`, but reads UTF-16 too if its mark is at the beginning, and returns no mark. */
export function markedText(bytes: Uint8Array): string {
  const [first, second] = bytes;
  const encoding = first === 0xff && second === 0xfe ? "utf-16le" : first === 0xfe && second === 0xff && "utf-16be";
  if (encoding === false) return plainText(bytes).replace(/^\uFEFF/, "");
  try {
    return plainText(Buffer.from(new TextDecoder(encoding, { fatal: true }).decode(bytes)));
  } catch (error) {
    if (error instanceof UnreadableFileError) throw error;
    throw new UnreadableFileError("it begins as UTF-16 text does, but is none; save it as UTF-8 text");
  }
}

/** The first byte that cannot be in UTF-8, and its place. */
function invalidByte(bytes: Uint8Array): Place & { readonly byte: number | undefined } {
  // Before the first invalid byte, the text reads as itself; there the decoder puts U+FFFD.
  const valid = Buffer.from(bytes).toString();
  let at = 0;
  for (let index = valid.indexOf("\uFFFD"); index !== -1; index = valid.indexOf("\uFFFD", index + 1)) {
    at = Buffer.byteLength(valid.slice(0, index));
    if (bytes[at] !== 0xef || bytes[at + 1] !== 0xbf || bytes[at + 2] !== 0xbd) break;
  }
  const before = Buffer.from(bytes.subarray(0, at)).toString();
  return { byte: bytes[at], ...new TextLines(before).placeOf(before.length) };
}
