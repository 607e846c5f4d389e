import type { Place } from "./json-text-places.ts";

/** The path exists but cannot be read: not a regular file, too large, not UTF-8, not permitted, or on a disk that does not answer. */
export class UnreadableFileError extends Error {
  override readonly name: string = "UnreadableFileError";
  /** Where in the file, both from 1. */
  readonly line: number;
  readonly column: number;

  constructor(message: string, { line = 1, column = 1, ...options }: ErrorOptions & Partial<Place> = {}) {
    super(message, options);
    this.line = line;
    this.column = column;
  }
}

export class FileTooLargeError extends UnreadableFileError {
  override readonly name = "FileTooLargeError";
}

/** Only thrown where a caller needs the file. */
export class MissingFileError extends UnreadableFileError {
  override readonly name = "MissingFileError";
  /** As the system's error for it. */
  readonly code = "ENOENT";

  constructor() {
    super("it does not exist");
  }
}
