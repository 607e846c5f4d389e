import { type ErrorCode, RepoconfError } from "../../../shared/errors.ts";
import { BusyError } from "../socket/fairness/key-budget.ts";

/** Codes that no request fails with: those of `health`, and the client's own. */
type OtherCode = 1115 | 1116 | 1200 | 1201;

/**
 * The HTTP status of a one-shot request whose operation did not run, by the code of its error. 503 means that nothing was done: some
 * clients repeat such a request by themselves.
 */
export const statuses: { readonly [Code in Exclude<ErrorCode, OtherCode>]: number } = {
  1006: 400,
  1007: 404,
  1008: 400,
  1011: 404,
  1100: 401,
  1101: 400,
  1102: 404,
  1103: 400,
  1104: 409,
  1105: 403,
  1106: 409,
  1107: 413,
  1108: 500,
  1109: 404,
  1110: 410,
  1111: 409,
  1112: 404,
  1113: 503,
  1114: 409,
  1500: 500,
};

/** When the status says more than the code. */
export const statusesByCause = {
  405: { code: 1101, cause: "the method is not `POST`" },
  408: { code: 1107, cause: "the body, or the header, did not arrive in time" },
  429: { code: 1107, cause: "too much of this key runs or is open at once; retry later" },
} as const;

/** A one-shot request that is refused before its operation is looked for. */
export class HttpError extends RepoconfError {
  readonly status: keyof typeof statusesByCause;

  constructor(status: keyof typeof statusesByCause, message: string) {
    super(statusesByCause[status].code, message);
    this.status = status;
  }
}

export function statusOf(error: RepoconfError): number {
  if (error instanceof HttpError) return error.status;
  if (error instanceof BusyError) return 429;
  const byCode: { readonly [code: number]: number } = statuses;
  return byCode[error.code] ?? 500;
}
