import { DurableTextFile, UnreadableFileError } from "../files/durable-text-file.ts";

/** A file's text, read as the daemon reads it: no link, nothing but UTF-8, no more than so many bytes. Throws UnreadableFileError. */
export async function readTextFile(path: string, maximumBytes: number): Promise<string> {
  // Nothing is written, so no temporary file is ever made.
  const text = await new DurableTextFile({ path, temporaryFolder: "", mode: 0o600, maximumBytes }).read();
  if (text === null) throw new UnreadableFileError("it is not there");
  return text;
}
