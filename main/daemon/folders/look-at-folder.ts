import { opendir, stat } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import type { FolderLook } from "../../../shared/protocol.ts";
import { foreignDisks } from "../../files/foreign-disks.ts";
import { hasInTreeFile } from "../../git/work-tree.ts";
import { absolutePath, type RepositoryFinder } from "./repository-finder.ts";

/** With more, a person types on. */
const maxFolders = 50;
/** The maximum of entries that are read of a folder, which may have millions. */
const maxRead = 10_000;

/**
 * What a person who types a folder's path wants to know: how it may go on, and whether it is a repository already, or has values.
 * Throws RepoconfError 1101 if the path is not absolute; `~` is the daemon's own user's folder.
 */
export async function lookAtFolder(typed: string, finder: RepositoryFinder): Promise<FolderLook> {
  const path = absolutePath(typed.replace(/^~(?=$|[/\\])/, () => homedir()));
  const isWhole = /[/\\]$/.test(typed);
  const above = isWhole ? path : dirname(path);
  const begin = isWhole ? "" : path.slice(above.length).replace(/^[/\\]/, "");
  const isThere = await ask(path, async () => (await stat(path)).isDirectory(), false);
  const known = isThere ? await repositoryAt(path, finder) : undefined;
  return {
    path,
    folders: await ask(above, () => foldersIn(above, begin), []),
    ...(known !== undefined && { repo: known }),
    // What stands there under this name and cannot be used is said when the folder is added.
    ...(isThere && (await hasInTreeFile(path).catch(() => false)) && { hasFile: true }),
  };
}

async function repositoryAt(path: string, finder: RepositoryFinder): Promise<string | undefined> {
  for (const id of await finder.at(path)) if (!(await finder.isElsewhere(id))) return id;
  return undefined;
}

/** The names of the folders in a folder, links to folders included, that begin so. Hidden ones only if that is asked for. */
async function foldersIn(above: string, begin: string): Promise<readonly string[]> {
  const found: string[] = [];
  let read = 0;
  for await (const entry of await opendir(above)) {
    read += 1;
    if (read > maxRead || found.length >= maxFolders) break;
    const { name } = entry;
    if (!name.toLowerCase().startsWith(begin.toLowerCase()) || (name.startsWith(".") && !begin.startsWith(".")))
      continue;
    const leads =
      entry.isSymbolicLink() &&
      (await stat(join(above, name)).then(
        to => to.isDirectory(),
        () => false,
      ));
    if (entry.isDirectory() || leads) found.push(name);
  }
  return found.sort();
}

/** What a disk says that may not answer, or have nothing there. */
function ask<Answer>(folder: string, call: () => Promise<Answer>, otherwise: Answer): Promise<Answer> {
  return foreignDisks.ask(folder, call).catch(() => otherwise);
}
