import type { Commit, Committed } from "../log/commit-log.ts";

/** The commits of each repository since its last removal. */
export function byRepository(entries: readonly Committed[]): Map<string, Committed<Commit>[]> {
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
  return commits;
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
