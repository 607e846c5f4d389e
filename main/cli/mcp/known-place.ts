import { dirname, join } from "node:path";
import { realFolder } from "../../files/real-folder.ts";
import { findWorkTree } from "../../git/git.ts";
import { inTreeFileName } from "../../git/work-tree.ts";
import type { Home } from "../../home/home.ts";
import { isThere } from "../../home/prepare-home.ts";
import { markName } from "../../hook/marks.ts";

/**
 * The outermost folder of the work tree that a folder is in, or the nearest folder with a repository's values, or one that was added;
 * undefined if it is in none. Goes by the disk, because a key is not told of repositories that it may not read.
 */
export async function knownPlace(folder: string, { folders }: Pick<Home, "folders">): Promise<string | undefined> {
  const here = await realFolder(folder);
  const tree = await findWorkTree(here);
  if (tree !== undefined) return tree.folder;
  for (let at = here; ; at = dirname(at)) {
    if ((await isThere(join(at, inTreeFileName))) || (await isThere(join(folders, at, markName)))) return at;
    if (dirname(at) === at) return undefined;
  }
}
