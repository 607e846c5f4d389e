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
  if (code === "ENOENT" && "path" in error && isOtherEncoding(String(error.path))) return `${otherEncoding} (${code})`;
  const meaning = code === undefined ? undefined : meanings[code];
  if (meaning !== undefined) return `${meaning} (${code})`;
  if (error instanceof RangeError) return "it is too large, or nested too deeply";
  return error.message;
}

/** Why a folder that is to be used is not there, as a sentence. */
export function missingFolder(path: string): string {
  return isOtherEncoding(path)
    ? `The folder ${path} cannot be used: ${otherEncoding}.`
    : `The folder ${path} does not exist.`;
}

const otherEncoding = "its name, or that of a folder above it, is not UTF-8 text; rename that, for example with convmv";

/** Node reads bytes of a name that are not UTF-8 as U+FFFD, and then does not find the file. */
function isOtherEncoding(path: string): boolean {
  return path.includes("\uFFFD");
}
