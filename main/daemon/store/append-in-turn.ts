import { type CommitLog, type Committed, ConflictError, type LogEntry } from "./log/commit-log.ts";

/** Appends an entry whatever others append meanwhile: it is made again then. Throws AppendError, or what `make` throws. */
export async function appendInTurn<Entry extends LogEntry>(
  log: CommitLog,
  make: () => Entry,
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
      await error.taken;
    }
  }
}
