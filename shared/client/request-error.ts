import { type ErrorEntry, RepoconfError } from "../errors.ts";
import type { Reply } from "../protocol.ts";

/** Thrown when an operation fails in whole or in part. It has the first error and the whole reply. */
export class RequestError extends RepoconfError {
  /** The whole reply; `result` contains what succeeded. */
  readonly reply: Reply;

  constructor(first: ErrorEntry, reply: Reply) {
    super(first.code, first.message, first);
    this.reply = reply;
  }
}
