import type { JsonValue } from "./json.ts";

/** All error codes and their names. 1006 to 1011 are from the specification (spec 7). */
export const errorNames = {
  1006: "No Repository ID Provided",
  1007: "No Configuration Fields Found",
  1008: "No Configuration Field Provided",
  1011: "Unknown Configuration Field",
  1100: "Unauthorized",
  1101: "Malformed Request",
  1102: "Unknown Repository",
  1103: "Invalid Configuration Value",
  1104: "Revision Conflict",
  1105: "Permission Denied",
  1106: "Repository File Broken",
  1107: "Limit Exceeded",
  1108: "Storage Failure",
  1109: "Unknown Operation",
  1110: "History Compacted",
  1111: "Already Exists",
  1112: "Not Found",
  1113: "Shutting Down",
  1114: "Untrusted Value",
  1115: "Outdated Field",
  1116: "Finding",
  1500: "Internal Error",
  // The client's own: these never cross the wire.
  1200: "No Daemon",
  1201: "No Reply",
} as const;

export type ErrorCode = keyof typeof errorNames;

/** An error in a reply's `errors`. `code` and `name` are for programs; `message` tells a person what to do. */
export interface ErrorEntry {
  readonly code: ErrorCode;
  readonly name: string;
  readonly message: string;
  readonly repo?: string;
  /** `<scope>.<field>`, or the text in the request that should have been one. */
  readonly field?: string;
  readonly details?: { readonly [member: string]: JsonValue };
}

export type ErrorContext = Pick<ErrorEntry, "repo" | "field" | "details">;

/** The class of all expected failures. Thrown if a failure ends the operation, collected if several may occur side by side. */
export class RepoconfError extends Error {
  readonly code: ErrorCode;
  readonly repo?: string;
  readonly field?: string;
  readonly details?: { readonly [member: string]: JsonValue };

  constructor(code: ErrorCode, message: string, context: ErrorContext = {}, cause?: unknown) {
    super(message, { cause });
    this.name = errorNames[code];
    this.code = code;
    Object.assign(this, context);
  }

  /** The same error, with a repository. */
  inRepository(repo: string): RepoconfError {
    const { field, details } = this;
    const context = { repo, ...(field !== undefined && { field }), ...(details !== undefined && { details }) };
    return new RepoconfError(this.code, this.message, context, this.cause);
  }

  /** The error as it is sent: without its cause. */
  toEntry(): ErrorEntry {
    return {
      code: this.code,
      name: this.name,
      message: this.message,
      ...(this.repo !== undefined && { repo: this.repo }),
      ...(this.field !== undefined && { field: this.field }),
      ...(this.details !== undefined && { details: this.details }),
    };
  }
}

/** A limit was exceeded (1107). */
export function limitExceeded(what: string, given: number, limit: number, field?: string): RepoconfError {
  const message = `Too many ${what}: ${given}, and the limit is ${limit}.`;
  return new RepoconfError(1107, message, { ...(field !== undefined && { field }), details: { given, limit } });
}

/** Turns anything thrown into a RepoconfError. An unexpected error becomes 1500, and only the log sees its cause. */
export function toRepoconfError(thrown: unknown): RepoconfError {
  if (thrown instanceof RepoconfError) return thrown;
  return new RepoconfError(1500, "Internal error in the daemon. Its log has the details.", {}, thrown);
}
