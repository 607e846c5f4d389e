import { createHash } from "node:crypto";
import { applyConfigEdits, type Config, type ConfigEdit } from "../../../shared/config.ts";
import { editsOf, type StoredDifference } from "../../../shared/config-diff.ts";
import type { ConfigPath } from "../../../shared/config-path.ts";
import type { FileStamp } from "../../files/durable-text-file.ts";
import type { HistoryRecord, LastChange, Position, RecordedChange, RecordedDifference } from "../types.ts";

/*
 * A journal is lines of text, each `<hash> <previous hash> <JSON>`. The hash is the SHA-256 of the rest of the line, and so covers all
 * earlier records too.
 */

/** A revision. */
export interface ChangeRecord extends RecordedChange {
  readonly kind: "change";
  /** Identifies the repository among all that ever had this id. */
  readonly lineage?: string;
  /** Changed fields whose value in the file did not change, only whether it is active: by a schema, by trust, or by another field. */
  readonly unedited?: readonly ConfigPath[];
  /** Only of source `recovery`, which lists no changes: all values after it, and what the file lacks of them. */
  readonly recovered?: { readonly values: Config; readonly lacking: readonly StoredDifference[] };
}

/**
 * The file has this text, or is about to have it: a write records it before it replaces the file. A start tells our own write from an
 * edit by it. If both hashes are the same, the file is known to have the text.
 */
export interface TextRecord {
  readonly kind: "text";
  readonly lineage?: string;
  /** The revision of the previous record. */
  readonly revision: number;
  /** The revision whose values the text contains; later ones are not written to the file yet. */
  readonly fileRevision: number;
  readonly textHash: string;
  /** The stamp of the file with this text; absent if there is none. */
  readonly stamp?: FileStamp;
  /** The revision, the hash and the stamp of the text that it replaces; no stamp if there was no file. */
  readonly replacedRevision: number;
  readonly replacedHash: string;
  readonly replacedStamp?: FileStamp;
  /** The active values are exactly those of the text. */
  readonly isFullyActive: boolean;
  /** Edits that were meant for the replaced text too, and that no revision records. */
  readonly unrecorded?: readonly ConfigEdit[];
  /** The journal contains everything up to this position of the log. */
  readonly position?: Position;
}

/** Whether the write of the text is recorded as complete: the text that it replaced cannot come back. */
export function isComplete({ textHash, replacedHash }: TextRecord): boolean {
  return textHash === replacedHash;
}

/** The first record of a segment, with the whole configuration: earlier segments need not be read. */
export interface CheckpointRecord {
  readonly kind: "checkpoint";
  readonly revision: number;
  readonly time: string;
  readonly config: Config;
  /** Absent in journals of earlier versions, and after damage. */
  readonly lastChanges?: readonly KeptChange[];
}

/** The last change of some fields before a checkpoint. It stays known when the history no longer goes back that far. */
export interface KeptChange extends Omit<LastChange, "paths"> {
  /** `<scope>.<field>`. */
  readonly fields: readonly string[];
  /** With a reason: all fields of the change. */
  readonly paths?: readonly string[];
}

/** Records after this one were damaged, and are cut off. They may have been revisions up to `assigned`. */
export interface DamageRecord {
  readonly kind: "damage";
  readonly lineage: string;
  /** The revision of the previous record. */
  readonly revision: number;
  readonly assigned: number;
}

export type ForgetRecord = Extract<HistoryRecord, { kind: "forget" }>;
export type JournalRecord = ChangeRecord | TextRecord | CheckpointRecord | ForgetRecord | DamageRecord;

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
  readonly textRecord?: TextRecord | undefined;
  /** The position of the newest revision in the log, or a later one; undefined if unknown. */
  readonly position?: Position | undefined;
  /** After damage at the end, until a recovery: the greatest revision that may have been given. */
  readonly assigned?: number | undefined;
}

export interface JournalLine {
  readonly record: JournalRecord;
  readonly hash: string;
  /** The hash of the previous record. */
  readonly previous: string;
}

/** The previous hash of the first record in a journal. */
export const noHash = "-";

export function hashText(text: string): string {
  return createHash("sha256").update(text).digest("base64url");
}

/** Formats records as lines, chained to the record with the hash `previous`. Returns the text and the last hash. */
export function formatLines(
  records: readonly JournalRecord[],
  previous: string,
): { readonly text: string; readonly hash: string } {
  let text = "";
  let hash = previous;
  for (const record of records) {
    // Invalid UTF-8 is read as this character, so a line must never contain it, or damage could go unnoticed.
    const content = `${hash} ${JSON.stringify(record).replaceAll("\ufffd", "\\ufffd")}`;
    hash = hashText(content);
    text += `${hash} ${content}\n`;
  }
  return { text, hash };
}

/** Parses a line (without its line end); undefined if it is damaged or incomplete. */
export function parseLine(line: string): JournalLine | undefined {
  const end = line.indexOf(" ");
  const hash = line.slice(0, end);
  const content = line.slice(end + 1);
  if (end === -1 || hashText(content) !== hash) return undefined;
  const split = content.indexOf(" ");
  // A line with a valid checksum was written by `formatLines`, so parsing cannot fail.
  return { record: JSON.parse(content.slice(split + 1)) as JournalRecord, hash, previous: content.slice(0, split) };
}

export function applyChanges(config: Config, changes: readonly RecordedDifference[]): Config {
  return applyConfigEdits(config, editsOf(changes));
}

/** The fields whose edits a commit with these edits records: a recovery all of them, another one those that changed active values. */
export function recordedBy(
  record: ChangeRecord | undefined,
  edits: readonly ConfigEdit[],
): readonly (ConfigEdit | RecordedDifference)[] {
  return record?.recovered === undefined ? (record?.changes ?? []) : edits;
}

/** The configuration after these records, oldest first. */
export function valuesAfter(config: Config, records: readonly JournalRecord[]): Config {
  let known = config;
  let changes: RecordedDifference[] = [];
  for (const record of records) {
    const values = record.kind === "checkpoint" ? record.config : record.kind === "change" && record.recovered?.values;
    if (values) [known, changes] = [values, []];
    else if (record.kind === "change") changes.push(...record.changes);
  }
  return changes.length === 0 ? known : applyChanges(known, changes);
}

/** The head after appending records. */
export function headAfter(records: readonly JournalRecord[], before: JournalHead): JournalHead {
  let { revision, lineage, textRecord, position, assigned } = before;
  for (const record of records) {
    ({ revision } = record);
    if (record.kind === "damage") {
      ({ lineage, assigned } = record);
      // It is not known what the file and the history had.
      textRecord = undefined;
      position = undefined;
    }
    if (record.kind !== "change" && record.kind !== "text") continue;
    lineage = record.lineage ?? lineage;
    position = record.position ?? position;
    if (record.kind === "text") textRecord = record;
    else if (record.recovered !== undefined) assigned = undefined;
  }
  return { ...before, revision, lineage, textRecord, position, assigned };
}
