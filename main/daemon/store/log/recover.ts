import type { Committed, LogEntry, LogNumber } from "./commit-log.ts";
import { type Frame, parseFrame } from "./frame.ts";

/** A file of the log as it was found. */
export interface FoundSegment {
  readonly path: string;
  readonly bytes: Buffer;
}

/** What the files of a log say. */
export interface Recovered {
  /** Undefined if there is no log. */
  readonly id: string | undefined;
  /** The newest number that was released: the histories have all up to it. */
  readonly released: LogNumber;
  /** Those that the histories may not have yet, in order. */
  readonly entries: readonly Committed[];
  /** The newest number that was ever given out, whether its entry is there or not. */
  readonly newest: LogNumber;
  /** Numbers of entries that were durable and are not there as they were written. */
  readonly lost: readonly LogNumber[];
  /** Of each segment with something to keep, the number of its last entry, as its file's path says which. */
  readonly ends: ReadonlyMap<string, LogNumber>;
}

const newline = 0x0a;

/**
 * Reads the valid entries from the segments, the oldest first. Lines after the number that the next segment begins with were never
 * acknowledged; nor was an incomplete line, unless a later line says that its position was durable. Pure.
 */
export function recover(segments: readonly FoundSegment[]): Recovered {
  const read = segments.map(({ path, bytes }) => ({ path, frames: [...framesOf(bytes)] }));
  // One that was begun and never used, as the daemon died before its header was whole, says nothing.
  const begun = read.filter(
    ({ frames }, index) => index < read.length - 1 || frames.some(frame => frame !== undefined),
  );
  const whole = begun.flatMap(({ frames }) => frames.filter(frame => frame !== undefined));
  const id = whole.at(-1)?.log;
  const ofThis = whole.filter(({ log }) => log === id);
  let durable = 0;
  let through = 0;
  for (const frame of ofThis) {
    durable = Math.max(durable, afterOf(frame.content) ?? frame.durable);
    if (frame.content.kind === "checkpoint") through = Math.max(through, frame.content.through);
  }
  const entries: Committed[] = [];
  const ends = new Map<string, LogNumber>();
  const lost: LogNumber[] = [];
  // Entries before the oldest segment were released.
  let newest = begun.map(({ frames }) => beginningOf(frames)).find(after => after !== undefined) ?? through;
  for (const [index, { path, frames }] of begun.entries()) {
    const next = begun.slice(index + 1).map(one => beginningOf(one.frames));
    const limit = next.find(after => after !== undefined) ?? Number.POSITIVE_INFINITY;
    for (const frame of frames) {
      if (frame === undefined || frame.log !== id || !isEntry(frame.content) || frame.number > limit) continue;
      if (frame.number <= newest) continue;
      // The write that this one was part of never ended.
      if (frame.number > newest + 1 && newest + 1 > durable) break;
      for (let number = newest + 1; number < frame.number; number++) lost.push(number);
      newest = frame.number;
      entries.push({ number: frame.number, entry: frame.content });
    }
    ends.set(path, newest);
  }
  for (let number = newest + 1; number <= durable; number++) lost.push(number);
  const kept = entries.filter(({ number }) => number > through);
  return {
    id,
    released: through,
    entries: kept,
    newest: Math.max(newest, durable),
    lost: lost.filter(number => number > through),
    ends,
  };
}

function* framesOf(bytes: Buffer): Generator<Frame | undefined> {
  for (let start = 0; start < bytes.length; ) {
    const end = bytes.indexOf(newline, start);
    // What has no line end is not whole.
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

function afterOf(content: Frame["content"] | undefined): LogNumber | undefined {
  return content?.kind === "segment" ? content.after : undefined;
}

function isEntry(content: Frame["content"]): content is LogEntry {
  return content.kind !== "segment" && content.kind !== "checkpoint";
}
