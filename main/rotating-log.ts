import { closeSync, existsSync, fstatSync, openSync, renameSync, writeSync } from "node:fs";

/**
 * A log file that is put aside as `<file>.1` when it has grown to `maximumBytes`. What was put aside before is gone then, so
 * that a log takes at most twice that. Written at once, line by line, so that the last words before a crash are there.
 */
export class RotatingLog {
  readonly #path: string;
  readonly #maximumBytes: number;
  #handle: number;
  #bytes: number;

  constructor(path: string, maximumBytes: number) {
    this.#path = path;
    this.#maximumBytes = maximumBytes;
    this.#handle = openSync(path, "a", 0o600);
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
    const handle = openSync(this.#path, "a", 0o600);
    closeSync(this.#handle);
    this.#handle = handle;
    this.#bytes = 0;
  }
}
