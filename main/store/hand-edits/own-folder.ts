import { join } from "node:path";
import { gitEvidence } from "../../git/work-tree.ts";
import type { RepositoryFiles } from "../mirror/repository-files.ts";
import type { RepositorySummary, StorePaths } from "../types.ts";

/** Of a store. */
interface KnownRepositories {
  readonly repositories: {
    brief(id: string): Pick<RepositorySummary, "path" | "inTree" | "base"> | undefined;
    get(id: string): KnownRepository | undefined;
  };
  readonly paths: Pick<StorePaths, "repositories">;
}

/** See `Repository`. */
interface KnownRepository {
  readonly files: Pick<RepositoryFiles, "findForeign" | "isFolderUnknown">;
  load(): Promise<void>;
  refresh(): Promise<unknown>;
}

/**
 * Whether the folder at the path of an in-tree repository is another one than the repository's, by git's files as they are now: before
 * anything of the repository is used for a folder that was found by its path. Throws UnreachableDiskError.
 */
export async function isElsewhere(store: KnownRepositories, id: string): Promise<boolean> {
  const { path, inTree, base } = store.repositories.brief(id) ?? {};
  if (!inTree || path === undefined) return false;
  const { isMarked, linked } = await gitEvidence(path, join(store.paths.repositories, `${id}.json`));
  const isOurs = isMarked && (base === undefined || linked !== undefined);
  return !isOurs && isForeign(store, id);
}

/** As `isElsewhere`, by all that is known of the folder: where no mark could be left, it is compared with what it was. */
async function isForeign({ repositories }: KnownRepositories, id: string): Promise<boolean> {
  const repository = repositories.get(id);
  // What it cannot read, the request tells.
  await repository?.load().catch(() => {});
  if (repository === undefined) return true;
  const foreign = (await repository.files.findForeign()) !== undefined;
  if (foreign && !repository.files.isFolderUnknown) await repository.refresh();
  return foreign;
}
