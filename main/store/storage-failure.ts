import { RepoconfError } from "../../shared/errors.ts";
import { limits } from "../../shared/limits.ts";
import { repositoryOfDocument } from "../../shared/repository-id.ts";
import { systemErrorCode } from "../files/file-system.ts";
import { DocumentTooLargeError, ForeignEditError } from "../files/json-document.ts";
import { AppendError } from "./log/commit-log.ts";

/** The error for the caller of a failed write, which leaves the old value active. */
export function storageFailure(id: string, error: unknown): RepoconfError {
  const repo = repositoryOfDocument(id);
  if (error instanceof RepoconfError) return error;
  if (error instanceof DocumentTooLargeError) {
    const { limit } = error;
    const whose = limit === limits.repositoryFileBytes ? "the limit of a repository file" : "as much as keys may fill";
    const message = `The repository's file would be larger than ${limit} bytes (${whose}).`;
    return new RepoconfError(1107, message, { repo, details: { limit } });
  }
  if (error instanceof ForeignEditError) {
    const message =
      "Another program keeps changing the repository's file, so it could not be written. Stop that program, or retry.";
    return new RepoconfError(1108, message, { repo, details: { cause: "foreign edits" } });
  }
  if (error instanceof AppendError && error.cause instanceof RepoconfError) return error.cause.inRepository(repo);
  if (error instanceof AppendError && error.isOutcomeUnknown) {
    const cause = causeOf(error.cause);
    const message = `It is not known whether the change was kept (${cause}): the log cannot be written. Fix the cause, then read the value again.`;
    return new RepoconfError(1108, message, { repo, details: { cause, outcome: "unknown" } });
  }
  const cause = causeOf(error instanceof AppendError ? error.cause : error);
  const place = error instanceof AppendError ? "put into the log" : "written to disk";
  const message = `The change could not be ${place} (${cause}); nothing was changed. Fix the cause and retry.`;
  return new RepoconfError(1108, message, { repo, details: { cause } });
}

/** The error for requests that need the journal: without it, revision numbers and values are unknown. */
export function unreadableJournal(id: string, error: unknown): RepoconfError {
  const repo = repositoryOfDocument(id);
  const cause = causeOf(error);
  const message = `The journal of this repository cannot be read (${cause}), so changes are refused and its history cannot be shown. Fix the cause and retry.`;
  return new RepoconfError(1108, message, { repo, details: { cause } });
}

/** Why a call failed: the system's error code if there is one. */
export function causeOf(error: unknown): string {
  if (error instanceof RepoconfError && typeof error.details?.["cause"] === "string") return error.details["cause"];
  return systemErrorCode(error) ?? (error instanceof Error ? error.message : String(error));
}
