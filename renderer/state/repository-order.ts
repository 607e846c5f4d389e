import type { RepositoryEntry } from "../../shared/protocol.ts";

/** By name, each linked worktree after the repository that it belongs to. */
export function inOrder(entries: readonly RepositoryEntry[]): RepositoryEntry[] {
  const collator = new Intl.Collator(undefined, { numeric: true, sensitivity: "base" });
  const byName = (one: RepositoryEntry, other: RepositoryEntry) =>
    collator.compare(one.name, other.name) || (one.id < other.id ? -1 : 1);
  const wanted = new Set(entries.map(({ base }) => base));
  const bases = new Map(entries.filter(({ id }) => wanted.has(id)).map(entry => [entry.id, entry]));
  return entries.toSorted((one, other) => {
    const [above, otherAbove] = [bases.get(one.base ?? "") ?? one, bases.get(other.base ?? "") ?? other];
    if (above.id !== otherAbove.id) return byName(above, otherAbove);
    return Number(one !== above) - Number(other !== otherAbove) || byName(one, other);
  });
}

/** Those of `inOrder` with the favourites first. A linked worktree stays with its repository: if one is a favourite, all of them come first. */
export function favouritesFirst(entries: readonly RepositoryEntry[]): readonly RepositoryEntry[] {
  const together = ({ id, base }: RepositoryEntry) => base ?? id;
  const first = new Set(entries.filter(({ favourite }) => favourite).map(together));
  if (first.size === 0) return entries;
  const isFirst = (entry: RepositoryEntry) => first.has(together(entry));
  return [...entries.filter(isFirst), ...entries.filter(entry => !isFirst(entry))];
}
