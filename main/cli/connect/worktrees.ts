import type { RepositoryEntry } from "../../../shared/protocol.ts";
import { findWorkTree, mainWorkTree } from "../../git/git.ts";

/** What to do if the folder of a linked worktree does not exist. */
export const goneWorktree =
  "If a linked worktree was deleted: git worktree prune, in another work tree of its repository. If it was moved by hand, in its new folder: git worktree repair";

/** Whether a folder is a linked worktree whose main work tree is among these: it belongs to that repository. */
export async function isWorktreeOf(path: string, folders: readonly (string | undefined)[]): Promise<boolean> {
  const linked = (await findWorkTree(path))?.linked;
  const main = linked && (await mainWorkTree(linked.common));
  return main !== undefined && folders.includes(main);
}

/** Each linked worktree after the repository that it belongs to. */
export function underBases(entries: readonly RepositoryEntry[]): readonly RepositoryEntry[] {
  const ids = new Set(entries.map(({ id }) => id));
  const above = ({ base }: RepositoryEntry) => (base !== undefined && ids.has(base) ? base : "");
  const byBase = Map.groupBy(entries, above);
  return (byBase.get("") ?? []).flatMap(entry => [entry, ...(byBase.get(entry.id) ?? [])]);
}
