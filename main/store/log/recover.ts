import type { LogNumber } from "../types.ts";
import type { Committed, LogEntry } from "./commit-log.ts";
import { type FoundSegment, type Frame, type LogOrigin, parseFrame, type SegmentFile } from "./frame.ts";

/** A segment that is no longer written to. */
export interface ClosedSegment {
  readonly path: string;
  readonly bytes: number;
  /** The number of its last entry. */
  end: LogNumber;
}

/** The result of reading the segments of a log. */
export interface Recovered {
  /** Undefined if there is no log yet. */
  readonly id: string | undefined;
  /** Without what histories have by now. */
  readonly origin: LogOrigin;
  /** Whether its newest file is not the one that was written. */
  readonly isCopy: boolean;
  /** The newest released number: the histories contain every entry up to it. */
  readonly released: LogNumber;
  /** The entries that the histories may lack, in order. */
  readonly entries: readonly Committed[];
  /** The newest number that was ever assigned, even if its entry is lost. */
  readonly newest: LogNumber;
  /** Numbers of entries that were durable, and are missing or damaged. */
  readonly lost: readonly LogNumber[];
  readonly segments: readonly ClosedSegment[];
}

const newline = 0x0a;

/**
 * Reads the valid entries from the segments, the oldest first. Lines after the number that the next segment begins with were never
 * acknowledged; nor was an incomplete line, unless a later line says that its position was durable. Pure.
 */
export function recover(segments: readonly FoundSegment[]): Recovered {
  const read = segments.map(({ bytes, ...place }) => ({ ...place, bytes: bytes.length, frames: [...framesOf(bytes)] }));
  // A renewal has all entries of earlier logs that are needed.
  const id = read.flatMap(({ frames }) => frames).at(-1)?.log;
  const started = read.map(({ frames, ...place }) => ({ ...place, frames: frames.filter(({ log }) => log === id) }));
  let durable = 0;
  let released = 0;
  let origin: LogOrigin = { predecessors: [], lost: [] };
  let isCopy = false;
  for (const { frames, file } of started)
    for (const { content, durable: known } of frames) {
      durable = Math.max(durable, content.kind === "segment" ? content.after : known);
      if (content.kind === "checkpoint") released = Math.max(released, content.through);
      if (content.kind !== "segment") continue;
      origin = content.origin ?? origin;
      isCopy = content.file !== undefined && isOther(content.file, file);
    }
  const entries: Committed[] = [];
  const lost: LogNumber[] = [];
  const closed: ClosedSegment[] = [];
  const beginnings = started.map(({ frames }) => beginningOf(frames));
  // Entries before the oldest segment were released.
  let newest = beginnings.find(after => after !== undefined) ?? released;
  for (const [index, { path, bytes, frames }] of started.entries()) {
    const limit = beginnings.slice(index + 1).find(after => after !== undefined) ?? Number.POSITIVE_INFINITY;
    for (const frame of frames) {
      if (frame.number > limit || frame.number <= newest) continue;
      if (frame.content.kind === "gap") newest = frame.number;
      if (!isEntry(frame.content)) continue;
      // A line before this one is missing and was never acknowledged, so the write of both never completed.
      if (frame.number > newest + 1 && newest + 1 > durable) break;
      for (let number = newest + 1; number < frame.number; number++) lost.push(number);
      newest = frame.number;
      entries.push({ number: frame.number, entry: frame.content });
    }
    closed.push({ path, bytes, end: newest });
  }
  for (let number = newest + 1; number <= durable; number++) lost.push(number);
  return {
    id,
    origin: { ...origin, lost: origin.lost.filter(number => number > released) },
    isCopy,
    released,
    entries: entries.filter(({ number }) => number > released),
    newest: Math.max(newest, durable),
    lost: lost.filter(number => number > released),
    segments: closed,
  };
}

/** Inodes are used again. */
function isOther(recorded: SegmentFile, { inode, created }: SegmentFile): boolean {
  return recorded.inode !== inode || (recorded.created !== 0 && created !== 0 && recorded.created !== created);
}

/** The whole lines with valid checksums. */
function* framesOf(bytes: Buffer): Generator<Frame> {
  let start = 0;
  for (let end = bytes.indexOf(newline); end !== -1; end = bytes.indexOf(newline, start)) {
    const frame = parseFrame(bytes.subarray(start, end));
    if (frame !== undefined) yield frame;
    start = end + 1;
  }
}

/** The number after which a segment continues, from its first line. */
function beginningOf([first]: readonly Frame[]): LogNumber | undefined {
  return first && (isEntry(first.content) ? first.number - 1 : first.number);
}

function isEntry(content: Frame["content"]): content is LogEntry {
  return content.kind !== "segment" && content.kind !== "checkpoint" && content.kind !== "gap";
}
