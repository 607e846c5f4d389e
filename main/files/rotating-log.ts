import { closeSync, constants, existsSync, fchmodSync, fstatSync, openSync, renameSync, writeSync } from "node:fs";
import { describeCause } from "./describe-cause.ts";
import { systemErrorCode } from "./file-system.ts";
import { UnreadableFileError } from "./unreadable-file-error.ts";

/**
 * A log file that is renamed to `<file>.1` before it exceeds `maximumBytes`. That replaces the previous `<file>.1`, so both take at most
 * twice that size. Each line is written synchronously, so that the last lines before a crash are in the file. Only its owner can read it,
 * and a symbolic link at its path is not followed.
 */
export class RotatingLog {
  readonly #path: string;
  readonly #maximumBytes: number;
  #handle: number;
  #bytes: number;

  constructor(path: string, maximumBytes: number) {
    this.#path = path;
    this.#maximumBytes = maximumBytes;
    this.#handle = openPrivateLog(path);
    this.#bytes = fstatSync(this.#handle).size;
  }

  /** Never throws: on a full disk, only lines of this log are lost. */
  write(line: string): void {
    try {
      this.#append(line);
    } catch {
      // There is no other place to report it.
    }
  }

  /** Lines written later are dropped. */
  close(): void {
    closeSync(this.#handle);
    this.#handle = -1;
  }

  #append(line: string): void {
    if (this.#bytes > 0 && this.#bytes + Buffer.byteLength(line) > this.#maximumBytes) this.#rotate();
    this.#bytes += writeSync(this.#handle, line);
  }

  #rotate(): void {
    try {
      if (existsSync(this.#path)) renameSync(this.#path, `${this.#path}.1`);
    } catch {
      // If the file cannot be renamed, it keeps growing.
      return;
    }
    const handle = openPrivateLog(this.#path);
    closeSync(this.#handle);
    this.#handle = handle;
    this.#bytes = 0;
  }
}

/** Opens a log file for its end, creates a missing one, and returns the handle. Throws UnreadableFileError, which names the file. */
export function openPrivateLog(path: string): number {
  // Windows has neither flag; creating symbolic links there needs rights that few users have.
  const { O_APPEND, O_CREAT, O_WRONLY, O_NOFOLLOW = 0, O_NONBLOCK = 0 } = constants;
  let handle: number | undefined;
  try {
    handle = openSync(path, O_APPEND | O_CREAT | O_WRONLY | O_NOFOLLOW | O_NONBLOCK, 0o600);
    if (process.platform !== "win32") fchmodSync(handle, 0o600);
    return handle;
  } catch (error) {
    if (handle !== undefined) closeSync(handle);
    const code = systemErrorCode(error) ?? "";
    const why = ["ELOOP", "ENXIO", "EISDIR"].includes(code)
      ? "it is not a regular file, and links are not followed. Move it away"
      : describeCause(error);
    throw new UnreadableFileError(`${path} is not usable: ${why}`, { cause: error });
  }
}
