import { isAbsolute, resolve } from "node:path";
import { RepoconfError } from "../../../shared/errors.ts";
import { limits } from "../../../shared/limits.ts";
import { UnreachableDiskError } from "../../files/foreign-disks.ts";
import { type FoundFolder, findAddedFolder } from "../../git/added-folder.ts";
import type { Store } from "../../store/store.ts";
import type { ConfigService } from "../config/config-service.ts";
import type { Caller } from "../keys/caller.ts";
import { type FolderIndex, withoutLinks } from "./folder-index.ts";
import { MovedRepositories } from "./moved-repositories.ts";
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

  /** The repository that was added with this path, or with its real one; undefined if there is none, as far as is known now. */
  async at(folder: string): Promise<string | undefined> {
    const { repositories } = this.#store;
    const paths: (string | undefined)[] = [folder, await withoutLinks(folder)];
    for (const id of repositories.ids()) if (paths.includes(repositories.brief(id)?.path)) return id;
    return undefined;
  }

  /** Throws RepoconfError 1101, or 1102 if it is none that the caller may see; to the owner, it says if it looks like one that has moved. */
  async find(caller: Caller, path: string): Promise<FoundFolder> {
    const folder = absolutePath(path);
    if (!caller.owner) {
      await this.worktrees.attachListed(caller, folder, id => this.#service.canSee(caller, id));
      const id = await this.nearestAbove(caller, folder);
      if (id !== undefined) return { id };
    } else {
      const found = await this.#findOnDisk(folder);
      const own = found?.worktree && (await this.worktrees.attach(found.id, found.worktree, caller));
      if (found !== undefined) return own === undefined ? found : { id: own };
      const moved = await this.moved.at(folder);
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

  /**
   * The repository whose folder is `folder` or the nearest one above it, whatever git says. Only for the owner, links are resolved: where one
   * leads to would tell others something about the disk.
   */
  async nearestAbove(caller: Caller, folder: string, only?: string): Promise<string | undefined> {
    const isWanted = (id: string) => (only === undefined || id === only) && this.#service.canSee(caller, id);
    if (!caller.owner) return this.#index.nearestNamed(folder, isWanted);
    return (await this.#index.nearestReal(await withoutLinks(folder), isWanted))?.id;
  }

  async #findOnDisk(folder: string): Promise<FoundFolder | undefined> {
    try {
      return await findAddedFolder(await withoutLinks(folder), async (path, top) => {
        const added = await this.#index.nearestReal(path, undefined, top);
        return added && { ...added, base: this.#store.repositories.brief(added.id)?.base };
      });
    } catch (error) {
      if (!(error instanceof UnreachableDiskError)) throw error;
      throw new RepoconfError(1101, `The folder ${folder} cannot be used: ${error.message}.`);
    }
  }
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
