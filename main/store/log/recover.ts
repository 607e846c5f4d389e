import type { LogNumber } from "../types.ts";
import type { Committed, LogEntry } from "./commit-log.ts";
import { type Frame, type LogOrigin, parseFrame, type SegmentFile } from "./frame.ts";

/** A file of the log as it was found. */
export interface FoundSegment {
  readonly path: string;
  readonly bytes: Buffer;
  readonly file: SegmentFile;
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
  /** The number of the last entry of each segment that was started, by path. */
  readonly ends: ReadonlyMap<string, LogNumber>;
}

const newline = 0x0a;

/**
 * Reads the valid entries from the segments, the oldest first. Lines after the number that the next segment begins with were never
 * acknowledged; nor was an incomplete line, unless a later line says that its position was durable. Pure.
 */
export function recover(segments: readonly FoundSegment[]): Recovered {
  const read = segments.map(({ bytes, ...file }) => ({ ...file, frames: [...framesOf(bytes)] }));
  // Ignores a last segment without a complete line: the daemon died before its header was written.
  const found = read.filter(
    ({ frames }, index) => index < read.length - 1 || frames.some(frame => frame !== undefined),
  );
  const id = found.flatMap(({ frames }) => frames).findLast(frame => frame !== undefined)?.log;
  // A renewal has all entries of earlier logs that are needed.
  const started = found.map(({ frames, ...file }) => ({
    ...file,
    frames: frames.filter(frame => frame === undefined || frame.log === id),
  }));
  let durable = 0;
  let released = 0;
  let origin: LogOrigin = { predecessors: [], lost: [] };
  let isCopy = false;
  for (const { frames, file } of started)
    for (const frame of frames) {
      if (frame === undefined) continue;
      const { content } = frame;
      durable = Math.max(durable, content.kind === "segment" ? content.after : frame.durable);
      if (content.kind === "checkpoint") released = Math.max(released, content.through);
      if (content.kind !== "segment") continue;
      origin = content.origin ?? origin;
      isCopy = content.file !== undefined && isOther(content.file, file);
    }
  const entries: Committed[] = [];
  const ends = new Map<string, LogNumber>();
  const lost: LogNumber[] = [];
  // Entries before the oldest segment were released.
  let newest = started.map(({ frames }) => beginningOf(frames)).find(after => after !== undefined) ?? released;
  for (const [index, { path, frames }] of started.entries()) {
    const next = started.slice(index + 1).map(one => beginningOf(one.frames));
    const limit = next.find(after => after !== undefined) ?? Number.POSITIVE_INFINITY;
    for (const frame of frames) {
      if (frame === undefined || frame.number > limit || frame.number <= newest) continue;
      if (frame.content.kind === "gap") newest = frame.number;
      if (!isEntry(frame.content)) continue;
      // A line before this one is missing and was never acknowledged, so the write of both never completed.
      if (frame.number > newest + 1 && newest + 1 > durable) break;
      for (let number = newest + 1; number < frame.number; number++) lost.push(number);
      newest = frame.number;
      entries.push({ number: frame.number, entry: frame.content });
    }
    ends.set(path, newest);
  }
  for (let number = newest + 1; number <= durable; number++) lost.push(number);
  const kept = entries.filter(({ number }) => number > released);
  return {
    id,
    origin: { ...origin, lost: origin.lost.filter(number => number > released) },
    isCopy,
    released,
    entries: kept,
    newest: Math.max(newest, durable),
    lost: lost.filter(number => number > released),
    ends,
  };
}

/** Inodes are used again. */
function isOther(recorded: SegmentFile, { inode, created }: SegmentFile): boolean {
  return recorded.inode !== inode || (recorded.created !== 0 && created !== 0 && recorded.created !== created);
}

function* framesOf(bytes: Buffer): Generator<Frame | undefined> {
  for (let start = 0; start < bytes.length; ) {
    const end = bytes.indexOf(newline, start);
    // A line without a line end is incomplete.
    if (end === -1) return yield undefined;
    yield parseFrame(bytes.subarray(start, end));
    start = end + 1;
  }
}

/** The number after which a segment continues, from its first complete line. */
function beginningOf(frames: readonly (Frame | undefined)[]): LogNumber | undefined {
  const first = frames.find(frame => frame !== undefined);
  if (first === undefined) return undefined;
  return isEntry(first.content) ? first.number - 1 : first.number;
}

function isEntry(content: Frame["content"]): content is LogEntry {
  return content.kind !== "segment" && content.kind !== "checkpoint" && content.kind !== "gap";
}
