import { createHash } from "node:crypto";
import { applyConfigEdits, type Config, type ConfigEdit } from "../../../../shared/config.ts";
import type { FileStamp } from "../../../files/durable-text-file.ts";
import { editsOf } from "../document-commits.ts";
import type { Position } from "../log/commit-log.ts";
import type { HistoryRecord, RecordedChange, RecordedDifference } from "../store.ts";

/*
 * A journal is lines of text, each `<hash> <previous hash> <JSON>`. The hash is the SHA-256 of what follows it, so it is
 * the record's checksum, and with the hash of the record before inside, each hash stands for all that came before.
 *
 * The records below are what that JSON holds, so their members keep the names that are on users' disks: `text` and `over` are
 * hashes of texts, and `untold` has edits that no revision records.
 */

/** A revision. */
export interface ChangeRecord extends RecordedChange {
  readonly kind: "change";
  /** Which of the repositories that had this id. */
  readonly lineage?: string;
  /** Before format 3, which has text records: hash of the text that the file of the values has with this revision. */
  readonly text?: string;
  /**
   * Before format 3: the version of the file that a write was about to replace. If the file still has this version, it was not
   * replaced: the daemon ended before that, and the revision was never acknowledged.
   */
  readonly replaces?: FileStamp;
}

/** The file of the values has this text, or is about to have it: from this a start distinguishes our own text from a hand edit. */
export interface TextRecord {
  readonly kind: "text";
  readonly lineage?: string;
  /** Of the record before this one. */
  readonly revision: number;
  /** The revision whose values the text holds; later ones are on their way into the file. */
  readonly of: number;
  /** Hash of the text. */
  readonly text: string;
  /** Hash of the text that it replaces, and the revision whose values that one holds. */
  readonly over: string;
  readonly since: number;
  /** The active values are those of the text, no less and no others. */
  readonly isWhole: boolean;
  /** Edits that the replaced text should have had besides, and that no revision records. */
  readonly untold?: readonly ConfigEdit[];
  /** Everything up to this position of the log is recorded. */
  readonly through?: Position;
}

/** The first record of a segment: what came before need not be read. */
export interface CheckpointRecord {
  readonly kind: "checkpoint";
  readonly revision: number;
  readonly time: string;
  readonly config: Config;
}

export type ForgetRecord = Extract<HistoryRecord, { kind: "forget" }>;
export type JournalRecord = ChangeRecord | TextRecord | CheckpointRecord | ForgetRecord;

/** A record as it stands in a line. */
export interface JournalLine {
  readonly record: JournalRecord;
  readonly hash: string;
  /** Hash of the record before it. */
  readonly previous: string;
}

/** What the first record of all has for the hash before it. */
export const noHash = "-";

export function hashText(text: string): string {
  return createHash("sha256").update(text).digest("base64url");
}

/** The records as lines, chained to the record with the hash `previous`; and the last one's hash. */
export function formatLines(
  records: readonly JournalRecord[],
  previous: string,
): { readonly text: string; readonly hash: string } {
  let text = "";
  let hash = previous;
  for (const record of records) {
    // Bytes that are no UTF-8 are read as this character, so it must stand for nothing else.
    const content = `${hash} ${JSON.stringify(record).replaceAll("\ufffd", "\\ufffd")}`;
    hash = hashText(content);
    text += `${hash} ${content}\n`;
  }
  return { text, hash };
}

/** Undefined if the line (without its line end) is not as it was written. */
export function parseLine(line: string): JournalLine | undefined {
  const end = line.indexOf(" ");
  const hash = line.slice(0, end);
  const content = line.slice(end + 1);
  if (end === -1 || hashText(content) !== hash) return undefined;
  const split = content.indexOf(" ");
  // What has its checksum was written by formatLines.
  return { record: JSON.parse(content.slice(split + 1)) as JournalRecord, hash, previous: content.slice(0, split) };
}

/** The configuration after a change. */
export function applyChanges(config: Config, changes: readonly RecordedDifference[]): Config {
  return applyConfigEdits(config, editsOf(changes));
}
