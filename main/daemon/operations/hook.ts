import { RepoconfError } from "../../../shared/errors.ts";
import type { Home } from "../../home/home.ts";
import { type HookAnswer, hookAnswer, linkedWorktree } from "../../hook/answer.ts";
import { hookLines } from "../../hook/lines.ts";
import type { Scopes } from "../../scopes/scopes.ts";
import type { ConfigService } from "../config/config-service.ts";
import type { FolderMarks } from "../folders/folder-marks.ts";
import type { RepositoryFinder } from "../folders/repository-finder.ts";
import type { Operations } from "../socket/dispatch.ts";
import { requireOwner } from "./repo.ts";
import { readableFields } from "./scope.ts";

/** `config/hook`: what `repoconf hook-load` prints, for a shell that asks by itself. Names and texts of files are for the owner only. */
export function hookOperations(
  service: ConfigService,
  { finder, marks }: { readonly finder: RepositoryFinder; readonly marks: FolderMarks },
  scopes: Scopes,
  home: Home,
): Pick<Operations, "config/hook"> {
  return {
    "config/hook": async ({ path, shell }, { caller }) => {
      requireOwner(caller);
      const place = await finder.placeOf(path);
      const worktree = await linkedWorktree(place.tree);
      const found = await finder.find(caller, path, place).catch(error => {
        if (error instanceof RepoconfError && error.code === 1102) return undefined;
        throw error;
      });
      const entry = found && (await service.entry(caller, found.id));
      const repository = entry && { ...entry, ...(found.linked && { linked: found.linked }) };
      // A worktree may just have become a repository.
      await marks.settled();
      const none: HookAnswer = { variables: {}, stamps: [] };
      const answer =
        repository === undefined
          ? none
          : await hookAnswer({
              ...{ home, repository, fields: readableFields(scopes, caller) },
              readValues: async () => {
                // First, because it reads the file: a shell may have seen an edit before the daemon has heard of it.
                const waiting = new Set(await service.waiting(caller, repository.id));
                const { config, masked } = await service.list(caller, { repo: repository.id });
                return { waiting, config, masked };
              },
            });
      return { result: hookLines({ ...answer, ...(worktree !== undefined && { worktree }) }, shell) };
    },
  };
}
