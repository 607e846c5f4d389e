import {
  type ChangeRecord,
  isComplete,
  type JournalHead,
  type JournalRecord,
  type TextRecord,
} from "../history/record.ts";
import { JournalDamageError } from "../history/segment.ts";
import type { Commit, CommitLog, Committed } from "../log/commit-log.ts";
import { staleEditAge } from "./merge-edit.ts";

/** A history, to read. */
interface ReadHistory {
  readonly head: JournalHead | undefined;
  backward(upTo: number): AsyncGenerator<JournalRecord>;
}

interface RecentTexts {
  readonly since: number;
  readonly records: readonly ChangeRecord[];
}

/** The records of a history, newest first, as far as they can be read. Throws the system's error. */
export async function* readableRecords(journal: ReadHistory): AsyncGenerator<JournalRecord> {
  try {
    yield* journal.backward(journal.head?.revision ?? 0);
  } catch (error) {
    if (!(error instanceof JournalDamageError)) throw error;
  }
}

/**
 * The texts of the file within `staleEditAge` before its newest write, back to the last one that is recorded as complete. `since`: the
 * revision of the oldest one. `records`: the changes from there to the newest text.
 */
export async function recentTexts(journal: ReadHistory): Promise<RecentTexts | undefined> {
  const newest = journal.head?.textRecord;
  if (newest === undefined || isComplete(newest)) return undefined;
  const writtenAt = ({ stamp }: TextRecord) => stamp?.mtimeMs ?? 0;
  let since = newest.replacedRevision;
  let isRecent = true;
  // A text may have been in place until the write after the one that replaced it began: a write can take long.
  let later = newest;
  const records: ChangeRecord[] = [];
  for await (const record of readableRecords(journal)) {
    if (record.kind === "text") {
      isRecent &&= !isComplete(record) && writtenAt(later) >= writtenAt(newest) - staleEditAge;
      later = record;
      if (isRecent) since = Math.min(since, record.replacedRevision);
    } else if (!isRecent && record.revision <= since) break;
    else if (record.kind === "change" && record.revision <= newest.fileRevision) records.push(record);
  }
  return { since, records: records.filter(({ revision }) => revision > since) };
}

/**
 * In a copy, the record of a text that is older than the newest one but within what the log keeps, or later than its end: the file may be
 * from the moment when it was copied, and the history from a later one. Somebody put back an even older text by hand.
 */
export async function earlierText(
  journal: ReadHistory,
  hash: string,
  { unmirrored, log }: { readonly unmirrored: readonly Committed<Commit>[]; readonly log: CommitLog },
): Promise<TextRecord | undefined> {
  const { copiedAt = 0 } = log;
  const oldest = Math.min(copiedAt, unmirrored[0]?.number ?? copiedAt);
  for await (const record of readableRecords(journal)) {
    if (record.kind !== "text") continue;
    if (record.textHash === hash) return record;
    // This was the file's text at that entry.
    if (log.numberOf(record.position) < oldest) return undefined;
  }
  return undefined;
}
