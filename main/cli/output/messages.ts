import { inCommandWords } from "../../../shared/command-words.ts";
import { RepoconfError } from "../../../shared/errors.ts";
import { describeCause } from "../../files/describe-cause.ts";

/** The message for an error. The daemon's messages name operations and arguments of the protocol; this replaces them with commands. */
export function describeError(error: unknown): string {
  if (!(error instanceof RepoconfError)) {
    const cause = describeCause(error);
    const file = error instanceof Error && cause !== error.message ? fileOf(error) : undefined;
    return file === undefined ? cause : `${file}: ${cause}`;
  }
  if (error.code === 1109)
    return "The running daemon is older than this command and does not support this. Run: repoconf restart";
  return inCommandWords(error.message);
}

/** The file that a system's error is about: what a rename does not get past is its target, and people know that name. */
function fileOf(error: Error & { readonly path?: unknown; readonly dest?: unknown }): unknown {
  return error.dest ?? error.path;
}

/** The causes of rejected requests, in words. */
const causes: { readonly [cause: string]: string } = {
  host: "with another host name",
  origin: "from web pages of other sites",
  page: "from browser tabs of an earlier daemon",
  key: "without a valid key",
  limit: "over a limit",
};

/** The counts of `daemon/status` in words: "2 without a valid key, 1 over a limit"; "" if nothing was rejected. */
export function describeRefusals(refusals: { readonly [cause: string]: number }): string {
  const counted = Object.entries(refusals).map(([cause, count]) => `${count} ${causes[cause] ?? `for ${cause}`}`);
  return counted.join(", ");
}
