/** The path exists but cannot be read: not a regular file, too large, not UTF-8, not permitted, or on a disk that does not answer. */
export class UnreadableFileError extends Error {
  override readonly name: string = "UnreadableFileError";
}

export class FileTooLargeError extends UnreadableFileError {
  override readonly name = "FileTooLargeError";
}
