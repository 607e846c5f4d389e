import { constants } from "node:fs";
import { access, statfs } from "node:fs/promises";
import { describeCause } from "../files/describe-cause.ts";

/** Bytes below which a disk counts as full: a write of the log, a history and a file needs more. */
const nothing = 1024 ** 2;

/** Why nothing can be written into a folder, as far as its disk tells; undefined if it says nothing of the kind. Writes nothing. */
export async function diskProblem(folder: string): Promise<string | undefined> {
  try {
    await access(folder, constants.W_OK);
    const { bavail, bsize } = await statfs(folder);
    const free = bavail * bsize;
    return free < nothing ? `its disk is full: ${Math.floor(free / 1024)} KiB are free` : undefined;
  } catch (error) {
    return describeCause(error);
  }
}
