import { type ConfigPath, joinConfigPath } from "../../../shared/config-path.ts";
import { holdsReference } from "../../../shared/scopes/hidden-values.ts";
import type { LastChange, RecordedChange } from "../types.ts";
import type { JournalRecord, KeptChange } from "./record.ts";

/** From this many fields on, a change's reason is not kept: it may mention all of them, so their names would have to be kept with it. */
const manyFields = 32;

function pathOf({ scope, field }: ConfigPath): string {
  return joinConfigPath(scope, field);
}

/** Characters of all reasons that a checkpoint keeps, those of the newest changes: it would grow by two megabytes for 2,000 fields. */
const mostReasons = 100_000;

/** Adds a change as the last one of its fields: of those without a known one, or of all if it `isNewer`. */
export function addLastChange(known: Map<string, LastChange>, change: RecordedChange, isNewer: boolean): void {
  const { revision, time, actor, source, reason } = change;
  const touched = [...change.changes, ...(change.ofLayer?.changes ?? [])];
  const hasReference = touched.some(({ before, after }) => holdsReference(before) || holdsReference(after));
  const last: LastChange = {
    ...{ revision, time, actor, source },
    paths: [...new Set(touched.map(pathOf))],
    ...(hasReference && { hasReference }),
    ...(reason !== undefined && { reason }),
  };
  for (const path of change.changes.map(pathOf)) if (isNewer || !known.has(path)) known.set(path, last);
}

/**
 * Adds the last change of each field without a known one, from a journal's records, newest first. Reads up to a checkpoint that has those of all
 * records before it, which may not be kept any more.
 */
export async function readLastChanges(
  records: AsyncIterable<JournalRecord>,
  known: Map<string, LastChange> = new Map(),
): Promise<ReadonlyMap<string, LastChange>> {
  for await (const record of records) {
    if (record.kind === "change") {
      // What it changed is not known.
      if (record.source === "recovery") return known;
      addLastChange(known, record, false);
    }
    if (record.kind !== "checkpoint" || record.lastChanges === undefined) continue;
    for (const { fields, paths = fields, ...change } of record.lastChanges)
      for (const path of fields) if (!known.has(path)) known.set(path, { ...change, paths });
    return known;
  }
  return known;
}

/** What a new checkpoint keeps of a journal's records before it, newest first. */
export async function keptBefore(records: AsyncIterable<JournalRecord>): Promise<readonly KeptChange[]> {
  const last = await readLastChanges(records);
  const byRevision = Map.groupBy(last, ([, { revision }]) => revision);
  let room = mostReasons;
  // The newest first.
  return [...byRevision.values()].flatMap(group => {
    const [first] = group;
    if (first === undefined) return [];
    const { paths, reason = "", ...change } = first[1];
    const fields = group.map(([path]) => path);
    const isKept = reason !== "" && paths.length < manyFields && reason.length <= room;
    if (isKept) room -= reason.length;
    return [{ ...change, fields, ...(isKept && { reason, paths }) }];
  });
}
