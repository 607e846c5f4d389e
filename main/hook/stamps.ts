import { UnreachableDiskError } from "../files/foreign-disks.ts";
import { readForeignFile } from "../files/foreign-file.ts";
import { FileTooLargeError } from "../files/unreadable-file-error.ts";

/** Bytes of a file that a script compares at each prompt. Comparing larger ones would slow down each prompt noticeably. */
export const largestFile = 262_144;

/** A file that the hook compares at each prompt. When it changes, the environment is loaded again. */
export interface Stamp {
  readonly file: string;
  /** Read before the values, so that no change in between is missed. Undefined for a binary file. */
  readonly text: string | undefined;
}

/** Without those that a script could not compare. */
export async function readStamps(files: readonly string[]): Promise<Stamp[]> {
  const stamps = await Promise.all(
    files.map(async file => {
      const found = await readForeignFile(file, { maximumBytes: largestFile }).catch((error: Error) => error);
      // The script would read a part of the file, or wait for the disk.
      if (found instanceof FileTooLargeError || found instanceof UnreachableDiskError) return [];
      // The script has no text of a file that is missing or not regular.
      const text = found === null || found instanceof Error ? "" : found.bytes.toString();
      return [{ file, text: text.includes("\0") || text.includes("\ufffd") ? undefined : text }];
    }),
  );
  return stamps.flat();
}
