import type { IndexingProgress } from "../../../shared/protocol.ts";
import { forEachConcurrently } from "../../time/for-each-concurrently.ts";
import type { StoreContext } from "../context.ts";
import { readWidth } from "../hand-edits/hand-edit-watcher.ts";
import type { Erasures } from "../history/erasures.ts";
import type { Commit, Committed, OpenedLog } from "../log/commit-log.ts";
import type { KeptEntries } from "../log/kept-entries.ts";
import type { Repositories } from "../repository/repositories.ts";

/** What a start finds in the log that histories and files may lack. */
export interface MissedEntries extends Omit<OpenedLog, "log"> {
  /** The commits of each repository since its last removal. */
  readonly commits: ReadonlyMap<string, readonly Committed<Commit>[]>;
}

export function missedEntries({ entries, lost, isCopy }: OpenedLog): MissedEntries {
  const commits = new Map<string, Committed<Commit>[]>();
  for (const { number, entry } of entries) {
    if (entry.kind === "remove") commits.delete(entry.repo);
    if (entry.kind !== "commit") continue;
    for (const { repo } of entry.documents) {
      const known = commits.get(repo) ?? [];
      commits.set(repo, known);
      known.push({ number, entry });
    }
  }
  return { entries, commits, lost, isCopy };
}

/** Ids of repositories whose last entry is their removal. */
export function removedIds(entries: readonly Committed[]): ReadonlySet<string> {
  const removed = new Set<string>();
  for (const { entry } of entries) {
    if (entry.kind === "remove") removed.add(entry.repo);
    else if (entry.kind === "commit") for (const { repo } of entry.documents) removed.delete(repo);
  }
  return removed;
}

/** Copies commits that a crash left only in the log to the histories, so that answers about repositories are correct. */
export async function recoverHistories(
  { log, onProblem }: StoreContext,
  repositories: Repositories,
  kept: KeptEntries,
  erasures: Erasures,
  { entries, commits, lost, isCopy }: MissedEntries,
  onProgress: (progress: IndexingProgress) => void,
): Promise<void> {
  for (const id of commits.keys()) if (!repositories.has(id)) repositories.add(id);
  const touched = [...(lost > 0 ? repositories.ids() : commits.keys())].flatMap(id => repositories.get(id) ?? []);
  // Before any is read, because the log meanwhile releases entries that no kept repository needs.
  for (const repository of touched) kept.repositories.add(repository);
  for (const { number, entry } of entries) if (entry.kind === "forget") erasures.add(number, entry);
  let done = 0;
  await forEachConcurrently(touched, readWidth, async repository => {
    await repository.refresh();
    done += 1;
    onProgress({ done, total: touched.length });
  });
  await erasures
    .carryOut()
    .catch(error => onProblem("some values could not be erased; the next start retries", { error: String(error) }));
  if (lost > 0 || isCopy) {
    // The histories have every entry of the log, which is not read any more.
    try {
      for (const { loaded, mirror } of kept.repositories) if (loaded) await mirror.writeHistory(false);
      await log.renew();
    } catch (error) {
      // Until the next start, earlier positions are accepted although changes after them may be lost.
      onProblem("cannot start a new log", { error: String(error) });
    }
  }
  await kept.release();
}
