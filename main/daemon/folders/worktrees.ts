import { randomBytes } from "node:crypto";
import { realpath } from "node:fs/promises";
import { dirname, join, parse, relative, sep } from "node:path";
import pLimit from "p-limit";
import { RepoconfError } from "../../../shared/errors.ts";
import type { Grants } from "../../../shared/grants.ts";
import { foreignDisks, UnreachableDiskError } from "../../files/foreign-disks.ts";
import { realFolder } from "../../files/real-folder.ts";
import { type AddedWorktree, isFolder } from "../../git/added-folder.ts";
import { commonFolderOf, findWorkTree, linkedWorktrees, readWorkTree } from "../../git/git.ts";
import { markDigits, pointersTo } from "../../git/work-tree.ts";
import { keptSlot } from "../../git/worktree-slots.ts";
import { isElsewhere } from "../../store/hand-edits/own-folder.ts";
import type { Store } from "../../store/store.ts";
import type { LinkedName } from "../../store/types.ts";
import type { Clock } from "../../time/clock.ts";
import type { Caller } from "../keys/caller.ts";
import { settleWorktree } from "./worktree-place.ts";

/** Milliseconds for which the list of a repository's worktrees is used for keys other than the owner's. */
const listAge = 1_000;
/** A key that may read more repositories than these finds only worktrees that are attached already. */
const mostBases = 100;

/**
 * Linked worktrees that become repositories of their own at the first request from inside: with their own branch's values, and with the
 * trust and the grants of the in-tree repository that they belong to, their base.
 */
export class Worktrees {
  readonly #store: Store;
  readonly #clock: Pick<Clock, "monotonic">;
  readonly #lock = pLimit(1);
  /** Grants with those of worktrees, as long as the worktrees are these. */
  #covered: { readonly by: object; readonly grants: WeakMap<Grants, Grants> } | undefined;
  /** By the grants of keys, because all repositories are compared with them. */
  #bases = new WeakMap<Grants, { readonly at: number; readonly ids: readonly string[] }>();
  readonly #listed = new Map<string, { readonly at: number; readonly found: Promise<readonly AddedWorktree[]> }>();

  constructor(store: Store, clock: Pick<Clock, "monotonic">) {
    this.#store = store;
    this.#clock = clock;
    store.events.subscribe(({ kind }) => {
      if (kind !== "added" && kind !== "updated" && kind !== "removed") return;
      this.#bases = new WeakMap();
      this.#listed.clear();
    });
  }

  /** The ids of the worktrees that belong to a repository. */
  of(base: string): readonly string[] {
    return this.#store.linked.of(base);
  }

  /** The other work trees with the same trust and grants. */
  alike(id: string): readonly string[] {
    const base = this.#store.repositories.brief(id)?.base ?? id;
    return [base, ...this.of(base)].filter(one => one !== id);
  }

  /** The grants with the worktrees of the repositories that they name. The same object as long as those are the same. */
  cover(grants: Grants): Grants {
    const { all } = this.#store.linked;
    if (this.#covered?.by !== all) this.#covered = { by: all, grants: new WeakMap() };
    const known = this.#covered.grants.get(grants);
    if (known !== undefined || all.size === 0) return known ?? grants;
    const withWorktrees = (repos: readonly string[]) => [...repos, ...repos.flatMap(repo => all.get(repo) ?? [])];
    const covered = grants.map(grant =>
      grant.repos === "*" ? grant : { ...grant, repos: withWorktrees(grant.repos) },
    );
    this.#covered.grants.set(grants, covered);
    return covered;
  }

  /**
   * The repository of a worktree, which is added unless it is known; undefined if its base keeps its values in the home, where all its work
   * trees share them. Throws RepoconfError.
   */
  attach(base: string, worktree: AddedWorktree, { actor }: Pick<Caller, "actor">): Promise<string | undefined> {
    return this.#lock(async () => {
      const { repositories, roster } = this.#store;
      const { name = base, inTree, base: above } = repositories.brief(base) ?? {};
      if (!inTree || above !== undefined) return undefined;
      const { folder, root } = worktree;
      // What was listed a moment ago may have been removed or moved.
      const { linked } = (await readWorkTree(root)) ?? {};
      if (linked?.common !== worktree.linked.common || (await isElsewhere(this.#store, base)))
        throw new RepoconfError(1102, `${root} is not a linked worktree of the repository ${base} any more.`);
      const known = this.of(base).filter(id => repositories.brief(id)?.path === folder);
      for (const id of known) if (!(await isElsewhere(this.#store, id))) return id;
      const moved = await this.#movedTo(base, worktree);
      if (moved !== undefined) {
        await roster.update(moved, { path: folder });
        return moved;
      }
      // What was here before has its slot and its local values until then.
      for (const id of known) await settleWorktree(this.#store, id, linked.common);
      const id = randomBytes(12).toString("hex");
      const place = { path: folder, inTree: true, base, linked: { name: linked.name, slot: this.#freeSlot(base) } };
      await roster.add({ id, name: `${name}@${linked.name}`, ...place, actor });
      return id;
    });
  }

  /**
   * Name and slot of a worktree whose base keeps its values in the home, so that it is no repository of its own. Undefined if no slot can be
   * kept. Throws UnreachableDiskError.
   */
  slotIn(base: string, { linked }: AddedWorktree): Promise<LinkedName | undefined> {
    return this.#lock(async () => {
      const pointer = join(await realpath(this.#store.paths.repositories), `${base}.json`);
      const slot = await keptSlot(linked, markDigits(pointer));
      return slot === undefined ? undefined : { name: linked.name, slot };
    });
  }

  /** See `settleWorktree`. Call it when a worktree's folder is missing, or another one. */
  settle(id: string): Promise<boolean> {
    return this.#lock(() => settleWorktree(this.#store, id));
  }

  #freeSlot(base: string): number {
    const taken = new Set(this.of(base).map(id => this.#store.repositories.brief(id)?.linked?.slot));
    let slot = 1;
    while (taken.has(slot)) slot += 1;
    return slot;
  }

  /** One of the base's that git has moved: our mark is in the folder that git keeps of it. */
  async #movedTo(base: string, { root }: AddedWorktree): Promise<string | undefined> {
    const { repositories, paths } = this.#store;
    const home = await realpath(paths.repositories);
    const ids = (await pointersTo(root)).filter(one => dirname(one) === home).map(one => parse(one).name);
    return ids.find(id => repositories.brief(id)?.base === base);
  }

  /**
   * Attaches the worktree that contains a folder, for a key that may read its base. The disk is read only where git's folders of such
   * bases are, and never at the path that the key names.
   */
  async attachListed(caller: Caller, path: string, canSee: (id: string) => boolean): Promise<void> {
    for (const id of this.#basesFor(caller, canSee))
      for (const worktree of await this.#list(id))
        if (path === worktree.folder || path.startsWith(join(worktree.folder, sep)))
          await this.attach(id, worktree, caller).catch(ignoreRemoved);
  }

  /** The repositories whose worktrees a key may attach. None if they are too many. */
  #basesFor({ grants }: Caller, canSee: (id: string) => boolean): readonly string[] {
    const now = this.#clock.monotonic();
    const known = this.#bases.get(grants);
    if (known !== undefined && now <= known.at + listAge) return known.ids;
    const { repositories } = this.#store;
    const ids: string[] = [];
    for (const id of repositories.ids()) {
      if (ids.length > mostBases) break;
      const { inTree, base } = repositories.brief(id) ?? {};
      if (inTree && base === undefined && canSee(id)) ids.push(id);
    }
    const bases = { at: now, ids: ids.length > mostBases ? [] : ids };
    this.#bases.set(grants, bases);
    return bases.ids;
  }

  #list(base: string): Promise<readonly AddedWorktree[]> {
    const now = this.#clock.monotonic();
    const known = this.#listed.get(base);
    if (known !== undefined && now <= known.at + listAge) return known.found;
    const found = this.#findAll(base).catch(() => []);
    this.#listed.set(base, { at: now, found });
    return found;
  }

  async #findAll(base: string): Promise<AddedWorktree[]> {
    const { path } = this.#store.repositories.brief(base) ?? {};
    const real = path && (await foreignDisks.ask(path, () => realFolder(path)));
    const tree = real ? await findWorkTree(real) : undefined;
    const common = tree && (await commonFolderOf(tree));
    if (!real || tree === undefined || common === undefined) return [];
    const found: AddedWorktree[] = [];
    for await (const { folder: root, linked } of linkedWorktrees(common)) {
      const folder = join(root, relative(tree.folder, real));
      if (root !== tree.folder && (await isFolder(folder))) found.push({ root, linked, folder });
    }
    return found;
  }
}

/** Whether the worktree is what it was, the request asks once more. */
function ignoreRemoved(error: unknown): void {
  if (error instanceof UnreachableDiskError) return;
  if (!(error instanceof RepoconfError) || error.code !== 1102) throw error;
}
