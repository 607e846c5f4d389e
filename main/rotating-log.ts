import { closeSync, constants, existsSync, fchmodSync, fstatSync, openSync, renameSync, writeSync } from "node:fs";

/**
 * A log file that is put aside as `<file>.1` when it has grown to `maximumBytes`. What was put aside before is gone then, so
 * that a log takes at most twice that. Written at once, line by line, so that the last words before a crash are there. For its
 * owner alone; a link in its place is not followed.
 */
export class RotatingLog {
  readonly #path: string;
  readonly #maximumBytes: number;
  #handle: number;
  #bytes: number;

  constructor(path: string, maximumBytes: number) {
    this.#path = path;
    this.#maximumBytes = maximumBytes;
    this.#handle = openPrivate(path);
    this.#bytes = fstatSync(this.#handle).size;
  }

  /** A full disk costs lines of the log and nothing else. */
  write(line: string): void {
    try {
      this.#append(line);
    } catch {
      // There is no other place to say it.
    }
  }

  /** What is written afterwards is lost. */
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
      // Where it cannot be put aside it grows on.
      return;
    }
    const handle = openPrivate(this.#path);
    closeSync(this.#handle);
    this.#handle = handle;
    this.#bytes = 0;
  }
}

function openPrivate(path: string): number {
  // Windows has no such flag, and links there need rights that few have.
  const { O_APPEND, O_CREAT, O_WRONLY, O_NOFOLLOW = 0 } = constants;
  const handle = openSync(path, O_APPEND | O_CREAT | O_WRONLY | O_NOFOLLOW, 0o600);
  if (process.platform !== "win32") fchmodSync(handle, 0o600);
  return handle;
}
