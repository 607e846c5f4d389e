import { configValue } from "../config.ts";
import { joinConfigPath } from "../config-path.ts";
import { sameJson } from "../json.ts";
import type { ChangedRepository, FoundHistoryEntry } from "../protocol.ts";
import type { RepoconfClient } from "./client.ts";

/** A field that was not undone, and why. */
export interface LeftField {
  readonly repo: string;
  /** `<scope>.<field>`; absent if it concerns all of the repository's fields. */
  readonly field?: string;
  readonly message: string;
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

/** How often to retry a repository that changed in between. */
const mostTries = 3;

/** The reason given for a field that now has another value. */
export const changedSince = "It has changed since.";

/**
 * Undoes a batch: fields that still have the batch's value get back their earlier value, in a batch of its own. Fields that were
 * changed since are left alone and listed in `left`. Throws RequestError if the batch cannot be read.
 */
export async function undoBatch(
  client: Pick<RepoconfClient, "request" | "batch">,
  batch: string,
  { since, reason = `undo of batch ${batch}`, dryRun = false }: UndoBatchOptions = {},
): Promise<UndoneBatch> {
  const entries: FoundHistoryEntry[] = [];
  for await (const entry of client.batch(batch, since)) entries.push(entry);
  return undoEntries(client, entries, { reason, dryRun, batch: `undo of ${batch} at ${Date.now()}` });
}

/** Undoes these entries (newest first), like `undoBatch`. */
export async function undoEntries(
  client: Pick<RepoconfClient, "request">,
  entries: readonly FoundHistoryEntry[],
  options: { readonly reason: string; readonly dryRun?: boolean; readonly batch: string },
): Promise<UndoneBatch> {
  const restored: ChangedRepository[] = [];
  const left: LeftField[] = [];
  // Newest first, so that an older entry of the same repository finds its own value restored when it is undone.
  for (const entry of entries) {
    const outcome = await undoEntry(client, entry, options);
    restored.push(...outcome.restored);
    left.push(...outcome.left);
  }
  return { restored, left };
}

async function undoEntry(
  client: Pick<RepoconfClient, "request">,
  { repo, revision, changes }: FoundHistoryEntry,
  options: { readonly reason: string; readonly dryRun?: boolean; readonly batch: string },
): Promise<UndoneBatch> {
  for (let tries = 1; ; tries += 1) {
    const now = await client.request("config/list", { repo, stored: true });
    const [unreadable] = now.errors;
    if (unreadable !== undefined) return { restored: [], left: [{ repo, message: unreadable.message }] };
    const fields: string[] = [];
    const left: LeftField[] = [];
    for (const [scope, changed] of Object.entries(changes))
      for (const [field, { value, stored, forgotten }] of Object.entries(changed)) {
        const path = joinConfigPath(scope, field);
        const isThere = sameJson(configValue(now.result, scope, field), stored ? value : undefined);
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
    const reply = await client.request("history/restore", { ...options, ...current, repo, to: revision - 1, fields });
    // The repository changed in between: check again.
    if (reply.errors.some(({ code }) => code === 1104) && tries < mostTries) continue;
    for (const { field, message } of reply.errors) left.push({ repo, message, ...(field !== undefined && { field }) });
    return { restored: reply.result, left };
  }
}
