import { configValue } from "../config.ts";
import { joinConfigPath } from "../config-path.ts";
import type { ErrorEntry } from "../errors.ts";
import type { JsonValue } from "../json.ts";
import type {
  ChangedRepository,
  CountedLayer,
  FoundHistoryEntry,
  OperationArguments,
  OperationName,
  OperationResults,
  Reply,
} from "../protocol.ts";

/** What undoing needs of a `RepoconfClient`. */
interface Client {
  request<Name extends OperationName>(
    name: Name,
    args: OperationArguments<Name>,
  ): Promise<Reply<OperationResults[Name]>>;
  batch(batch: string, since?: string): AsyncGenerator<FoundHistoryEntry, void>;
}

/** A field that was not undone, and why. */
export interface LeftField {
  readonly repo: string;
  /** `<scope>.<field>`; absent if it concerns all of the repository's fields. */
  readonly field?: string;
  readonly message: string;
  /** What the daemon answered. */
  readonly error: ErrorEntry;
}

export interface UndoneBatch {
  readonly restored: readonly ChangedRepository[];
  readonly left: readonly LeftField[];
}

export interface UndoBatchOptions {
  /** A time no later than the batch (RFC 3339), such as an entry's `time`. Older entries are not searched. */
  readonly since?: string;
  readonly reason?: string;
  readonly dryRun?: boolean;
}

interface UndoEntriesOptions {
  readonly reason: string;
  readonly batch: string;
  readonly dryRun?: boolean;
  /** Wait until the files are written too. */
  readonly flush?: boolean;
}

/** A value that undoing a batch would change. */
interface UndoneField {
  readonly repo: string;
  readonly scope: string;
  readonly field: string;
  /** The value that counts now; undefined if none is stored. */
  readonly before: JsonValue | undefined;
  /** The value that counts afterwards. */
  readonly after: JsonValue;
  /** The key may not see them: both are null. */
  readonly masked?: true;
  /** What is undone does not count: the value of this layer does, which stays, and is both `before` and `after`. */
  readonly shadowedBy?: CountedLayer;
}

export interface UndoPreview {
  readonly changes: readonly UndoneField[];
  readonly left: readonly LeftField[];
}

/** A batch may have begun this many milliseconds before a known entry; older history is not searched. */
const maxBatchTime = 24 * 3_600_000;

/** The `since` for a search of all entries of a batch, given the time of one of them. */
function sinceOfBatch(time: string): string {
  return new Date(Date.parse(time) - maxBatchTime).toISOString();
}

/**
 * Undoes a batch: fields that still have the batch's value get back their earlier value, in a batch of its own. Fields that were
 * changed since are left alone and listed in `left`, as are those of a work tree whose file has come from outside since. Throws
 * RequestError if the batch cannot be read.
 */
export async function undoBatch(
  client: Client,
  batch: string,
  { since, reason = `undo of batch ${batch}`, dryRun = false }: UndoBatchOptions = {},
): Promise<UndoneBatch> {
  const entries: FoundHistoryEntry[] = [];
  for await (const entry of client.batch(batch, since)) entries.push(entry);
  return undoEntries(client, entries, { reason, dryRun, batch: `undo of ${batch} at ${Date.now()}` });
}

/** All entries of a batch, newest first. `time` is that of one of them; without it, the whole history is searched for one. */
export async function entriesOfBatch(
  client: Pick<Client, "batch">,
  batch: string,
  time?: string,
): Promise<readonly FoundHistoryEntry[]> {
  if (time === undefined) {
    for await (const newest of client.batch(batch)) return entriesOfBatch(client, batch, newest.time);
    return [];
  }
  const entries: FoundHistoryEntry[] = [];
  for await (const entry of client.batch(batch, sinceOfBatch(time))) entries.push(entry);
  return entries;
}

/** What undoing these entries (newest first) would change of the values that count, without doing it. Throws RequestError. */
export async function previewUndo(
  client: Pick<Client, "request">,
  entries: readonly FoundHistoryEntry[],
): Promise<UndoPreview> {
  const { restored, left } = await undoEntries(client, entries, { reason: "preview", dryRun: true, batch: "preview" });
  const changes: UndoneField[] = [];
  for (const { repo, config } of restored) {
    const now = await client.request("config/list", { repo, stored: true });
    for (const [scope, fields] of Object.entries(config))
      for (const [field, { value, masked, shadowedBy }] of Object.entries(fields)) {
        const isMasked = masked || now.masked?.includes(joinConfigPath(scope, field));
        const before = isMasked ? null : configValue(now.result, scope, field);
        const after = isMasked || shadowedBy ? (before ?? null) : value;
        const how = { ...(isMasked && { masked: true as const }), ...(shadowedBy && { shadowedBy }) };
        changes.push({ repo, scope, field, before, after, ...how });
      }
  }
  return { changes, left };
}

/** As many as one request may name. */
const mostRevisions = 10_000;

/** Undoes these entries (newest first), like `undoBatch`: in each repository and layer as one revision. */
export async function undoEntries(
  client: Pick<Client, "request">,
  entries: readonly FoundHistoryEntry[],
  options: UndoEntriesOptions,
): Promise<UndoneBatch> {
  const restored: ChangedRepository[] = [];
  const left: LeftField[] = [];
  for (const [repo, own] of Map.groupBy(entries, entry => entry.repo))
    for (let from = 0; from < own.length; from += mostRevisions) {
      const some = own.slice(from, from + mostRevisions);
      const fields = [...new Set(some.flatMap(fieldsOf))];
      if (fields.length === 0) continue;
      const undo = some.map(({ revision }) => revision);
      const reply = await client.request("history/restore", { ...options, repo, undo, fields });
      restored.push(...reply.result);
      for (const error of reply.errors) {
        const { field, message } = error;
        left.push({ repo, message, ...(field !== undefined && { field }), error });
      }
    }
  return { restored, left };
}

function fieldsOf({ changes }: FoundHistoryEntry): readonly string[] {
  return Object.entries(changes).flatMap(([scope, fields]) =>
    Object.keys(fields).map(field => joinConfigPath(scope, field)),
  );
}
