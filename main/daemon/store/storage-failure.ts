import { RepoconfError } from "../../../shared/errors.ts";
import { limits } from "../../../shared/limits.ts";
import { systemErrorCode } from "./file-system.ts";
import { DocumentTooLargeError } from "./json-document.ts";

/** A failed write as its caller is told it: the old value stands. */
export function storageFailure(repo: string, error: unknown): RepoconfError {
  if (error instanceof RepoconfError) return error;
  if (error instanceof DocumentTooLargeError) {
    const message = `The repository's file would be larger than ${limits.repositoryFileBytes} bytes (the limit of a repository file).`;
    return new RepoconfError(1107, message, { repo, details: { limit: limits.repositoryFileBytes } });
  }
  const cause = systemErrorCode(error) ?? (error instanceof Error ? error.message : String(error));
  const message = `The change could not be written to the disk (${cause}); nothing was changed. Mend the cause and try again.`;
  return new RepoconfError(1108, message, { repo, details: { cause } });
}
