import { readdir } from "node:fs/promises";
import { isRepositoryId } from "../../../shared/repository-id.ts";
import { ignoreMissing } from "../../files/file-system.ts";

/** Files read in parallel: enough to keep the disk busy, too few to run out of file handles. */
export const readWidth = 32;

/** Ids of the repositories with a file in the folder, without those that are known; none if the folder is missing. */
export async function listRepositoryFiles(
  folder: string,
  isKnown: (id: string) => boolean = () => false,
): Promise<string[]> {
  const names = (await readdir(folder).catch(ignoreMissing)) ?? [];
  // Thousands of names are checked only if they are new.
  const added = names.filter(name => !isKnown(name.slice(0, -".json".length)));
  return added.map(repositoryOfFile).filter(id => id !== undefined);
}

/** The repository id that belongs to a file name; undefined if it is no valid id. */
export function repositoryOfFile(name: string): string | undefined {
  if (!name.endsWith(".json")) return undefined;
  const id = name.slice(0, -".json".length);
  return isRepositoryId(id) ? id : undefined;
}
