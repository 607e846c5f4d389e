import { readFile, stat } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";

/** A git work tree, told by its files alone: git itself need not be installed. */
export interface WorkTree {
  readonly folder: string;
  /** For a linked worktree the folder of the main one. */
  readonly mainFolder?: string;
}

/** The work tree that holds the folder; undefined if there is none. */
export async function findWorkTree(folder: string): Promise<WorkTree | undefined> {
  for (let current = resolve(folder); ; current = dirname(current)) {
    const found = await readWorkTree(current);
    if (found !== undefined || dirname(current) === current) return found;
  }
}

async function readWorkTree(folder: string): Promise<WorkTree | undefined> {
  const entry = join(folder, ".git");
  const stats = await stat(entry).catch(() => undefined);
  if (stats?.isDirectory()) return { folder };
  if (!stats?.isFile()) return undefined;
  const pointer = /^gitdir: (.+)$/m.exec(await readFile(entry, "utf8"))?.[1];
  if (pointer === undefined) return undefined;
  const gitFolder = resolve(folder, pointer);
  // A linked worktree names the shared folder; a submodule, which is a repository of its own, does not.
  const common = await readFile(join(gitFolder, "commondir"), "utf8").catch(() => undefined);
  if (common === undefined) return { folder };
  return { folder, mainFolder: dirname(resolve(gitFolder, common.trim())) };
}
