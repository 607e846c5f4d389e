import { createReadStream, fstatSync } from "node:fs";
import type { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { limits } from "../../shared/limits.ts";
import { readForeignFile } from "./foreign-file.ts";
import { FileTooLargeError, MissingFileError, UnreadableFileError } from "./unreadable-file-error.ts";
import { plainText } from "./utf8-text.ts";

/** A file that this process has open, such as /dev/fd/63 for `<(COMMAND)`. It may be a pipe, which `readForeignFile` refuses. */
const ownDescriptor = /^\/(?:dev|proc\/self)\/(?:fd\/\d+|stdin)$/;
const maximumBytes = limits.repositoryFileBytes;

type Decode = (bytes: Uint8Array) => string;

/**
 * The text of a file that a person named, perhaps in a work tree that others wrote. Links are followed. `decode` makes the text
 * of the bytes. Throws UnreadableFileError, or the system's error.
 */
export async function readNamedText(file: string, decode: Decode = plainText): Promise<string> {
  if (ownDescriptor.test(file)) return readStreamText(createReadStream(file), decode);
  const found = await readForeignFile(file, { maximumBytes, followsLinks: true });
  if (found === null) throw new MissingFileError();
  return decode(found.bytes);
}

/** The text of standard input. Throws as `readNamedText`. */
export async function readStandardInput(decode: Decode = plainText): Promise<string> {
  // Node reads nothing from a folder and reports no error.
  if (fstatSync(0).isDirectory()) throw new UnreadableFileError("it is a folder, not a file");
  return readStreamText(process.stdin, decode);
}

/** The text of an open file, which may never end. */
async function readStreamText(stream: Readable, decode: Decode): Promise<string> {
  let bytes = 0;
  return decode(
    await buffer(
      stream.map((part: Buffer) => {
        bytes += part.length;
        if (bytes > maximumBytes)
          throw new FileTooLargeError(`it has more than ${maximumBytes} bytes; at most that many are read`);
        return part;
      }),
    ),
  );
}
