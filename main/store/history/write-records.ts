import { type FileSystem, writeAll } from "../../files/file-system.ts";
import { formatLines, type JournalRecord } from "./record.ts";

/** Characters of records that are written at once, unless one has more. */
const mostAtOnce = 1024 * 1024;

/** Where records end in a file, and the hash of the last one. */
export interface RecordsEnd {
  readonly bytes: number;
  readonly hash: string;
}

/**
 * Writes records into a file behind others. Returns the new end. Throws the system's error. Large ones are written one after the other:
 * the texts of all that wait, in several repositories at once, would take several times their size of memory.
 */
export async function writeRecords(
  handle: Awaited<ReturnType<FileSystem["open"]>>,
  records: readonly JournalRecord[],
  { bytes, hash }: RecordsEnd,
): Promise<RecordsEnd> {
  let end = { bytes, hash };
  let text = "";
  const write = async () => {
    const content = Buffer.from(text);
    await writeAll(handle, content, end.bytes);
    end = { ...end, bytes: end.bytes + content.length };
    text = "";
  };
  for (const record of records) {
    const line = formatLines([record], end.hash);
    if (text !== "" && text.length + line.text.length > mostAtOnce) await write();
    text += line.text;
    end = { ...end, hash: line.hash };
  }
  await write();
  return end;
}
