import { isUtf8 } from "node:buffer";
import { readFile } from "node:fs/promises";
import { CommandError, exitCodes } from "../output/exit-codes.ts";

/**
 * Node reads bytes of an argument that are not UTF-8 as U+FFFD, which would be stored; only Linux shows the bytes. Throws CommandError.
 */
export async function refuseOtherEncodings(): Promise<void> {
  const bytes = await readFile("/proc/self/cmdline").catch(() => Buffer.of());
  if (isUtf8(bytes)) return;
  throw new CommandError("An argument is not UTF-8 text. If it is in Latin-1, convert it first.", exitCodes.usage);
}
