import { DurableTextFile, UnreadableFileError } from "../files/durable-text-file.ts";

/** Reads a file as the daemon does: a regular file, UTF-8, at most `maximumBytes`. Throws UnreadableFileError. */
export async function readTextFile(path: string, maximumBytes: number): Promise<string> {
  // It is only read, so the temporary folder is not used.
  const text = await new DurableTextFile({ path, temporaryFolder: "", mode: 0o600, maximumBytes }).read();
  if (text === null) throw new UnreadableFileError("it does not exist");
  return text;
}
