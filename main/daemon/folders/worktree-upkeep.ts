import { realpath, stat } from "node:fs/promises";
import { join, relative, sep } from "node:path";
import pLimit from "p-limit";
import { systemErrorCode } from "../../files/file-system.ts";
import { foreignDisks } from "../../files/foreign-disks.ts";
import { realFolder } from "../../files/real-folder.ts";
import { commonFolderOf, findWorkTree, listedWorktrees, readWorkTree } from "../../git/git.ts";
import { pointersIn, pointersTo } from "../../git/work-tree.ts";
import type { Store } from "../../store/store.ts";
import type { Clock } from "../../time/clock.ts";

/** Milliseconds after which worktrees whose folder does not exist are checked again: git may be told later that they were deleted. */
const interval = 60_000;

/**
 * Follows worktrees that `git worktree move` has moved, and detaches those that git lists no more and whose folder is gone. While the mark
 * of the base is not seen in git's folder, perhaps because its disk is not mounted, nothing is concluded.
 */
export class WorktreeUpkeep {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #onProblem: (message: string, context: object) => void;
  readonly #lock = pLimit(1);
  #cancel: (() => void) | undefined;
  #isClosed = false;

  constructor(store: Store, clock: Clock, onProblem: (message: string, context: object) => void) {
    this.#store = store;
    this.#clock = clock;
    this.#onProblem = onProblem;
    store.events.subscribe(event => {
      const { base, health } = event.state;
      if (base !== undefined && health.some(({ noFolder }) => noFolder)) this.#settle();
    });
    void store.reconciled.then(() => this.#settle());
  }

  close(): void {
    this.#isClosed = true;
    this.#cancel?.();
  }

  /** Checks all worktrees now, one check at a time. Does not throw. */
  #settle(): void {
    void this.#lock(async () => {
      if (this.#isClosed) return;
      const { repositories } = this.#store;
      let isAnyGone = false;
      for (const id of repositories.ids())
        try {
          if (repositories.brief(id)?.base !== undefined && (await this.#isGone(id))) isAnyGone = true;
        } catch (error) {
          this.#onProblem("could not check a linked worktree", { repo: id, error: String(error) });
        }
      this.#cancel?.();
      if (isAnyGone && !this.#isClosed) this.#cancel = this.#clock.schedule(interval, () => this.#settle());
    });
  }

  /** Whether its folder is gone, and stays for now what it is. */
  async #isGone(id: string): Promise<boolean> {
    const { repositories, paths, roster } = this.#store;
    const { path, base } = repositories.brief(id) ?? {};
    if (path === undefined || base === undefined || !(await isMissing(path))) return false;
    const above = repositories.brief(base);
    const root =
      above?.path && (await foreignDisks.ask(above.path, () => realFolder(above.path ?? "")).catch(() => ""));
    const home = await realpath(paths.repositories);
    const isSeen = root ? (await pointersTo(root)).includes(join(home, `${base}.json`)) : false;
    if (above !== undefined && !isSeen) return true;
    const place = root ? await this.#placeOf(path, root, join(home, `${id}.json`)) : undefined;
    if (place === "unknown") return true;
    if (place === undefined) await roster.remove(id);
    else await roster.update(id, { path: place });
    return false;
  }

  /** Where git has a worktree of the base in `root` now: undefined if git does not list it, "unknown" if it is not there. */
  async #placeOf(path: string, root: string, pointer: string): Promise<string | undefined> {
    const tree = await findWorkTree(root);
    const common = tree && (await commonFolderOf(tree));
    if (tree === undefined || common === undefined) return "unknown";
    let isListed = false;
    for await (const { gitFolder, folder } of listedWorktrees(common)) {
      const isMarked = (await pointersIn(gitFolder)).includes(pointer);
      const isHere = folder !== undefined && (path === folder || path.startsWith(join(folder, sep)));
      if (isMarked || isHere) isListed = true;
      const now = folder && isMarked ? join(folder, relative(tree.folder, root)) : path;
      if (now !== path && !(await isMissing(now)) && (await readWorkTree(folder ?? ""))?.linked?.common === common)
        return now;
    }
    return isListed ? "unknown" : undefined;
  }
}

async function isMissing(folder: string): Promise<boolean> {
  const code = await foreignDisks.ask(folder, () => stat(folder)).then(() => "", systemErrorCode);
  return code === "ENOENT" || code === "ENOTDIR";
}
