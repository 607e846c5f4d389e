import { readFile } from "node:fs/promises";
import { limits } from "../../../shared/limits.ts";
import { readForeignFile } from "../../files/foreign-file.ts";
import { CommandError, exitCodes } from "../output/exit-codes.ts";

/** A file that this process has open, such as /dev/fd/63 for `<(COMMAND)`. It may be a pipe, which `readForeignFile` refuses. */
const ownDescriptor = /^\/(?:dev|proc\/self)\/(?:fd\/\d+|stdin)$/;

/** The text of a file that the user named, perhaps in a work tree that others wrote. Links are followed. Throws CommandError. */
export async function readNamedFile(file: string): Promise<string> {
  const options = { maximumBytes: limits.repositoryFileBytes, followsLinks: true };
  try {
    if (ownDescriptor.test(file)) return await readFile(file, "utf8");
    const found = await readForeignFile(file, options);
    if (found === null) throw new Error("it does not exist");
    return found.bytes.toString();
  } catch (error) {
    const cause = error instanceof Error ? error.message : String(error);
    throw new CommandError(`${file} cannot be read: ${cause}`, exitCodes.usage);
  }
}
