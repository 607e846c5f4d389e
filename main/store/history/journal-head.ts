import type { Position } from "../types.ts";
import type { JournalRecord, TextRecord } from "./record.ts";

/** One file of a journal, `<id>.<generation>-<revision>.jsonl`: a checkpoint and the revisions after it. */
export interface Segment {
  readonly path: string;
  /** Increases when the whole journal is rewritten; older generations are ignored. */
  readonly generation: number;
  /** The revision of its checkpoint. */
  readonly revision: number;
}

/** The end of a journal. */
export interface JournalHead {
  readonly segment: Segment | undefined;
  readonly bytes: number;
  readonly hash: string;
  readonly revision: number;
  readonly lineage: string;
  /** The newest record of the file's text; undefined if it cannot be trusted. */
  readonly textRecord?: TextRecord;
  /** The position of the newest revision in the log, or a later one; undefined if unknown. */
  readonly position?: Position;
  /** After damage at the end, until a recovery: the greatest revision that may have been given. */
  readonly assigned?: number;
}

export function endOf({ generation, revision }: Segment, bytes: number): string {
  return `${generation}-${revision}:${bytes}`;
}

/** The head after appending records. */
export function headAfter(records: readonly JournalRecord[], before: JournalHead): JournalHead {
  const damage = records.findLast(record => record.kind === "damage");
  const later = damage === undefined ? records : records.slice(records.indexOf(damage) + 1);
  const ofValues = later.filter(record => record.kind === "change" || record.kind === "text");
  // After damage it is not known what the file and the history had.
  const known: Partial<JournalHead> & Pick<JournalHead, "lineage"> =
    damage === undefined ? before : { lineage: damage.lineage, assigned: damage.assigned };
  const { segment, bytes, hash } = before;
  const textRecord = ofValues.findLast(record => record.kind === "text") ?? known.textRecord;
  const position = ofValues.findLast(record => record.position !== undefined)?.position ?? known.position;
  const isRecovered = ofValues.some(record => record.kind === "change" && record.recovered !== undefined);
  return {
    ...{ segment, bytes, hash },
    revision: records.at(-1)?.revision ?? before.revision,
    lineage: ofValues.findLast(record => record.lineage !== undefined)?.lineage ?? known.lineage,
    ...(textRecord !== undefined && { textRecord }),
    ...(position !== undefined && { position }),
    ...(known.assigned !== undefined && !isRecovered && { assigned: known.assigned }),
  };
}
