import { lstat, rename, rm } from "node:fs/promises";
import { CommandError } from "./exit-codes.ts";

/**
 * Makes the file that a person named. `write` gets a temporary name beside it, where it makes a new file; only when that
 * is whole does it take the place. Throws CommandError if something is there and `replace` is not given, or if it is no
 * regular file.
 */
export async function makeOutputFile(
  file: string,
  replace: boolean,
  write: (temporaryFile: string) => Promise<void>,
): Promise<void> {
  const stats = await lstat(file).catch(() => undefined);
  if (stats !== undefined && !stats.isFile()) throw new CommandError(`${file} exists and is not a regular file.`);
  if (stats !== undefined && !replace) throw new CommandError(`${file} already exists. To overwrite it: --force`);
  const temporaryFile = `${file}.${process.pid}.tmp`;
  try {
    await write(temporaryFile);
    await rename(temporaryFile, file);
  } catch (error) {
    await rm(temporaryFile, { force: true });
    if (!(error instanceof Error) || !("code" in error)) throw error;
    throw new CommandError(`${file} cannot be written: ${error.message.replaceAll(temporaryFile, file)}`);
  }
}
