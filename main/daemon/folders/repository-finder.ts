import { isAbsolute, join, relative, resolve } from "node:path";
import { RepoconfError } from "../../../shared/errors.ts";
import { limits } from "../../../shared/limits.ts";
import { UnreachableDiskError } from "../../files/foreign-disks.ts";
import { findWorkTree, mainWorkTree } from "../../git/git.ts";
import type { ConfigService } from "../config/config-service.ts";
import type { Caller } from "../keys/caller.ts";
import { type FolderIndex, withoutLinks } from "./folder-index.ts";

/** Which repository contains a folder (docs/protocol.md, "Which repository is a folder"). */
export class RepositoryFinder {
  readonly #index: FolderIndex;
  readonly #service: Pick<ConfigService, "canSee">;

  constructor(index: FolderIndex, service: Pick<ConfigService, "canSee">) {
    this.#index = index;
    this.#service = service;
  }

  /** The id. Throws RepoconfError 1101, or 1102 if it is none that the caller may see. */
  async find(caller: Caller, path: string): Promise<string> {
    const folder = absolutePath(path);
    const id = caller.owner ? await this.#findOnDisk(folder) : await this.nearestAbove(caller, folder);
    if (id !== undefined) return id;
    const message = `The folder ${folder} is in no repository that this key may read. To list all repositories: repo/list.`;
    throw new RepoconfError(1102, message);
  }

  /**
   * The repository whose folder is `folder` or the nearest one above it, whatever git says. Only for the owner, links are resolved: where one
   * leads to would tell others something about the disk.
   */
  async nearestAbove(caller: Caller, folder: string, only?: string): Promise<string | undefined> {
    const isWanted = (id: string) => (only === undefined || id === only) && this.#service.canSee(caller, id);
    if (!caller.owner) return this.#index.nearestNamed(folder, isWanted);
    return this.#index.nearestReal(await withoutLinks(folder), isWanted);
  }

  /** By git's own files: a repository inside another one is never that other one, and a linked worktree belongs to its main work tree. */
  async #findOnDisk(folder: string): Promise<string | undefined> {
    try {
      const real = await withoutLinks(folder);
      const tree = await findWorkTree(real);
      const inside = await this.#index.nearestReal(real, () => true, tree?.folder);
      if (inside !== undefined || tree === undefined) return inside;
      const main = await mainWorkTree(tree);
      return main && (await this.#index.nearestReal(join(main, relative(tree.folder, real)), () => true, main));
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
