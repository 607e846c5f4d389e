import { isFromFile } from "../change-source.ts";
import { configValue } from "../config.ts";
import { joinConfigPath } from "../config-path.ts";
import type { ErrorEntry } from "../errors.ts";
import { type JsonValue, sameJson } from "../json.ts";
import type {
  ChangedRepository,
  FoundHistoryEntry,
  HistoryEntry,
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
  /** What the daemon answered, if it refused. */
  readonly error?: ErrorEntry;
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
  /** The value now; undefined if none is stored. */
  readonly before: JsonValue | undefined;
  /** The effective value afterwards. */
  readonly after: JsonValue;
  /** The key may not see them: both are null. */
  readonly masked?: true;
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

/** How often to retry a repository that changed in between. */
const maxTries = 3;

/** The reason given for a field that now has another value. */
export const changedSince = "It has changed since.";

const otherFile =
  "The work tree's file may have come from another branch since. To go back all the same, restore an earlier revision.";

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

/** What undoing these entries (newest first) would change, without doing it. Throws RequestError. */
export async function previewUndo(
  client: Pick<Client, "request">,
  entries: readonly FoundHistoryEntry[],
): Promise<UndoPreview> {
  const { restored, left } = await undoEntries(client, entries, { reason: "preview", dryRun: true, batch: "preview" });
  const nameOf = (repo: string, scope: string, field: string) => `${repo} ${joinConfigPath(scope, field)}`;
  const taken = new Set(
    restored.flatMap(({ repo, config }) =>
      Object.entries(config).flatMap(([scope, fields]) => Object.keys(fields).map(field => nameOf(repo, scope, field))),
    ),
  );
  const changes = new Map<string, UndoneField>();
  for (const { repo, changes: changed } of entries)
    for (const [scope, fields] of Object.entries(changed))
      for (const [field, { value, previous, stored, masked }] of Object.entries(fields)) {
        const name = nameOf(repo, scope, field);
        const newer = changes.get(name);
        if (newer === undefined && taken.has(name))
          changes.set(name, {
            ...{ repo, scope, field, before: stored ? value : undefined, after: previous },
            ...(masked && { masked }),
          });
        // If the batch changed a field twice, both changes are undone.
        else if (newer !== undefined && sameJson(newer.after, value)) changes.set(name, { ...newer, after: previous });
      }
  return { changes: [...changes.values()], left: left.filter(({ repo, field }) => !taken.has(`${repo} ${field}`)) };
}

/** Undoes these entries (newest first), like `undoBatch`. */
export async function undoEntries(
  client: Pick<Client, "request">,
  entries: readonly FoundHistoryEntry[],
  options: UndoEntriesOptions,
): Promise<UndoneBatch> {
  const restored: ChangedRepository[] = [];
  const left: LeftField[] = [];
  const trees: KnownTrees = new Map();
  // Newest first, so that an older entry of the same repository finds its own value restored when it is undone.
  for (const entry of entries) {
    const outcome = await undoEntry(client, entry, options, trees);
    restored.push(...outcome.restored);
    left.push(...outcome.left);
  }
  return { restored, left };
}

async function undoEntry(
  client: Pick<Client, "request">,
  { repo, revision, changes, layer }: FoundHistoryEntry,
  options: UndoEntriesOptions,
  trees: KnownTrees,
): Promise<UndoneBatch> {
  // The base's own entry is undone.
  if (layer === "base") return { restored: [], left: [] };
  for (let tries = 1; ; tries += 1) {
    const now = await client.request("config/list", { repo, stored: true, ...(layer && { layers: true }) });
    const present = (layer && now.layers ? now.layers[layer] : now.result) ?? {};
    const [unreadable] = now.errors;
    if (unreadable !== undefined)
      return { restored: [], left: [{ repo, message: unreadable.message, error: unreadable }] };
    if (layer !== "local" && (await isOtherFile(client, trees, repo, revision, now.revision)))
      return { restored: [], left: [{ repo, message: otherFile }] };
    const fields: string[] = [];
    const left: LeftField[] = [];
    for (const [scope, changed] of Object.entries(changes))
      for (const [field, { value, stored, forgotten, masked }] of Object.entries(changed)) {
        const path = joinConfigPath(scope, field);
        // Of a value that the key may not see, only its last change is known.
        const isThere = masked
          ? (await client.request("config/explain", { repo, field: path })).result?.revision === revision
          : sameJson(configValue(present, scope, field), stored ? value : undefined);
        if (isThere && !forgotten) fields.push(path);
        else
          left.push({
            repo,
            field: path,
            message: forgotten ? "Its value at that time was erased." : changedSince,
          });
      }
    if (fields.length === 0) return { restored: [], left };
    const current = now.revision === undefined ? {} : { revision: now.revision };
    const how = { ...options, ...current, ...(layer && { layer }) };
    const reply = await client.request("history/restore", { ...how, repo, to: revision - 1, fields });
    // The repository changed in between: check again.
    if (reply.errors.some(({ code }) => code === 1104) && tries < maxTries) continue;
    const [own] = options.dryRun ? [] : reply.result;
    const tree = trees.get(repo);
    // Nobody else changed it in between: the restore was for the revision that was read.
    if (own !== undefined && tree !== undefined && tree.newest === now.revision)
      trees.set(repo, { ...tree, newest: own.revision });
    for (const error of reply.errors) {
      const { field, message } = error;
      left.push({ repo, message, ...(field !== undefined && { field }), error });
    }
    return { restored: reply.result, left };
  }
}

/** What is known of a repository: whether git may change its file, and that every revision after `from`, up to `newest`, is no such change. */
interface KnownTree {
  readonly inTree: boolean;
  readonly from: number;
  readonly newest: number;
}

/** By repository, so that each is asked about once, and again only if somebody else changed it. */
type KnownTrees = Map<string, KnownTree>;

/**
 * Whether something came with a work tree's file after this revision. Values that are the same could be those of another branch. Also
 * true if not every revision since can be read.
 */
async function isOtherFile(
  client: Pick<Client, "request">,
  trees: KnownTrees,
  repo: string,
  revision: number,
  newest = revision,
): Promise<boolean> {
  if (newest <= revision) return false;
  const known = trees.get(repo);
  const isKnown = known !== undefined && (!known.inTree || known.newest === newest);
  const tree = isKnown ? known : await readTree(client, repo, newest);
  trees.set(repo, tree);
  return tree.inTree && revision < tree.from;
}

async function readTree(client: Pick<Client, "request">, repo: string, newest: number): Promise<KnownTree> {
  const [entry] = (await client.request("repo/list", { repo })).result;
  if (entry?.inTree !== true) return { inTree: false, from: newest, newest };
  const { result } = await client.request("history/list", { repo });
  const isOurs = (one: HistoryEntry) => !isFromFile(one) && one.source !== "recovery" && one.source !== "forget";
  let from = newest;
  // Newest first.
  for (const one of result ?? []) if (one.revision === from && isOurs(one)) from -= 1;
  return { inTree: true, from, newest };
}
