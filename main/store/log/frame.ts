import { crc32 } from "node:zlib";
import type { LogNumber, Position } from "../types.ts";
import type { Committed, LogEntry } from "./commit-log.ts";

/*
 * A segment of the log is lines of text, each `<checksum> <log> <number> <durable> <JSON>`. If a line is incomplete, the later lines show
 * whether it was ever acknowledged: if one says that its number was durable, the line is damaged, else it is a torn write.
 */

/** The first line of a segment: lines of earlier segments after this number are not valid. */
interface SegmentHeader {
  readonly kind: "segment";
  readonly after: LogNumber;
  /** Both are absent in logs of early checkouts. */
  readonly file?: SegmentFile;
  readonly origin?: LogOrigin;
}

/** What tells a segment from a copy of it. */
export interface SegmentFile {
  readonly inode: number;
  /** When it was created, in milliseconds; 0 if the file system does not know. */
  readonly created: number;
}

/** A file of the log as it was found. */
export interface FoundSegment {
  readonly path: string;
  readonly bytes: Buffer;
  readonly file: SegmentFile;
}

/** How a log began: under a new id, if it continues others. */
export interface LogOrigin {
  /** The logs that it continues, each as its last position. */
  readonly predecessors: readonly Position[];
  /** Entries of them that are lost, as far as histories may lack them. */
  readonly lost: readonly LogNumber[];
  /** If it is a copy, the last entry that it had then. */
  readonly copiedAt?: LogNumber;
}

/** After a renewal: numbers up to this line's have no entries, or have them before it. */
interface Gap {
  readonly kind: "gap";
}

/** Synced histories contain every entry up to this number. */
interface Checkpoint {
  readonly kind: "checkpoint";
  readonly through: LogNumber;
}

export interface Frame {
  readonly log: string;
  /** The number of the entry; a header and a checkpoint have the number of the last entry before them. */
  readonly number: LogNumber;
  /** The newest number that was durable before the line was written. */
  readonly durable: LogNumber;
  readonly content: LogEntry | SegmentHeader | Checkpoint | Gap;
}

export function formatFrame({ log, number, durable, content }: Frame): string {
  const rest = `${log} ${number} ${durable} ${JSON.stringify(content)}`;
  return `${checksum(rest)} ${rest}\n`;
}

/** What a segment begins with. */
interface Header {
  readonly id: string;
  readonly file: SegmentFile;
  readonly origin: LogOrigin;
  /** The newest number, and the newest released one. */
  readonly newest: LogNumber;
  readonly released: LogNumber;
  /** Entries that a renewed log takes over, in order. */
  readonly carried: readonly Committed[];
}

/** The first lines of a segment. */
export function formatHeader({ id, file, origin, newest, released, carried }: Header): string {
  const line = (number: LogNumber, content: Frame["content"]) =>
    formatFrame({ log: id, number, durable: newest, content });
  let last = (carried[0]?.number ?? newest + 1) - 1;
  let text = line(last, { kind: "segment", after: last, file, origin });
  text += line(last, { kind: "checkpoint", through: released });
  for (const { number, entry } of carried) {
    if (number > last + 1) text += line(number - 1, { kind: "gap" });
    text += line(number, entry);
    last = number;
  }
  return last < newest ? text + line(newest, { kind: "gap" }) : text;
}

const checksumLength = 8;
const space = 0x20;

/** Parses a line (without its line end); undefined if it is damaged or incomplete, or nothing that `formatFrame` writes. */
export function parseFrame(line: Buffer): Frame | undefined {
  if (line[checksumLength] !== space) return undefined;
  const rest = line.subarray(checksumLength + 1);
  if (line.toString("latin1", 0, checksumLength) !== checksum(rest)) return undefined;
  const { log = "", number, durable, json = "" } = form.exec(rest.toString("utf8"))?.groups ?? {};
  try {
    const content: Frame["content"] = JSON.parse(json);
    return { log, number: Number(number), durable: Number(durable), content };
  } catch {
    // The log of an archive may have been made by anyone, who can also make checksums.
    return undefined;
  }
}

const form = /^(?<log>\S+) (?<number>\d+) (?<durable>\d+) (?<json>.*)$/s;

function checksum(text: string | Buffer): string {
  return crc32(text).toString(16).padStart(checksumLength, "0");
}
