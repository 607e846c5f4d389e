import type { Config, ConfigEdit } from "../../../shared/config.ts";
import { diffConfigs } from "../../../shared/config-diff.ts";
import { applyCommit } from "../apply-commit.ts";
import { type ChangeRecord, type JournalHead, recordedBy } from "../history/record.ts";
import { type Commit, type CommitLog, type Committed, positionOf } from "../log/commit-log.ts";
import { activeEditsOf } from "../log/document-commits.ts";
import type { CommittedState } from "../types.ts";
import type { MirroredCommit } from "./starting-point.ts";
import { UnrecordedEdits } from "./unrecorded-edits.ts";

interface ReplayOptions {
  readonly repo: string;
  /** Commits that the log has and the journal may lack. */
  readonly unmirrored: readonly Committed<Commit>[];
  readonly log: CommitLog;
}

/** The log's commits after the journal's end. */
export interface Replayed {
  /** Those that follow the journal's end without a gap. */
  readonly tail: readonly MirroredCommit[];
  /** The revisions among all of them. */
  readonly records: readonly ChangeRecord[];
  /** The values after the commits; undefined if there are none. */
  readonly valid: Config | undefined;
  readonly newest: number;
  readonly lineage: string;
  /** Edits that the file should have and that no revision records: all of them, and those committed since the newest text. */
  readonly unrecorded: readonly ConfigEdit[];
  readonly unrecordedSince: readonly ConfigEdit[];
  /** Revisions between the journal's end and the newest one are lost. */
  readonly isGap: boolean;
  /** How many revisions precede the first one of a journal that is still empty. */
  readonly beginsBehind: number;
}

/**
 * Replays a lineage on the values that the history has. An entry that the history has is skipped. After a gap, the values of later
 * entries still count, but they are no revisions of the history: what was lost changed other fields.
 */
export function replay(
  head: JournalHead | undefined,
  written: Config,
  { repo, unmirrored, log }: ReplayOptions,
): Replayed {
  const unrecorded = new UnrecordedEdits(head?.textRecord?.unrecorded);
  const unrecordedSince = new UnrecordedEdits();
  const both = [unrecorded, unrecordedSince];
  const recordedThrough = log.numberOf(head?.textRecord?.position);
  const tail: MirroredCommit[] = [];
  const records: ChangeRecord[] = [];
  let state: CommittedState | undefined;
  let newest = head?.revision ?? 0;
  let lineage = head?.segment === undefined ? undefined : head.lineage;
  let isGap = false;
  let beginsBehind = 0;
  for (const { number, entry } of unmirrored) {
    const document = entry.documents.find(one => one.repo === repo);
    if (document === undefined || number <= recordedThrough) continue;
    if (document.begins && document.revision > newest) lineage = document.lineage;
    else if (lineage !== undefined && document.lineage !== lineage) continue;
    lineage ??= document.lineage;
    // Earlier commits were made by another machine, or are no longer kept.
    if (document.begins && head?.segment === undefined && tail.length === 0) {
      newest = Math.max(newest, document.revision - 1);
      beginsBehind = newest;
    }
    // It includes the commits in between.
    if (document.isWhole && document.revision > newest) {
      newest = document.revision - 1;
      isGap = false;
    }
    if (document.revision > newest) {
      isGap ||= document.revision > newest + 1;
      state ??= { lineage: "", revision: 0, position: undefined, target: written, valid: written };
      const before = { ...state, revision: document.revision - 1 };
      const position = positionOf({ number, entry }, log.id);
      const { record, edits, ...applied } = applyCommit(before, entry, document, { position });
      if (record !== undefined) records.push(withLacking(record, before.valid));
      if (!isGap) tail.push({ number, record, edits });
      for (const one of both) one.commit(edits, recordedBy(record, edits));
      state = applied.state;
      newest = document.revision;
    } else if (document.revision === newest && document.activeEdits?.length === 0) {
      // The file had a value that could not become active.
      const { edits } = document;
      if (!isGap) tail.push({ number, record: undefined, edits });
      for (const one of both) one.commit(edits, []);
    } else {
      // The history has the revision, but not the edits that no revision records.
      for (const one of both) one.commit(document.edits, activeEditsOf(document));
    }
  }
  const edits = { unrecorded: unrecorded.list, unrecordedSince: unrecordedSince.list };
  return { tail, records, valid: state?.valid, newest, lineage: lineage ?? "", ...edits, isGap, beginsBehind };
}

/** A recovery that the history lacks: what it had before is what the file may lack. */
function withLacking(record: ChangeRecord, before: Config): ChangeRecord {
  const { recovered } = record;
  if (recovered === undefined) return record;
  return { ...record, recovered: { ...recovered, lacking: diffConfigs(before, recovered.values) } };
}
