import { stat } from "node:fs/promises";
import { basename } from "node:path";
import type { RepoconfClient } from "../../../shared/client/client.ts";
import type { OperationResults, RepositoryEntry } from "../../../shared/protocol.ts";
import { shellQuoted } from "../../../shared/shell-quoted.ts";
import { systemErrorCode } from "../../files/file-system.ts";
import { foreignDisks } from "../../files/foreign-disks.ts";
import { printNote } from "../output/terminal.ts";
import { goneWorktree } from "./worktrees.ts";

/** The folders of repositories that do not exist. A disk that does not answer is not known to lack one. */
export async function missingFolders(entries: readonly RepositoryEntry[]): Promise<ReadonlySet<string>> {
  const paths = entries.flatMap(({ path }) => path ?? []);
  const codeOf = (path: string) => stat(path).then(() => undefined, systemErrorCode);
  const codes = await Promise.all(paths.map(path => foreignDisks.ask(path, () => codeOf(path)).catch(() => undefined)));
  return new Set(paths.filter((_, index) => codes[index] === "ENOENT"));
}

/** What to do about repositories whose folders do not exist: a line for each kind. */
export function adviceOn(gone: readonly RepositoryEntry[]): readonly string[] {
  const first = gone.find(({ base }) => base === undefined);
  const moved = `If a folder was moved: repoconf repo move ${first?.id} FOLDER; if it was deleted: repoconf repo remove ${first?.id}`;
  return [...(first ? [moved] : []), ...(gone.some(({ base }) => base !== undefined) ? [goneWorktree] : [])];
}

/** How many repositories are named that a folder may be, if none has its name. */
const maxUnlike = 3;

/**
 * The repositories that may have moved to this folder: nothing in it says so where the values are in the home, or after a backup was restored on
 * another machine. Their folders do not exist, and they have its name; else all of them, if they are few.
 */
export async function mayHaveMovedTo(client: RepoconfClient, folder: string): Promise<readonly RepositoryEntry[]> {
  // git knows where linked worktrees are.
  const entries = (await client.repositories()).filter(({ base }) => base === undefined);
  const missing = await missingFolders(entries);
  const gone = entries.filter(({ path }) => path !== undefined && missing.has(path));
  const wanted = basename(folder);
  const like = gone.filter(({ name, path = "" }) => name === wanted || basename(path) === wanted);
  return like.length > 0 ? like : gone.length > maxUnlike ? [] : gone;
}

/** Tells that a repository that was just added may be one that was there before: its values, history and trust do not come with the folder. */
export async function tellMoved(
  client: RepoconfClient,
  { id, path, recognized }: OperationResults["repo/add"],
): Promise<void> {
  if (path === undefined || recognized) return;
  for (const one of await mayHaveMovedTo(client, path)) {
    const instead = `repoconf repo remove --yes ${id} && repoconf repo move ${one.id} ${shellQuoted(path)}`;
    printNote(`${one.name} (${one.id}) was in ${one.path}, which does not exist. If it is the same: ${instead}`);
  }
}
