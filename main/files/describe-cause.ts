import { systemErrorCode } from "./file-system.ts";
import { UnreadableFileError } from "./unreadable-file-error.ts";

/** What the system's errors mean, as the end of a sentence about a file. */
const meanings: { readonly [code: string]: string } = {
  EACCES: "you are not allowed to access it",
  EDQUOT: "your disk quota is used up",
  EEXIST: "something else with its name exists",
  EIO: "its disk cannot read or write it",
  EISDIR: "it is a folder, not a file",
  ELOOP: "its links lead in a circle",
  EMFILE: "this process has too many files open; raise the limit: ulimit -n 4096",
  ENAMETOOLONG: "its name is too long",
  ENFILE: "the system has too many files open",
  ENOENT: "there is no such file or folder",
  ENOSPC: "the disk is full",
  ENOTDIR: "a part of its path is not a folder",
  EPERM: "you are not allowed to change it",
  EROFS: "its disk can only be read",
};

/** Why something failed, for people: the meaning and the code of the system's errors, and the message of any other error. */
export function describeCause(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error instanceof UnreadableFileError) return error.message;
  const code = systemErrorCode(error);
  if ("syscall" in error && error.syscall === "uv_cwd")
    return `the current folder no longer exists (${code}); go to another one: cd ~`;
  const meaning = code === undefined ? undefined : meanings[code];
  if (meaning !== undefined) return `${meaning} (${code})`;
  if (error instanceof RangeError) return "it is too large, or nested too deeply";
  return error.message;
}
