import { type CommitLog, type Committed, ConflictError, type LogEntry } from "./commit-log.ts";

/** A repository as the appender of an entry about it needs it. */
export interface HeldRepository {
  /** Throws RepoconfError 1102 if another machine removed it. */
  assertPresent(): void;
  conflictApplied(conflict: ConflictError): Promise<void>;
}

/**
 * Appends an entry; if others append meanwhile, it is made again after `conflictApplied`. Throws AppendError, or what `make` throws.
 */
export async function appendWithRetry<Entry extends LogEntry>(
  log: CommitLog,
  make: () => Entry,
  conflictApplied = (conflict: ConflictError) => conflict.applied,
): Promise<Committed<Entry>> {
  for (;;) {
    const entry = make();
    let number = 0;
    const committed = (first: number) => {
      number = first;
    };
    try {
      await log.append({ entries: [entry], after: log.newest, committed });
      return { number, entry };
    } catch (error) {
      if (!(error instanceof ConflictError)) throw error;
      await conflictApplied(error);
    }
  }
}

/** As `appendWithRetry`, for a caller who holds the repository. Throws RepoconfError 1102 if another machine removed it. */
export function appendHeld<Entry extends LogEntry>(
  log: CommitLog,
  repository: HeldRepository,
  make: () => Entry,
): Promise<Committed<Entry>> {
  const makeIfPresent = () => {
    repository.assertPresent();
    return make();
  };
  return appendWithRetry(log, makeIfPresent, conflict => repository.conflictApplied(conflict));
}
