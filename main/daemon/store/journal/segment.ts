import { type FileHandle, open, readFile } from "node:fs/promises";
import { basename } from "node:path";
import { type FileSystem, readAll, systemErrorCode } from "../../../files/file-system.ts";
import { type JournalLine, parseLine } from "./record.ts";

/** A journal's file that is not as it was written: what stands before the place cannot be trusted. */
export class JournalDamageError extends Error {
  override readonly name = "JournalDamageError";
  readonly path: string;
  /** From 1; undefined: as a whole. */
  readonly line: number | undefined;

  constructor(path: string, line: number | undefined, what: string) {
    super(`${basename(path)}${line === undefined ? "" : `, line ${line}`}: ${what}`);
    this.path = path;
    this.line = line;
  }
}

/** A journal's file is gone: compaction took it while it was being read, or somebody else did. */
export class SegmentMissingError extends Error {
  override readonly name = "SegmentMissingError";
}

const newline = 0x0a;
const firstTailBytes = 64 * 1024;
const chunkBytes = 256 * 1024;

/** The text of a segment, as bytes. Throws SegmentMissingError. */
export async function readSegment(path: string): Promise<Buffer> {
  try {
    return await readFile(path);
  } catch (error) {
    if (systemErrorCode(error) === "ENOENT") throw new SegmentMissingError(path);
    throw error;
  }
}

/** The lines of a segment, the newest first, each with its number from 1 and where it begins; what follows the last line end is none. */
export function* linesBackward(bytes: Buffer): Generator<{ text: string; start: number; end: number }> {
  let end = bytes.lastIndexOf(newline);
  while (end >= 0) {
    const start = end === 0 ? 0 : bytes.lastIndexOf(newline, end - 1) + 1;
    yield { text: bytes.toString("utf8", start, end), start, end: end + 1 };
    end = start - 1;
  }
}

/**
 * The lines that a segment has by now, the oldest first. Only a part of it is in memory, for the one who reads them may take long.
 * Throws SegmentMissingError.
 */
export async function* linesForward(path: string): AsyncGenerator<{ text: string; line: number }> {
  let handle: FileHandle;
  try {
    handle = await open(path, "r");
  } catch (error) {
    if (systemErrorCode(error) === "ENOENT") throw new SegmentMissingError(path);
    throw error;
  }
  try {
    const { size } = await handle.stat();
    let rest: Buffer = Buffer.alloc(0);
    let line = 0;
    for (let offset = 0; offset < size; ) {
      // A line that is longer than all that was read asks for more each time.
      const length = Math.min(Math.max(chunkBytes, rest.length), size - offset);
      const bytes = Buffer.concat([rest, await readAll(handle, length, offset)]);
      offset += length;
      let start = 0;
      for (let end = bytes.indexOf(newline); end !== -1; end = bytes.indexOf(newline, start)) {
        line += 1;
        yield { text: bytes.toString("utf8", start, end), line };
        start = end + 1;
      }
      // What is told already need not stay because of what follows.
      rest = Buffer.from(bytes.subarray(start));
    }
  } finally {
    await handle.close();
  }
}

/** The number of the line that begins at `start`. */
export function lineNumber(bytes: Buffer, start: number): number {
  let number = 1;
  for (let at = bytes.indexOf(newline); at !== -1 && at < start; at = bytes.indexOf(newline, at + 1)) number += 1;
  return number;
}

/** The end of a segment: its last records, how far it is whole, and how many bytes it has. */
export interface SegmentTail {
  /** The newest first; not all of them. */
  readonly lines: readonly (JournalLine & { readonly start: number })[];
  /** Where the last whole record ends. */
  readonly whole: number;
  readonly bytes: number;
}

/**
 * Reads from a segment's end backward until the last whole record is found and `enough` says that no earlier one is
 * needed. No line of it being whole gives no lines.
 */
export async function readTail(
  path: string,
  fileSystem: FileSystem,
  enough: (line: JournalLine) => boolean,
): Promise<SegmentTail> {
  const handle = await fileSystem.open(path, "r");
  try {
    const { size } = await handle.stat();
    for (let length = Math.min(firstTailBytes, size); ; length = Math.min(length * 4, size)) {
      const offset = size - length;
      const bytes = await readAll(handle, length, offset);
      const lines: (JournalLine & { start: number })[] = [];
      let whole = 0;
      let done = length === size;
      let found = false;
      for (const { text, start, end } of linesBackward(bytes)) {
        // The first in the chunk may have begun before it.
        if (start === 0 && offset > 0) break;
        const line = parseLine(text);
        if (line === undefined) {
          // Records after the damage are intact; those before it cannot be read here.
          if (lines.length === 0) continue;
          done = true;
          break;
        }
        const [newest] = lines;
        // Whole, and not where it was written: to take a moved line for the end would give its number to the present.
        if (lines.length === 1 && newest !== undefined && newest.record.revision < line.record.revision)
          lines.length = 0;
        else if (found) {
          done = true;
          break;
        }
        if (lines.length === 0) whole = offset + end;
        lines.push({ ...line, start: offset + start });
        // The line before it is read too.
        found = enough(line);
      }
      if (done) return { lines, whole, bytes: size };
    }
  } finally {
    await handle.close();
  }
}
