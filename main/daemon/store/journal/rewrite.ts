import { join } from "node:path";
import { type Config, filterConfig } from "../../../../shared/config.ts";
import { syncFolder } from "../durable-text-file.ts";
import type { FileSystem } from "../file-system.ts";
import type { Journal } from "./journal.ts";
import { type CheckpointRecord, type ForgetRecord, formatLines, type JournalRecord, noHash } from "./record.ts";

export interface RewritePlace {
  readonly id: string;
  readonly folder: string;
  readonly temporaryFolder: string;
  readonly fileSystem: FileSystem;
}

/**
 * Writes the journal anew without the values that a field had before its present one, and says so in a record at its
 * end. What is older than the oldest kept revision goes too. Nothing may be appended meanwhile. Throws the system's
 * error or JournalDamageError; then the journal is as it was.
 */
export async function forgetValues(
  journal: Journal,
  forget: ForgetRecord,
  current: Config,
  { id, folder, temporaryFolder, fileSystem }: RewritePlace,
): Promise<void> {
  const records = await blankedRecords(journal, forget, current);
  const generation = (journal.head?.segment?.generation ?? 0) + 1;
  const { revision } = records[0];
  const { text, hash } = formatLines([...records, forget], noHash);
  const name = `${id}.${generation}-${revision}.jsonl`;
  const [temporary, path] = [join(temporaryFolder, name), join(folder, name)];
  const handle = await fileSystem.open(temporary, "w", 0o600);
  try {
    await handle.writeFile(text);
    await handle.sync();
  } finally {
    await handle.close();
  }
  await fileSystem.rename(temporary, path);
  await syncFolder(folder, fileSystem);
  const old = journal.segments;
  const segment = { path, generation, revision };
  journal.replaceBy(segment, { segment, bytes: Buffer.byteLength(text), hash, revision: forget.revision });
  // A start that finds them left takes the newest generation.
  for (const one of old) await fileSystem.unlink(one.path).catch(() => {});
  await syncFolder(folder, fileSystem);
}

/** A checkpoint and what came after it, without the old values of the field. */
async function blankedRecords(
  journal: Journal,
  { scope, field, revision: newest }: ForgetRecord,
  current: Config,
): Promise<[CheckpointRecord, ...JournalRecord[]]> {
  const newestFirst: JournalRecord[] = [];
  let checkpoint: CheckpointRecord | undefined;
  let changedSince = false;
  for await (const record of journal.backward(newest)) {
    if (record.kind === "checkpoint") checkpoint = record;
    else if (record.kind === "forget") newestFirst.push(record);
    else {
      const changes = record.changes.map(change => {
        if (change.scope !== scope || change.field !== field) return change;
        const { before: _, after, ...place } = change;
        // The newest change of all made the present value, which is no secret of the past.
        const present = !changedSince && after !== undefined ? { after } : {};
        changedSince = true;
        return { ...place, ...present, forgotten: true as const };
      });
      newestFirst.push({ ...record, changes });
    }
  }
  const { revision, time, config } = checkpoint ?? { revision: 0, time: new Date().toISOString(), config: current };
  // With no change since, what the checkpoint has is the present value.
  const kept = filterConfig(config, (otherScope, other) => !changedSince || otherScope !== scope || other !== field);
  return [{ kind: "checkpoint", revision, time, config: kept }, ...newestFirst.reverse()];
}
