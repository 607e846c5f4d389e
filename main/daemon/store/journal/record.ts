import { createHash } from "node:crypto";
import { applyConfigEdits, type Config } from "../../../../shared/config.ts";
import type { FileStamp } from "../../../files/durable-text-file.ts";
import type { HistoryRecord, RecordedChange, RecordedDifference } from "../store.ts";

/*
 * A journal is lines of text, each `<hash> <previous hash> <JSON>`. The hash is the SHA-256 of what follows it, so it is
 * the record's checksum, and with the hash of the record before inside, each hash stands for all that came before.
 */

/** A revision, and by what it is told whether the file has it. */
export interface ChangeRecord extends RecordedChange {
  readonly kind: "change";
  /** Hash of the text that the file of the values has with this revision. */
  readonly text: string;
  /**
   * The version of the file that a write of ours was about to replace. A file that is still this very version was not
   * replaced: the daemon died before it could, and nobody was told of the revision.
   */
  readonly replaces?: FileStamp;
}

/** The first record of a segment: what came before need not be read. */
export interface CheckpointRecord {
  readonly kind: "checkpoint";
  readonly revision: number;
  readonly time: string;
  readonly config: Config;
}

export type ForgetRecord = Extract<HistoryRecord, { kind: "forget" }>;
export type JournalRecord = ChangeRecord | CheckpointRecord | ForgetRecord;

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
  return applyConfigEdits(
    config,
    changes.map(({ scope, field, after }) => ({ scope, field, value: after })),
  );
}
