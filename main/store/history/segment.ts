import { statSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { basename, join, sep } from "node:path";
import { type FileSystem, readAll } from "../../files/file-system.ts";
import { homeFileBytes, openRegularFile, readHomeFile } from "../../files/foreign-file.ts";
import { type JournalLine, parseLine, type Segment } from "./record.ts";

/** A segment is damaged: records before that line cannot be trusted. */
export class JournalDamageError extends Error {
  override readonly name = "JournalDamageError";
  readonly path: string;
  readonly what: string;

  /** `line`: from 1; omitted if the whole segment is damaged or missing. */
  constructor(path: string, what: string, line?: number) {
    super(`${basename(path)}${line === undefined ? "" : `, line ${line}`}: ${what}`);
    this.path = path;
    this.what = what;
  }
}

/** A segment is missing: compaction, or somebody else, deleted it during reading. */
export class SegmentMissingError extends Error {
  override readonly name = "SegmentMissingError";
}

const newline = 0x0a;
const firstTailBytes = 64 * 1024;
const chunkBytes = 256 * 1024;
const segmentName = /^(?<id>[A-Za-z0-9_-]+)\.(?<generation>\d+)-(?<revision>\d+)\.jsonl$/;

/** By repository: the names of its segments' files, separated by `/`. A start takes few apart, so it makes no object for each. */
export type SegmentNames = ReadonlyMap<string, string>;

export async function listSegmentNames(folder: string): Promise<Map<string, string>> {
  const byRepository = new Map<string, string>();
  for (const name of await readdir(folder)) {
    if (!segmentName.test(name)) continue;
    const id = name.slice(0, name.indexOf("."));
    const others = byRepository.get(id);
    byRepository.set(id, others === undefined ? name : `${others}/${name}`);
  }
  return byRepository;
}

/** The segments with these names, oldest first. */
export function segmentsNamed(names: string, folder: string): Segment[] {
  // Calling `join` for each of thousands of files would slow down every start after a crash.
  const inFolder = join(folder, sep);
  const segments = names.split("/").map(name => {
    const { generation, revision } = segmentName.exec(name)?.groups ?? {};
    return { path: `${inFolder}${name}`, generation: Number(generation), revision: Number(revision) };
  });
  return segments.sort((one, other) => one.generation - other.generation || one.revision - other.revision);
}

/** The journal's segments in a folder, by repository. */
export async function listSegments(folder: string): Promise<Map<string, Segment[]>> {
  const names = await listSegmentNames(folder);
  return new Map([...names].map(([id, ofOne]) => [id, segmentsNamed(ofOne, folder)]));
}

/** Whether a segment has more than is ever written into one. */
export function isTooLarge(path: string): boolean {
  return (statSync(path, { throwIfNoEntry: false })?.size ?? 0) > homeFileBytes;
}

function assertSize(path: string): void {
  if (isTooLarge(path)) throw new JournalDamageError(path, `it has more than ${homeFileBytes} bytes`);
}

/** Reads a segment. Throws SegmentMissingError, or JournalDamageError for one that is too large. */
export async function readSegment(path: string): Promise<Buffer> {
  assertSize(path);
  const found = await readHomeFile(path);
  if (found === null) throw new SegmentMissingError(path);
  return found.bytes;
}

/** The lines of a segment, newest first, with the byte offsets of each. Text after the last line end is not a line. */
export function* linesBackward(bytes: Buffer): Generator<{ text: string; start: number; end: number }> {
  let end = bytes.lastIndexOf(newline);
  while (end >= 0) {
    const start = end === 0 ? 0 : bytes.lastIndexOf(newline, end - 1) + 1;
    yield { text: bytes.toString("utf8", start, end), start, end: end + 1 };
    end = start - 1;
  }
}

/**
 * The lines that a segment has now, oldest first, each with its number from 1. Reads in chunks, because a slow consumer would otherwise
 * keep the whole segment in memory. Throws as `readSegment`.
 */
export async function* linesForward(path: string): AsyncGenerator<{ text: string; line: number }> {
  assertSize(path);
  await using handle = await openRegularFile(path);
  if (handle === null) throw new SegmentMissingError(path);
  const { size } = await handle.stat();
  let rest: Buffer = Buffer.alloc(0);
  let line = 0;
  for (let offset = 0; offset < size; ) {
    // Doubles the chunk for a line that is longer than everything read so far.
    const length = Math.min(Math.max(chunkBytes, rest.length), size - offset);
    const bytes = Buffer.concat([rest, await readAll(handle, length, offset)]);
    offset += length;
    let start = 0;
    for (let end = bytes.indexOf(newline); end !== -1; end = bytes.indexOf(newline, start)) {
      line += 1;
      yield { text: bytes.toString("utf8", start, end), line };
      start = end + 1;
    }
    // A copy, so that the lines already yielded can be freed.
    rest = Buffer.from(bytes.subarray(start));
  }
}

/** Whether each record of a segment is whole and follows the one before it. Throws as `readSegment`. */
export async function isIntact(path: string): Promise<boolean> {
  let last: JournalLine | undefined;
  for await (const { text } of linesForward(path)) {
    const line = parseLine(text);
    if (line === undefined || (last !== undefined && line.previous !== last.hash)) return false;
    last = line;
  }
  return true;
}

/** The number, from 1, of the line that begins at the offset `start`. */
export function lineNumber(bytes: Buffer, start: number): number {
  return bytes.toString("latin1", 0, start).split("\n").length;
}

interface SegmentTail {
  /** The last records, newest first; not all of them. */
  readonly lines: readonly JournalLine[];
  /** The offset at which the last intact record ends. */
  readonly whole: number;
  /** The size of the segment. */
  readonly bytes: number;
}

/**
 * Reads a segment backward until the last intact record is found and `isEnough` says that no earlier record is needed. Returns no lines
 * if none is intact. Throws as `readSegment`.
 */
export async function readTail(
  path: string,
  fileSystem: FileSystem,
  isEnough: (line: JournalLine) => boolean,
): Promise<SegmentTail> {
  assertSize(path);
  const handle = await openRegularFile(path, { fileSystem });
  if (handle === null) throw new SegmentMissingError(path);
  try {
    const { size } = await handle.stat();
    for (let length = Math.min(firstTailBytes, size); ; length = Math.min(length * 4, size)) {
      const offset = size - length;
      const bytes = await readAll(handle, length, offset);
      const lines: JournalLine[] = [];
      let whole = 0;
      let found = false;
      for (const { text, start, end } of linesBackward(bytes)) {
        // The first line in the chunk may have begun before it.
        if (start === 0 && offset > 0) break;
        const line = parseLine(text);
        // Records after damage are intact; those before it cannot be read here.
        if (line === undefined && lines.length === 0) continue;
        const [newest] = lines;
        // An intact line that was moved to the end is not the newest record; its revision number would be assigned twice.
        const isMoved = lines.length === 1 && (newest?.record.revision ?? 0) < (line?.record.revision ?? 0);
        if (line === undefined || (found && !isMoved)) return { lines, whole, bytes: size };
        if (isMoved) lines.length = 0;
        if (lines.length === 0) whole = offset + end;
        lines.push(line);
        // Ends the loop only at the next line, so that a moved last line is noticed.
        found = isEnough(line);
      }
      if (length === size) return { lines, whole, bytes: size };
    }
  } finally {
    await handle.close();
  }
}

/** The end of a journal as text, which is another one after each append. */
export function endOf({ generation, revision }: Segment, bytes: number): string {
  return `${generation}-${revision}:${bytes}`;
}
