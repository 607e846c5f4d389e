import { join, sep } from "node:path";
import type { RepoconfClient } from "../../../shared/client/client.ts";
import { RepoconfError } from "../../../shared/errors.ts";
import type { RepositoryEntry } from "../../../shared/protocol.ts";
import { realFolder } from "../../files/real-folder.ts";
import { type FoundFolder, findAddedFolder, placeOf } from "../../git/added-folder.ts";
import { findWorkTree } from "../../git/git.ts";
import type { RepositoryOptions, SessionOptions } from "../command-options.ts";
import { CommandError, exitCodes } from "../output/exit-codes.ts";
import { nearest } from "./fields.ts";

/** Opens a session for `work` on the repository that the options choose. Throws CommandError if there is none. */
export async function withRepository(
  options: SessionOptions & RepositoryOptions,
  work: (client: RepoconfClient, repository: RepositoryEntry) => Promise<void>,
  choose = chooseRepository,
): Promise<void> {
  const { withSession } = await import("./session.ts");
  await withSession(options, async ({ client }) => work(client, await choose(client, options.repo)));
}

type FoundRepository = FoundFolder & { readonly entry: RepositoryEntry };

/** The repository with this id or name; without one, the repository that contains the current folder. Throws CommandError. */
export async function chooseRepository(client: RepoconfClient, named: string | undefined): Promise<RepositoryEntry> {
  return named === undefined ? (await foundHere(client)).entry : repositoryNamed(client, named);
}

/** As `chooseRepository`, to change its values. Throws CommandError too if the current folder's work tree has none of its own. */
export async function chooseToChange(client: RepoconfClient, named: string | undefined): Promise<RepositoryEntry> {
  if (named !== undefined) return repositoryNamed(client, named);
  const { entry, worktree } = await foundHere(client);
  if (worktree === undefined) return entry;
  const { id, name } = entry;
  const message = `${worktree.root} is a linked worktree, and has no values of its own: it has those of ${name} (${id}), which all its work trees share.\nTo change them for all of these: --repo ${id}`;
  throw new CommandError(message, exitCodes.refused);
}

async function foundHere(client: RepoconfClient): Promise<FoundRepository> {
  const here = await find(client, process.cwd());
  if (here === undefined) throw await unknownFolder(client);
  return here;
}

/** The error for a folder of no known repository, which says that one has moved there, or what `repo add` would do. */
async function unknownFolder(client: RepoconfClient): Promise<CommandError> {
  const { errors } = await client.request("repo/find", { path: process.cwd() });
  const known = errors.find(({ code, repo }) => code === 1102 && repo !== undefined);
  if (known !== undefined) return new CommandError(known.message);
  const { findInTreeFile } = await import("../../check/work-tree-file.ts");
  const { stampOf } = await import("../../files/durable-text-file.ts");
  const { shellQuoted } = await import("../../../shared/shell-quoted.ts");
  const { mayHaveMovedTo } = await import("./missing-folders.ts");
  const { path, folder } = await findInTreeFile(process.cwd());
  const hasFile = (await stampOf(path)) !== undefined;
  const root = (await findWorkTree(process.cwd()))?.folder;
  const outside = root === undefined ? "repoconf repo add FOLDER" : "repoconf repo add";
  const add = hasFile && root !== folder ? `repoconf repo add ${shellQuoted(folder)}` : outside;
  const what = hasFile
    ? `The repository of ${path} is not known yet.`
    : "This folder does not belong to a known repository.";
  const values = hasFile ? ", which uses the values in that file" : "";
  const moved = root === undefined ? [] : await mayHaveMovedTo(client, root);
  return new CommandError(
    [
      `${what} Add it${values}: ${add}`,
      ...moved.map(one => `Or, if it is ${one.name}, which was in ${one.path}: repoconf repo move ${one.id}`),
      "Or name a repository with --repo. To list them: repoconf repo list",
    ].join("\n"),
  );
}

async function repositoryNamed(client: RepoconfClient, named: string): Promise<RepositoryEntry> {
  // The daemon would take an empty id for all repositories.
  if (named.trim() === "")
    throw new CommandError(
      "The repository's name is empty: perhaps a variable is not set. To list all repositories: repoconf repo list",
      exitCodes.usage,
    );
  const [byId] = await client.run("repo/list", { repo: named });
  if (byId !== undefined) return byId;
  const entries = await client.repositories();
  // The same letters may be other characters: file names of macOS are decomposed (NFD), what people type is composed (NFC).
  const called = entries.filter(entry => entry.name.normalize() === named.normalize());
  const [first, ...others] = called;
  if (first !== undefined && others.length === 0) return first;
  if (first !== undefined) {
    const ids = called.map(entry => entry.id);
    throw new CommandError(`Several repositories are called "${named}". Use an id: ${ids.join(", ")}`);
  }
  const like = nearest(
    named,
    entries.flatMap(entry => [entry.name, entry.id]),
  );
  const hint = like === undefined ? "To list all repositories: repoconf repo list" : `Did you mean "${like}"?`;
  throw new CommandError(`There is no repository "${named}". ${hint}`);
}

/** The repository that contains the current folder (docs/worktrees.md). */
export async function currentRepository(client: RepoconfClient): Promise<RepositoryEntry | undefined> {
  return (await find(client, process.cwd()))?.entry;
}

/**
 * Asks the daemon, which answers the owner by git's files. For other keys it does not read the disk, so its answer is checked here in the
 * same way: the nearest folder by name may be that of the repository around this one.
 */
async function find(client: RepoconfClient, folder: string): Promise<FoundRepository | undefined> {
  const entries = new Map<string, RepositoryEntry>();
  const found = await findAddedFolder(await placeOf(await realFolder(folder)), async (path, top) => {
    const { result, errors } = await client.request("repo/find", { path });
    const [error] = errors;
    if (error?.code === 1102) return undefined;
    if (error !== undefined) throw new RepoconfError(error.code, error.message, error);
    const place = result.path && (await realFolder(result.path).catch(() => result.path));
    if (place === undefined || (top !== undefined && place !== top && !place.startsWith(join(top, sep))))
      return undefined;
    entries.set(result.id, result);
    return { id: result.id, folder: place, base: result.base };
  });
  const entry = found && entries.get(found.id);
  return found && entry && { ...found, entry };
}
