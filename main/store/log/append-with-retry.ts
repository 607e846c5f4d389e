import { type CommitLog, type Committed, ConflictError, type LogEntry } from "./commit-log.ts";

export interface HeldRepository {
  /** Throws RepoconfError 1102 if another machine removed it. */
  assertPresent(): void;
  conflictApplied(conflict: ConflictError): Promise<void>;
}

/**
 * Appends an entry, which is made again if another machine was first. `held`: the repository, if the caller holds it. `onCommitted` is
 * called before later entries become visible. Throws AppendError, RepoconfError 1102 if another machine removed `held`, or what `make`
 * throws.
 */
export async function appendWithRetry<Entry extends LogEntry>(
  log: CommitLog,
  make: () => Entry | Promise<Entry>,
  held?: HeldRepository,
  onCommitted: (committed: Committed<Entry>) => void = () => {},
): Promise<Committed<Entry>> {
  for (;;) {
    const after = log.newest;
    held?.assertPresent();
    const entry = await make();
    let number = 0;
    const committed = (first: number) => {
      number = first;
      onCommitted({ number, entry });
    };
    try {
      await log.append({ entries: [entry], after, committed });
      return { number, entry };
    } catch (error) {
      if (!(error instanceof ConflictError)) throw error;
      await (held?.conflictApplied(error) ?? error.applied);
    }
  }
}
