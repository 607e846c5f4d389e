import { UnreadableFileError } from "../files/durable-text-file.ts";
import { readForeignFile } from "../files/foreign-file.ts";

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Reads a file as the daemon does: a regular file, UTF-8, at most `maximumBytes`. Throws UnreadableFileError. */
export async function readTextFile(path: string, maximumBytes: number): Promise<string> {
  const found = await readForeignFile(path, { maximumBytes });
  if (found === null) throw new UnreadableFileError("it does not exist");
  try {
    return utf8.decode(found.bytes);
  } catch {
    throw new UnreadableFileError("it is not UTF-8 text");
  }
}
