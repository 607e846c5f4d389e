import { describeCause } from "../../files/describe-cause.ts";
import { readNamedText, readStandardInput } from "../../files/named-text.ts";
import { CommandError, exitCodes } from "../output/exit-codes.ts";

/** The text of a file that the user named; of standard input for `-`. `decode` makes it of the bytes. Throws CommandError. */
export async function readNamedFile(file: string, decode?: (bytes: Uint8Array) => string): Promise<string> {
  try {
    return await (file === "-" ? readStandardInput(decode) : readNamedText(file, decode));
  } catch (error) {
    const name = file === "-" ? "Standard input" : file;
    throw new CommandError(`${name} cannot be read: ${describeCause(error)}`, exitCodes.usage);
  }
}
