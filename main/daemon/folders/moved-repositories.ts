import { realpath, stat } from "node:fs/promises";
import { dirname, join, parse, sep } from "node:path";
import { systemErrorCode } from "../../files/file-system.ts";
import { foreignDisks } from "../../files/foreign-disks.ts";
import { realFolder } from "../../files/real-folder.ts";
import { findWorkTree } from "../../git/git.ts";
import { hasInTreeFile, pointersTo } from "../../git/work-tree.ts";
import { isElsewhere } from "../../store/hand-edits/own-folder.ts";
import type { Store } from "../../store/store.ts";

/** An in-tree repository whose folder has moved, as it seems. */
export interface Moved {
  readonly id: string;
  /** Says so, with the next step. */
  readonly message: string;
}

/**
 * Recognizes an in-tree repository that is not where it was: its mark is in the .git folder, and its own folder is gone. It may also be a
 * copy, while the disk of the folder is not mounted, so a person has to say.
 */
export class MovedRepositories {
  readonly #store: Pick<Store, "repositories" | "paths">;

  constructor(store: Pick<Store, "repositories" | "paths">) {
    this.#store = store;
  }

  /** The one that was moved to a folder, or to the nearest one above it; undefined if there is none. Does not throw. */
  async at(folder: string): Promise<Moved | undefined> {
    try {
      const real = await foreignDisks.ask(folder, () => realFolder(folder));
      const tree = await findWorkTree(real);
      const found = tree === undefined ? [] : await this.#movedTo(tree.folder);
      const here = (place: string) => real === place || real.startsWith(join(place, sep));
      return found.filter(({ place }) => here(place)).sort((one, other) => other.place.length - one.place.length)[0];
    } catch {
      // Nothing is known then.
      return undefined;
    }
  }

  /** Whether the repository is not in its folder any more, or that has another spelling. */
  async #isNotAt(id: string, path: string, root: string): Promise<boolean> {
    return (await isGone(path)) || (await isSpelledAnew(path, root)) || isElsewhere(this.#store, id);
  }

  async #movedTo(root: string): Promise<(Moved & { readonly place: string })[]> {
    const home = await realpath(this.#store.paths.repositories);
    const found: (Moved & { readonly place: string })[] = [];
    for (const pointer of await pointersTo(root)) {
      const id = dirname(pointer) === home ? parse(pointer).name : "";
      const { path, inTree, base, name = id } = this.#store.repositories.brief(id) ?? {};
      if (!inTree || path === undefined || base !== undefined || !(await this.#isNotAt(id, path, root))) continue;
      const place = await placeOf(path, root);
      const message = `${place} seems to be ${name} (${id}), which was in ${path}. If it was moved: repoconf repo move ${id} ${place}`;
      found.push({ id, message, place });
    }
    return found;
  }
}

async function isGone(folder: string): Promise<boolean> {
  const code = await foreignDisks.ask(folder, () => stat(folder)).then(() => "", systemErrorCode);
  return code === "ENOENT" || code === "ENOTDIR";
}

/** Whether a folder is in this one, under a path of other letters: a disk that ignores their case finds it under the old one too. */
async function isSpelledAnew(folder: string, root: string): Promise<boolean> {
  const now = await foreignDisks.ask(folder, () => realFolder(folder)).catch(() => "");
  return now !== folder && now.toLowerCase() === folder.toLowerCase() && `${now}${sep}`.startsWith(join(root, sep));
}

/** The folder in a moved work tree that was at `path`: the longest end of the path that leads to a file with values there, or the root. */
async function placeOf(path: string, root: string): Promise<string> {
  const names = path.split(/[/\\]/).filter(name => name !== "");
  for (let first = 1; first < names.length; first++) {
    const folder = join(root, ...names.slice(first));
    if (await hasInTreeFile(folder).catch(() => false)) return folder;
  }
  return root;
}
