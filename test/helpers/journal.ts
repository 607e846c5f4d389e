import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { type FileSystem, realFileSystem } from "../../main/files/file-system.ts";
import { Journal, type Retention } from "../../main/store/history/journal.ts";
import type { ChangeRecord, JournalRecord } from "../../main/store/history/record.ts";
import { listSegments } from "../../main/store/history/segment.ts";
import { systemClock } from "../../main/time/clock.ts";
import { Yielding } from "../../main/time/yielding.ts";

/** The default retention of a test: everything, in one segment. */
const keepAll: Retention = { revisions: 10_000, bytes: 64 * 1024 * 1024 };

/** The journal of the repository `shop` in a folder, opened as at a start, and the damage that it reported. */
export async function openJournal(
  folder: string,
  options: { readonly retention?: Retention; readonly fileSystem?: FileSystem } = {},
) {
  const { retention = keepAll, fileSystem = realFileSystem } = options;
  const damage: string[] = [];
  const segments = (await listSegments(folder)).get("shop") ?? [];
  const onDamage = async ({ message }: { readonly message: string }) => void damage.push(message);
  const yielding = new Yielding(systemClock);
  const journal = new Journal(
    { id: "shop", folder, fileSystem, clock: systemClock, yielding, retention: () => retention, onDamage },
    segments,
  );
  await journal.open();
  return { journal, damage };
}

/** Revision N sets the timeout from N - 1 to N. */
export function changeTo(revision: number): ChangeRecord {
  const before = revision === 1 ? {} : { before: revision - 1 };
  return {
    kind: "change",
    revision,
    lineage: "first",
    time: "2025-01-01T00:00:00.000Z",
    actor: { kind: "file" },
    source: "file",
    changes: [{ scope: "svc", field: "timeout", ...before, after: revision }],
  };
}

export function configOf(revision: number) {
  return revision === 0 ? {} : { svc: { timeout: revision } };
}

/** Appends these revisions one at a time. */
export async function appendUpTo(journal: Journal, from: number, to: number): Promise<void> {
  for (let revision = from; revision <= to; revision++)
    await journal.append([changeTo(revision)], configOf(revision - 1));
}

export async function collect<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const collected: Item[] = [];
  for await (const item of items) collected.push(item);
  return collected;
}

/** The revisions of changes, in the order given. */
export async function revisionsOf(records: AsyncIterable<JournalRecord>): Promise<number[]> {
  return (await collect(records)).flatMap(({ kind, revision }) => (kind === "change" ? [revision] : []));
}

/** All files of the journals in a folder, by name. */
export async function journalFiles(folder: string): Promise<Record<string, string>> {
  const files: Record<string, string> = {};
  for (const name of (await readdir(folder)).sort()) files[name] = await readFile(join(folder, name), "utf8");
  return files;
}
