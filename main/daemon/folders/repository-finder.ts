import { isAbsolute, resolve } from "node:path";
import { RepoconfError } from "../../../shared/errors.ts";
import { limits } from "../../../shared/limits.ts";
import { UnreachableDiskError } from "../../files/foreign-disks.ts";
import { type AddedFolder, type FoundFolder, findAddedFolder, type Place, placeOf } from "../../git/added-folder.ts";
import { findWorkTree } from "../../git/git.ts";
import { isElsewhere } from "../../store/hand-edits/own-folder.ts";
import type { Store } from "../../store/store.ts";
import type { LinkedName } from "../../store/types.ts";
import type { ConfigService } from "../config/config-service.ts";
import type { Caller } from "../keys/caller.ts";
import { type FolderIndex, withoutLinks } from "./folder-index.ts";
import { type Moved, MovedRepositories } from "./moved-repositories.ts";
import type { Worktrees } from "./worktrees.ts";

/** Which repository contains a folder (docs/protocol.md, "Which repository is a folder"). */
export class RepositoryFinder {
  readonly #index: FolderIndex;
  readonly #service: Pick<ConfigService, "canSee">;
  readonly #store: Store;
  readonly worktrees: Worktrees;
  readonly moved: MovedRepositories;

  constructor(
    index: FolderIndex,
    service: Pick<ConfigService, "canSee">,
    { store, worktrees }: { readonly store: Store; readonly worktrees: Worktrees },
  ) {
    this.#index = index;
    this.#service = service;
    this.#store = store;
    this.worktrees = worktrees;
    this.moved = new MovedRepositories(store);
  }

  /** The repository that a folder belongs to as a linked worktree that was not added itself; undefined if it is none. */
  async baseOf(folder: string): Promise<string | undefined> {
    const found = await this.#findOnDisk(folder).catch(() => undefined);
    return found?.worktree && found.id;
  }

  /** The repositories that were added with this path, or with its real one, as far as is known now. Another folder may be there by now. */
  async at(folder: string): Promise<readonly string[]> {
    const { repositories } = this.#store;
    const paths: (string | undefined)[] = [folder, await withoutLinks(folder)];
    return [...repositories.ids()].filter(id => paths.includes(repositories.brief(id)?.path));
  }

  /** See `isElsewhere`. */
  isElsewhere(id: string): Promise<boolean> {
    return isElsewhere(this.#store, id);
  }

  /**
   * Throws RepoconfError 1101 if the repository is a linked worktree that was not added itself, and `folder` is not that worktree: its local
   * values and the trust and grants of its base are for no other folder.
   */
  async assertPlaceOf(id: string, folder: string): Promise<void> {
    const { path = "", base, linked } = this.#store.repositories.brief(id) ?? {};
    if (base === undefined || linked === undefined) return;
    const [real, found] = [await withoutLinks(folder), await this.#findOnDisk(folder)];
    if (found?.id === id && real === (await withoutLinks(path))) return;
    const { worktree } = found ?? {};
    if (found?.id === base && worktree?.folder === real && worktree.linked.name === linked.name) return;
    const message = `${folder} is not the linked worktree "${linked.name}" of the repository ${base}, whose values these are. A move by git worktree move is followed; after a move by hand, run in the new folder: git worktree repair. To add the folder as a repository of its own: repoconf repo add ${folder}`;
    throw new RepoconfError(1101, message, { repo: id });
  }

  /** Where a path leads on the disk, for `find`. Throws RepoconfError 1101. */
  async placeOf(path: string): Promise<Place> {
    const folder = absolutePath(path);
    return placeOf(await withoutLinks(folder)).catch(cannotUse(folder));
  }

  /**
   * Throws RepoconfError 1101, or 1102 if it is none that the caller may see; to the owner, it says if it looks like one that has moved.
   * `place`: that of the path, if it is known already.
   */
  async find(caller: Caller, path: string, place?: Place): Promise<FoundFolder & { readonly linked?: LinkedName }> {
    const folder = absolutePath(path);
    if (!caller.owner) {
      await this.worktrees.attachListed(caller, folder, id => this.#service.canSee(caller, id));
      const isWanted = (id: string) => this.#service.canSee(caller, id);
      const found = await this.#own(isThere => this.#index.nearestNamed(folder, id => isWanted(id) && isThere(id)));
      if (found !== undefined) return { id: found.id };
    } else {
      const found = await this.#findOnDisk(folder, place);
      const own =
        found?.worktree && (await this.worktrees.attach(found.id, found.worktree, caller).catch(cannotUse(folder)));
      if (own !== undefined) return { id: own };
      const linked = found?.worktree && (await this.worktrees.slotIn(found.id, found.worktree));
      if (found !== undefined) return { ...found, ...(linked !== undefined && { linked }) };
      const moved = (await this.moved.at(folder)) ?? (await this.#replacedAt(folder));
      if (moved !== undefined) throw new RepoconfError(1102, moved.message, { repo: moved.id });
    }
    const message = `The folder ${folder} is in no repository that this key may read. To list all repositories: repo/list.`;
    throw new RepoconfError(1102, message);
  }

  /** As `find`, for a change of values. Throws RepoconfError 1101 too if they are not this work tree's own. */
  async findToChange(caller: Caller, path: string): Promise<string> {
    const { id, worktree } = await this.find(caller, path);
    if (worktree === undefined) return id;
    const message = `${worktree.root} is a linked worktree, and has no values of its own: it has those of the repository ${id}, which all its work trees share. To change them for all of these, name the repository: repo "${id}" (--repo ${id}).`;
    throw new RepoconfError(1101, message, { repo: id });
  }

  /** The nearest repository whose folder is still its own. `find` finds the nearest one of those that it is passed. */
  async #own(find: (isThere: (id: string) => boolean) => Promise<AddedFolder | undefined>) {
    const elsewhere = new Set<string>();
    for (;;) {
      const found = await find(id => !elsewhere.has(id));
      if (found === undefined || !(await this.isElsewhere(found.id).catch(cannotUse(found.folder)))) return found;
      elsewhere.add(found.id);
    }
  }

  /** The repository that was added with a folder, or one above it in the same work tree, in whose place another one is now. */
  async #replacedAt(folder: string): Promise<Moved | undefined> {
    const real = await withoutLinks(folder);
    const isMain = (id: string) => this.#store.repositories.brief(id)?.base === undefined;
    const found = await this.#index.nearestReal(real, isMain, (await findWorkTree(real))?.folder);
    if (found === undefined || !(await this.isElsewhere(found.id))) return undefined;
    const { id, folder: place } = found;
    const { name = id } = this.#store.repositories.brief(id) ?? {};
    const message = `${place} was ${name} (${id}), and may be another folder now: its git folder does not have Repoconf's mark. If it is the right one, such as a new clone: repoconf repo move ${id} ${place}`;
    return { id, message };
  }

  async #findOnDisk(folder: string, place?: Place): Promise<FoundFolder | undefined> {
    try {
      return await findAddedFolder(place ?? (await placeOf(await withoutLinks(folder))), async (path, top) => {
        const added = await this.#own(isThere => this.#index.nearestReal(path, isThere, top));
        return added && { ...added, base: this.#store.repositories.brief(added.id)?.base };
      });
    } catch (error) {
      return cannotUse(folder)(error);
    }
  }
}

/** Throws RepoconfError 1101 for a disk that does not answer, and any other error as it is. */
function cannotUse(folder: string): (error: unknown) => never {
  return error => {
    if (!(error instanceof UnreachableDiskError)) throw error;
    throw new RepoconfError(1101, `The folder ${folder} cannot be used: ${error.message}.`);
  };
}

/** Throws RepoconfError 1101. */
export function absolutePath(path: string): string {
  if (path.includes("\0") || !path.isWellFormed())
    throw new RepoconfError(1101, "A path cannot contain a NUL character or half of a character (a lone surrogate).");
  if (path.length > limits.pathLength)
    throw new RepoconfError(1101, `A path has at most ${limits.pathLength} characters.`);
  if (!isAbsolute(path)) throw new RepoconfError(1101, `The path "${path}" must be absolute.`);
  return resolve(path);
}
