import { existsSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { type Config, filterConfig } from "../../../shared/config.ts";
import { DurableTextFile, syncFolder } from "../../files/durable-text-file.ts";
import { type FileSystem, ignoreMissing } from "../../files/file-system.ts";
import { type Clock, timeText } from "../../time/clock.ts";
import type { Journal } from "./journal.ts";
import { type CheckpointRecord, type ForgetRecord, formatLines, type JournalRecord, noHash } from "./record.ts";
import { JournalDamageError } from "./segment.ts";

export interface RewriteOptions {
  readonly id: string;
  readonly folder: string;
  readonly temporaryFolder: string;
  readonly fileSystem: FileSystem;
  readonly clock: Clock;
}

/**
 * Rewrites the journal without the earlier values of a field, and appends the request as a record. Does nothing if the journal has that
 * record already. The caller must prevent appends meanwhile. Throws the system's error or JournalDamageError. The journal is then
 * unchanged, or it is rewritten and old files remain until the next attempt or start.
 */
export async function forgetValues(
  journal: Journal,
  forget: ForgetRecord,
  current: Config,
  { id, folder, temporaryFolder, fileSystem, clock }: RewriteOptions,
): Promise<void> {
  const records = await redactedRecords(journal, forget, current, clock);
  if (records === undefined) return;
  const newest = journal.head?.revision ?? forget.revision;
  const generation = (journal.head?.segment?.generation ?? 0) + 1;
  const { revision } = records[0];
  const { text, hash } = formatLines([...records, { ...forget, revision: newest }], noHash);
  const name = `${id}.${generation}-${revision}.jsonl`;
  const path = join(folder, name);
  const place = { path, temporaryFolder, mode: 0o600, maximumBytes: Number.MAX_SAFE_INTEGER };
  const file = new DurableTextFile({ ...place, fileSystem, clock });
  await file.read();
  try {
    await file.write(text);
  } catch (error) {
    // If the file stayed, the next start would use it and drop the journal that is appended to.
    if (!existsSync(path)) throw error;
  }
  const segment = { path, generation, revision };
  const { lineage = "", textRecord, position } = journal.head ?? {};
  const bytes = Buffer.byteLength(text);
  journal.replaceSegments(segment, { segment, bytes, hash, revision: newest, lineage, textRecord, position });
  // Deletes every file with old values, including those that an earlier attempt could not delete and damaged ones that were set aside.
  let failure: unknown;
  for (const other of await readdir(folder)) {
    if (other === name || !other.startsWith(`${id}.`)) continue;
    const unlinked = fileSystem.unlink(join(folder, other)).catch(ignoreMissing);
    await unlinked.catch(error => {
      failure ??= error;
    });
  }
  if (failure !== undefined) throw failure;
  await syncFolder(folder, fileSystem, clock);
}

/** The oldest checkpoint and all records after it, without the old values of the field; undefined if the journal has the request already. */
async function redactedRecords(
  journal: Journal,
  { scope, field, time: requested, revision: newest }: ForgetRecord,
  current: Config,
  clock: Clock,
): Promise<[CheckpointRecord, ...JournalRecord[]] | undefined> {
  const without = (config: Config) => filterConfig(config, (...path) => path[0] !== scope || path[1] !== field);
  const newestFirst: JournalRecord[] = [];
  let checkpoint: CheckpointRecord | undefined;
  let isChangedLater = false;
  const read = async () => {
    for await (const record of journal.backward(journal.head?.revision ?? newest)) {
      if (record.kind === "forget" && record.time === requested && record.scope === scope && record.field === field)
        return true;
      if (record.kind === "checkpoint") checkpoint = record;
      else if (record.kind === "text") {
        // Earlier text records have hashes of texts with the old values; only the newest is kept.
        if (!newestFirst.some(({ kind }) => kind === "text")) newestFirst.push(record);
      } else if (record.kind !== "change" || record.revision > newest) newestFirst.push(record);
      else {
        const changes = record.changes.map(change => {
          if (change.scope !== scope || change.field !== field) return change;
          const { before: _, after, ...place } = change;
          // The newest change of the field set its present value, which stays.
          const present = !isChangedLater && after !== undefined ? { after } : {};
          isChangedLater = true;
          return { ...place, ...present, forgotten: true as const };
        });
        if (record.recovered === undefined) {
          newestFirst.push({ ...record, changes });
          continue;
        }
        const values = isChangedLater ? without(record.recovered.values) : record.recovered.values;
        isChangedLater = true;
        newestFirst.push({ ...record, changes, recovered: { values, lacking: [] } });
      }
    }
    return false;
  };
  const isForgotten = await read().catch(error => {
    // What is before a recovery cannot be read, and its values are not needed.
    const isRecovered = newestFirst.some(record => record.kind === "change" && record.recovered !== undefined);
    if (!(error instanceof JournalDamageError) || !isRecovered) throw error;
    const revision = (newestFirst.at(-1)?.revision ?? 1) - 1;
    checkpoint = { kind: "checkpoint", revision, time: timeText(clock), config: {} };
    return false;
  });
  if (isForgotten) return undefined;
  const { revision, time, config, lastChanges }: Omit<CheckpointRecord, "kind"> = checkpoint ?? {
    ...{ revision: 0, time: timeText(clock), config: current },
  };
  // If nothing changed the field since the checkpoint, its value there is the present one, which stays.
  const kept = isChangedLater ? without(config) : config;
  const last = lastChanges !== undefined && { lastChanges };
  return [{ kind: "checkpoint", revision, time, config: kept, ...last }, ...newestFirst.reverse()];
}
