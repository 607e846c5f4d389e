import { stat } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { foreignDisks } from "../files/foreign-disks.ts";
import { findWorkTree, type LinkedWorktree, linkedWorktrees, mainWorkTree, type WorkTree } from "./git.ts";

/** An added repository by its folder, without links. */
export interface AddedFolder {
  readonly id: string;
  readonly folder: string;
  /** Of a linked worktree that was not added itself: the repository that it belongs to. */
  readonly base?: string | undefined;
}

/** The added repository that a folder belongs to. */
export interface FoundFolder {
  readonly id: string;
  /** Only for a linked worktree that was not added itself, of the repository with this id. */
  readonly worktree?: AddedWorktree;
}

export interface AddedWorktree {
  /** The linked worktree's outermost folder. */
  readonly root: string;
  readonly linked: LinkedWorktree;
  /** The folder in it that is where the added one is in its own work tree. */
  readonly folder: string;
}

/** A folder without links, and the work tree that contains it. */
export interface Place {
  readonly folder: string;
  readonly tree: WorkTree | undefined;
}

/** The place of a folder without links. Throws UnreachableDiskError. */
export async function placeOf(folder: string): Promise<Place> {
  return { folder, tree: await findWorkTree(folder) };
}

/** The added folder that is `path` or the nearest one above it, up to `top`, if it is given. */
export type NearestAdded = (path: string, top?: string) => Promise<AddedFolder | undefined>;

/**
 * The repository that contains a folder, by git's own files (docs/worktrees.md): the nearest added folder in its work tree; for a linked
 * worktree with none, the folder that was added in the same place of the main work tree. If the repository is bare, that is its git
 * folder, or else the only other linked worktree that was added. Throws UnreachableDiskError.
 */
export async function findAddedFolder(
  { folder, tree }: Place,
  nearest: NearestAdded,
): Promise<FoundFolder | undefined> {
  const inside = await nearest(folder, tree?.folder);
  if (inside !== undefined && inside.base === undefined) return { id: inside.id };
  const found = tree?.linked && (await findInOthers(folder, { ...tree, linked: tree.linked }, nearest));
  // A package may have been added since the worktree was first seen.
  const isNearer = (found?.worktree?.folder.length ?? 0) > (inside?.folder.length ?? 0);
  return inside === undefined || isNearer ? found : { id: inside.id };
}

/** What was added in another work tree, and counts for a folder in this one. */
async function findInOthers(
  folder: string,
  { linked, folder: root }: { readonly linked: LinkedWorktree; readonly folder: string },
  nearest: NearestAdded,
): Promise<FoundFolder | undefined> {
  const here = { root, linked, below: relative(root, folder) };
  const main = await mainWorkTree(linked.common);
  if (main !== undefined) return inPlace(here, main, nearest);
  const bare = await nearest(linked.common, linked.common);
  if (bare !== undefined) return { id: bare.id, worktree: { root, linked, folder: root } };
  const found = new Map<string, FoundFolder>();
  for await (const other of linkedWorktrees(linked.common)) {
    const one = await inPlace(here, other.folder, nearest);
    if (one !== undefined) found.set(one.id, one);
  }
  const [one, ...others] = found.values();
  // Nothing tells which of several is meant.
  return others.length === 0 ? one : undefined;
}

/** What was added in the same place of another work tree: the nearest folder that this worktree's branch has too. */
async function inPlace(
  { root, linked, below }: Pick<AddedWorktree, "root" | "linked"> & { readonly below: string },
  other: string,
  nearest: NearestAdded,
): Promise<FoundFolder | undefined> {
  for (let at = join(other, below); ; ) {
    const added = await nearest(at, other);
    if (added === undefined || added.base !== undefined) return undefined;
    const folder = join(root, relative(other, added.folder));
    if (added.folder === other || (await isFolder(folder))) return { id: added.id, worktree: { root, linked, folder } };
    at = dirname(added.folder);
  }
}

export async function isFolder(path: string): Promise<boolean> {
  const stats = await foreignDisks.ask(path, () => stat(path).catch(() => undefined));
  return stats?.isDirectory() === true;
}
