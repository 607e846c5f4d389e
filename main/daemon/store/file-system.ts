import * as promises from "node:fs/promises";

/** The calls that durability rests on, as an argument: tests hand in ones that fail, stop or are recorded. */
export type FileSystem = Pick<typeof promises, "open" | "rename" | "unlink">;

export const realFileSystem: FileSystem = { open: promises.open, rename: promises.rename, unlink: promises.unlink };

/** The error code of a failed system call, such as "ENOENT"; undefined for any other error. */
export function systemErrorCode(error: unknown): string | undefined {
  if (!(error instanceof Error) || !("code" in error)) return undefined;
  return typeof error.code === "string" ? error.code : undefined;
}
