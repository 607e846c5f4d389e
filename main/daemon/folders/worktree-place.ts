import { readdir, realpath, stat } from "node:fs/promises";
import { join, relative } from "node:path";
import { ignoreMissing, systemErrorCode } from "../../files/file-system.ts";
import { foreignDisks } from "../../files/foreign-disks.ts";
import { realFolder } from "../../files/real-folder.ts";
import { commonFolderOf, findWorkTree, readWorkTree, workTreeOf } from "../../git/git.ts";
import { hasMark, pointersTo } from "../../git/work-tree.ts";
import { isElsewhere } from "../../store/hand-edits/own-folder.ts";
import type { Store } from "../../store/store.ts";

/**
 * Follows a worktree to where git has moved it, or detaches it: git lists it no more, and the folder at its path is gone, or another one.
 * While the mark of the base is not seen in git's folder, perhaps because its disk is not mounted, nothing is concluded. Returns whether
 * its folder is still missing. `common`: git's folder of the base, if that was seen. Throws RepoconfError, or what says nothing about it.
 */
export async function settleWorktree(store: Store, id: string, common?: string): Promise<boolean> {
  const { repositories, paths, roster } = store;
  const { path, base } = repositories.brief(id) ?? {};
  if (path === undefined || base === undefined) return false;
  if (!(await isMissing(path)) && !(await isElsewhere(store, id))) return false;
  const above = repositories.brief(base)?.path;
  const root = above && (await foreignDisks.ask(above, () => realFolder(above)).catch(() => undefined));
  const home = await realpath(paths.repositories);
  const isSeen =
    common !== undefined || (root !== undefined && (await pointersTo(root)).includes(join(home, `${base}.json`)));
  if (repositories.has(base) && !isSeen) return true;
  const place = root ? await placeOf(store, id, { root, common, pointer: join(home, `${id}.json`) }) : undefined;
  if (place === "unknown") return true;
  if (place === undefined) await roster.remove(id);
  else await roster.update(id, { path: place });
  return false;
}

/**
 * Where git has a worktree of the base in `root` now: undefined if it is certain that git does not list it, "unknown" if it is not there.
 * It is the one that has its mark: another one may have its name or its path by now.
 */
async function placeOf(
  { repositories }: Store,
  id: string,
  {
    root,
    common: seen,
    pointer,
  }: { readonly root: string; readonly common: string | undefined; readonly pointer: string },
): Promise<string | undefined> {
  const tree = await findWorkTree(root);
  const common = seen ?? (tree && (await commonFolderOf(tree)));
  if (tree === undefined || common === undefined) return "unknown";
  const { path, linked } = repositories.brief(id) ?? {};
  const wasMarked = repositories.indexed(id)?.folder?.mark !== undefined;
  let isListed = false;
  for (const name of await listed(common)) {
    const gitFolder = join(common, "worktrees", name);
    const isMarked = await hasMark(gitFolder, pointer);
    if (!isMarked && (wasMarked || name !== linked?.name)) continue;
    isListed = true;
    const folder = isMarked ? await workTreeOf(gitFolder) : undefined;
    const real = folder && (await foreignDisks.ask(folder, () => realFolder(folder)).catch(() => undefined));
    const now = real && join(real, relative(tree.folder, root));
    if (!real || !now || now === path || (await isMissing(now))) continue;
    if ((await readWorkTree(real))?.linked?.common === common) return now;
  }
  return isListed ? "unknown" : undefined;
}

/** Git's names of all linked worktrees. Throws what says nothing about them. */
async function listed(common: string): Promise<readonly string[]> {
  const folder = join(common, "worktrees");
  return (await foreignDisks.ask(folder, () => readdir(folder).catch(ignoreMissing))) ?? [];
}

async function isMissing(folder: string): Promise<boolean> {
  const code = await foreignDisks.ask(folder, () => stat(folder)).then(() => "", systemErrorCode);
  return code === "ENOENT" || code === "ENOTDIR";
}
