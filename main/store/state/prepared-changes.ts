import type { Config, ConfigEdit } from "../../../shared/config.ts";
import type { DocumentTooLargeError } from "../../files/json-document.ts";
import { AppendError, type Commit, type CommitLog } from "../log/commit-log.ts";
import type { LogNumber } from "../types.ts";
import type { Decided } from "./decide-batch.ts";

/** Changes of one repository that are decided. */
export interface DecidedChanges {
  readonly decided: readonly Decided[];
  /** The changes for the file. */
  readonly edits: readonly ConfigEdit[];
  /** The values that the file is to have after them. */
  readonly config: Config;
  /** The last log entry that the decision is based on. */
  readonly after: LogNumber;
  /** The commits for the log, one for each change that edits anything. */
  readonly commits: readonly Commit[];
  /**
   * Trusts the commands among the edits, durably, so that a set that is acknowledged is trusted after a crash, too. As what they are
   * now: a new schema may make a command of a text later. Throws RepoconfError 1108.
   */
  trust(): Promise<void>;
  /** Call it if nothing was appended. */
  distrust(): void;
  /** Makes them visible and publishes them. `first`: the first one's log entry. `isPart`: other repositories have more of that entry. */
  commit(first: LogNumber, isPart?: boolean): void;
}

export interface PreparedChanges extends DecidedChanges {
  /** That the file would exceed a size limit: then they must not be appended. */
  readonly tooLarge: DocumentTooLargeError | undefined;
}

/** Appends what is committed together, with trust in its commands. Throws RepoconfError 1107 or 1108, AppendError or ConflictError. */
export async function appendPrepared(
  log: CommitLog,
  changes: readonly PreparedChanges[],
  entries: readonly Commit[],
  committed: (first: LogNumber) => void,
): Promise<void> {
  for (const { tooLarge } of changes) if (tooLarge !== undefined) throw tooLarge;
  try {
    for (const prepared of changes) await prepared.trust();
    const after = Math.min(...changes.map(prepared => prepared.after));
    if (entries.length > 0) await log.append({ entries, after, committed });
  } catch (error) {
    const mayBeAppended = error instanceof AppendError && error.isOutcomeUnknown;
    if (!mayBeAppended) for (const prepared of changes) prepared.distrust();
    throw error;
  }
}
