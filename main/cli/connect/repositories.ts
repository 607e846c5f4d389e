import { isAbsolute, relative } from "node:path";
import type { RepoconfClient } from "../../../shared/client/client.ts";
import type { RepositoryEntry } from "../../../shared/protocol.ts";
import { findWorkTree } from "../../git/git.ts";
import type { RepositoryOptions, SessionOptions } from "../command-options.ts";
import { CommandError, exitCodes } from "../output/exit-codes.ts";
import { nearest } from "./fields.ts";

/** Opens a session for `work` on the repository that the options choose. Throws CommandError if there is none. */
export async function withRepository(
  options: SessionOptions & RepositoryOptions,
  work: (client: RepoconfClient, repository: RepositoryEntry) => Promise<void>,
): Promise<void> {
  const { withSession } = await import("./session.ts");
  await withSession(options, async ({ client }) => work(client, await chooseRepository(client, options.repo)));
}

/** The repository with this id or name; without one, the repository that contains the current folder. Throws CommandError. */
export async function chooseRepository(client: RepoconfClient, named: string | undefined): Promise<RepositoryEntry> {
  if (named !== undefined) return repositoryNamed(client, named);
  const here = await currentRepository(client);
  if (here !== undefined) return here;
  throw await unknownFolder();
}

/** The error for a folder of no known repository, which says what `repo add` would do there. */
async function unknownFolder(): Promise<CommandError> {
  const { findInTreeFile } = await import("../../check/work-tree-file.ts");
  const { stampOf } = await import("../../files/durable-text-file.ts");
  const { shellQuoted } = await import("../output/messages.ts");
  const { path, folder } = await findInTreeFile(process.cwd());
  const hasFile = (await stampOf(path)) !== undefined;
  const root = (await findWorkTree(process.cwd()))?.folder;
  const outside = root === undefined ? "repoconf repo add FOLDER" : "repoconf repo add";
  const add = hasFile && root !== folder ? `repoconf repo add ${shellQuoted(folder)}` : outside;
  const what = hasFile
    ? `The repository of ${path} is not known yet.`
    : "This folder does not belong to a known repository.";
  const values = hasFile ? ", which uses the values in that file" : "";
  return new CommandError(
    `${what} Add it${values}: ${add}\nOr name a repository with --repo. To list them: repoconf repo list`,
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

/**
 * The repository that contains the current folder: the nearest one, as in git. A linked worktree belongs to its main repository, unless
 * the worktree or a folder in it was added itself.
 */
export async function currentRepository(client: RepoconfClient): Promise<RepositoryEntry | undefined> {
  const here = process.cwd();
  const containing = await repositoryContaining(client, here);
  const workTree = await findWorkTree(here);
  if (
    workTree?.mainFolder === undefined ||
    (containing?.path !== undefined && isInside(workTree.folder, containing.path))
  ) {
    return containing;
  }
  return (await repositoryContaining(client, workTree.mainFolder)) ?? containing;
}

async function repositoryContaining(client: RepoconfClient, path: string): Promise<RepositoryEntry | undefined> {
  const [entry] = await client.run("repo/list", { path });
  return entry;
}

function isInside(folder: string, path: string): boolean {
  const way = relative(folder, path);
  return way === "" || (!way.startsWith("..") && !isAbsolute(way));
}
