import { randomBytes } from "node:crypto";
import { stat } from "node:fs/promises";
import { basename } from "node:path";
import { RepoconfError } from "../../../shared/errors.ts";
import type { FoundWorkTree, RepositoryEntry } from "../../../shared/protocol.ts";
import { isRepositoryId } from "../../../shared/repository-id.ts";
import { missingFolder } from "../../files/describe-cause.ts";
import { foreignDisks, UnreachableDiskError } from "../../files/foreign-disks.ts";
import { findWorkTreesBelow } from "../../git/git.ts";
import { hasInTreeFile } from "../../git/work-tree.ts";
import type { Store } from "../../store/store.ts";
import { type ConfigService, unknownRepository } from "../config/config-service.ts";
import { Page } from "../config/pages.ts";
import { withoutLinks } from "../folders/folder-index.ts";
import type { FolderMarks } from "../folders/folder-marks.ts";
import { lookAtFolder } from "../folders/look-at-folder.ts";
import { absolutePath, type RepositoryFinder } from "../folders/repository-finder.ts";
import type { Caller } from "../keys/caller.ts";
import type { Operations } from "../socket/dispatch.ts";

type RepositoryOperations = Pick<
  Operations,
  "repo/list" | "repo/find" | "repo/add" | "repo/update" | "repo/remove" | "repo/scan" | "repo/look"
>;

/** The maximum number of work trees in one scan: with more, the chosen folder is too high up. */
const maxFound = 1_000;

/** `repo/*`: any key lists what it may read; only the owner manages repositories. `assertRunning` throws when the daemon stops. */
export function repositoryOperations(
  service: ConfigService,
  store: Store,
  { finder, marks }: { readonly finder: RepositoryFinder; readonly marks: FolderMarks },
  assertRunning: () => void,
): RepositoryOperations {
  /** Throws RepoconfError 1111 if a folder was added before, or, unless an id says that another one is meant, has moved. */
  const assertNew = async (folder: string, id: string | undefined) => {
    for (const known of await finder.at(folder)) {
      const isOther = await finder.isElsewhere(known);
      if (isOther && store.repositories.brief(known)?.base !== undefined) {
        // A linked worktree that was removed, unless git still lists it.
        await finder.worktrees.settle(known);
        continue;
      }
      const next = `To use it for that: repoconf repo move ${known} ${folder}. To give that up: repoconf repo remove ${known}`;
      const message = isOther
        ? `${folder} was the repository ${known}, and may be another folder now. ${next}`
        : `${folder} is already the repository ${known}.`;
      throw new RepoconfError(1111, message, { repo: known });
    }
    const moved = id === undefined ? await finder.moved.at(folder) : undefined;
    if (moved === undefined) return;
    const message = `${moved.message} To add ${folder} as another repository all the same, give it an id.`;
    throw new RepoconfError(1111, message, { repo: moved.id });
  };
  /** Throws RepoconfError 1101 or 1102. */
  const find = async (caller: Caller, path: string) => {
    const { id, worktree, linked } = await finder.find(caller, path);
    const entry = await service.entry(caller, id);
    if (entry === undefined) throw unknownRepository(id);
    return { ...entry, ...(worktree !== undefined && { worktree: worktree.root }), ...(linked && { linked }) };
  };
  return {
    "repo/list": async ({ repo, path, limit, after }, { caller }) => {
      if (path) {
        const entry = await find(caller, path).catch(ignoreUnknown);
        return { result: entry === undefined || (repo && entry.id !== repo) ? [] : [entry] };
      }
      const page = new Page<RepositoryEntry>(limit);
      for await (const entry of service.repositories(caller, { repo: repo || undefined, after: after || undefined })) {
        const last = page.entries.at(-1);
        if (page.isFull && last !== undefined) return { result: page.entries, next: last.id };
        page.add(entry);
      }
      return { result: page.entries };
    },

    "repo/find": async ({ path }, { caller }) => ({ result: await find(caller, path) }),

    "repo/add": async ({ name, path, id, inTree }, { caller }) => {
      requireOwner(caller);
      if (id && !isRepositoryId(id)) {
        throw new RepoconfError(
          1101,
          `"${id}" is not a valid id: use 1 to 64 letters, digits, _ and -, starting with a letter or digit.`,
        );
      }
      if (inTree && !path) throw new RepoconfError(1101, "An in-tree repository needs the path of its work tree.");
      const folder = path ? await existingFolder(path) : undefined;
      if (folder !== undefined) await assertNew(folder, id ?? undefined);
      const { remote: _, ...result } = await store.roster.add({
        id: id || randomBytes(12).toString("hex"),
        name,
        ...(folder !== undefined && { path: folder }),
        // A folder with an in-tree file comes with its values: without them, its programs would run with the defaults.
        inTree: inTree ?? (folder !== undefined && (await hasInTreeFile(folder))),
        mayBeKnown: !id,
        actor: caller.actor,
      });
      await marks.settled();
      return { result };
    },

    "repo/update": async ({ repo, name, path, favourite }, { caller }) => {
      requireOwner(caller);
      const id = existing(store, repo);
      if (!name && !path && typeof favourite !== "boolean")
        throw new RepoconfError(1101, "Pass at least one of name, path and favourite.");
      const folder = path && (await existingFolder(path, id));
      if (folder) await finder.assertPlaceOf(id, folder);
      const { remote: _, ...result } = await store.roster.update(id, {
        ...(name && { name }),
        ...(folder && { path: folder }),
        ...(typeof favourite === "boolean" && { favourite }),
      });
      await marks.settled();
      return { result };
    },

    "repo/scan": async ({ path }, { caller }) => {
      requireOwner(caller);
      const folder = await existingFolder(path);
      const known = await repositoriesByFolder(store, finder);
      const found: FoundWorkTree[] = [];
      for await (const tree of findWorkTreesBelow(folder, assertRunning)) {
        const repo = (await known(tree)) ?? (await finder.baseOf(tree));
        found.push({ path: tree, name: basename(tree), ...(repo !== undefined && { repo }) });
        if (found.length >= maxFound) break;
      }
      return { result: found };
    },

    "repo/look": async ({ path }, { caller }) => {
      requireOwner(caller);
      return { result: await lookAtFolder(path, finder) };
    },

    "repo/remove": async ({ repo }, { caller }) => {
      requireOwner(caller);
      const id = existing(store, repo);
      for (const worktree of finder.worktrees.of(id)) await store.roster.remove(worktree);
      const movedTo = await store.roster.remove(id);
      await marks.settled();
      return { result: { ...(movedTo !== undefined && { movedTo }) } };
    },
  };
}

function ignoreUnknown(error: unknown): undefined {
  if (!(error instanceof RepoconfError) || error.code !== 1102) throw error;
}

/** Throws RepoconfError 1105 for any key except the owner's. */
export function requireOwner(caller: Caller): void {
  if (caller.owner) return;
  throw new RepoconfError(1105, "Only the owner's key may do this.");
}

/** Throws RepoconfError 1006 or 1102. */
export function existing(store: Store, repo: string | null | undefined): string {
  if (!repo) throw new RepoconfError(1006, "Give the id of a repository as repo. To list all repositories: repo/list.");
  if (!store.repositories.has(repo)) throw unknownRepository(repo);
  return repo;
}

/** Finds the repository of a folder: by its path as given, or by its path with links resolved. */
async function repositoriesByFolder(
  store: Store,
  finder: RepositoryFinder,
): Promise<(folder: string) => Promise<string | undefined>> {
  const known: (readonly [folder: string, id: string])[] = [];
  for (const id of await store.ids()) {
    const { path } = store.repositories.brief(id) ?? {};
    if (path !== undefined) known.push([path, id], [await withoutLinks(path), id]);
  }
  const byFolder = Map.groupBy(known, ([folder]) => folder);
  return async folder => {
    for (const place of new Set([folder, await withoutLinks(folder)]))
      for (const [, id] of byFolder.get(place) ?? []) if (!(await finder.isElsewhere(id))) return id;
    return undefined;
  };
}

/** The absolute path of an existing folder. Throws RepoconfError 1101. */
async function existingFolder(path: string, repo?: string): Promise<string> {
  const folder = absolutePath(path);
  const found = await foreignDisks
    .ask(folder, () => stat(folder).catch(() => undefined))
    .catch((error: UnreachableDiskError) => error);
  if (found instanceof UnreachableDiskError)
    throw new RepoconfError(1101, `The folder ${folder} cannot be used: ${found.message}.`, { ...(repo && { repo }) });
  if (found?.isDirectory() === true) return folder;
  const message = found === undefined ? missingFolder(folder) : `${folder} is not a folder.`;
  throw new RepoconfError(1101, message, repo === undefined ? {} : { repo });
}
