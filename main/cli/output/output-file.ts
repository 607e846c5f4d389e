import { lstat, rename, rm } from "node:fs/promises";
import { resolve } from "node:path";
import { describeCause } from "../../files/describe-cause.ts";
import { CommandError } from "./exit-codes.ts";

/**
 * Creates an output file atomically: `write` creates a temporary file next to it, which is renamed once it is complete. Throws
 * CommandError if the file exists and `replace` is false, or if it is not a regular file.
 */
export async function makeOutputFile(
  file: string,
  replace: boolean,
  write: (temporaryFile: string) => Promise<void>,
): Promise<void> {
  const stats = await lstat(file).catch(() => undefined);
  if (stats !== undefined && !stats.isFile())
    throw new CommandError(`${file} exists and is not a regular file. Name another file.`);
  if (stats !== undefined && !replace) throw new CommandError(`${file} already exists. To overwrite it: --force`);
  // Throws if the current folder was deleted.
  const temporaryFile = resolve(`${file}.${process.pid}.tmp`);
  try {
    await write(temporaryFile);
    await rename(temporaryFile, file);
  } catch (error) {
    // Its name may be too long for this, too.
    await rm(temporaryFile, { force: true }).catch(() => {});
    if (!(error instanceof Error) || !("code" in error)) throw error;
    throw new CommandError(
      `${file} cannot be written: ${describeCause(error)}. Name another file, in a folder that exists.`,
    );
  }
}
