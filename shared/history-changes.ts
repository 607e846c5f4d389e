import type { HistoryEntry } from "./protocol.ts";

type Numbered = Pick<HistoryEntry, "revision" | "together">;

/** The entries of one change, the newest first: a revision for each layer that it changed. */
export type ChangeEntries<Entry> = readonly [newest: Entry, ...older: Entry[]];

/** The entries of a history, the newest first, by changes: a set of shared and local values makes a revision of each. */
export function changesIn<Entry extends Numbered>(entries: readonly Entry[]): readonly ChangeEntries<Entry>[] {
  const changes: [Entry, ...Entry[]][] = [];
  for (const entry of entries) {
    const last = changes.at(-1);
    const newer = last?.at(-1);
    if (last !== undefined && newer !== undefined && areTogether(newer, entry)) last.push(entry);
    else changes.push([entry]);
  }
  return changes;
}

function areTogether(newer: Numbered, older: Numbered): boolean {
  const isNext = newer.revision === older.revision + 1;
  return isNext && (newer.together === older.revision || older.together === newer.revision);
}

/** Such as "revision 4" or "revisions 4 and 5". */
export function nameRevisions([newest, ...older]: ChangeEntries<Numbered>): string {
  const first = older.at(-1)?.revision;
  if (first === undefined) return `revision ${newest.revision}`;
  return `revisions ${first} ${older.length === 1 ? "and" : "to"} ${newest.revision}`;
}
