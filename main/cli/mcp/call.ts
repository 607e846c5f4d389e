import { stat } from "node:fs/promises";
import type { RepoconfClient } from "../../../shared/client/client.ts";
import { type ErrorCode, type ErrorEntry, RepoconfError, toRepoconfError } from "../../../shared/errors.ts";
import type { JsonObject } from "../../../shared/json.ts";
import type { RepositoryEntry } from "../../../shared/protocol.ts";
import { shellQuoted } from "../../../shared/shell-quoted.ts";
import type { SessionOptions } from "../command-options.ts";
import { type Fields, listFields } from "../connect/fields.ts";
import { chooseRepository, chooseToChange } from "../connect/repositories.ts";
import { openSession, type Session } from "../connect/session.ts";
import { CommandError, exitCodes } from "../output/exit-codes.ts";
import { knownPlace } from "./known-place.ts";

export interface ServeOptions extends SessionOptions {
  readonly repo?: string;
  /** Whether the tools that change values are offered. */
  readonly write?: boolean;
}

/** What a tool works with: a connection for this one call. */
export interface Call {
  readonly client: RepoconfClient;
  readonly repository: RepositoryEntry;
  readonly fields: Fields;
  /** Whether the person named the repository, so that the folder does not count. */
  readonly isNamed: boolean;
}

/**
 * Runs `work` on a connection of its own, so that a key that has ended is refused at once, and a daemon that was restarted is found. If
 * the client cancels the call, the connection ends, and the daemon does nothing that it has not begun. Returns failures as results.
 */
export async function inCall(
  options: ServeOptions,
  signal: AbortSignal,
  work: (call: Call) => Promise<JsonObject>,
): Promise<JsonObject> {
  let repository: RepositoryEntry | undefined;
  const ask = async () => {
    await requirePrivateKey(options.keyFile);
    using session = await openSession(options);
    const { client } = session;
    signal.addEventListener("abort", () => client.close());
    if (signal.aborted) client.close();
    await requireAgentKey(client);
    repository = await repositoryOfAgent(session, options.repo);
    const fields = await listFields(client);
    return await work({ client, repository, fields, isNamed: options.repo !== undefined });
  };
  const result = await ask().catch(error => failure(inCodes(error)));
  return repository === undefined ? result : withName(result, repository);
}

/** The result with the repository's name in its errors: its id means nothing to an agent. */
function withName(result: JsonObject, { id, name }: RepositoryEntry): JsonObject {
  // Entries are JSON.
  const entries = (result["errors"] ?? []) as unknown as readonly ErrorEntry[];
  if (entries.length === 0) return result;
  // Another id may be a word of the message.
  const told = (message: string) => (/^[0-9a-f]{24}$/.test(id) ? message.replaceAll(id, name) : message);
  const named = entries.map(entry => ({
    ...entry,
    message: told(entry.message),
    ...(entry.repo === id && { repo: name }),
  }));
  return { ...result, errors: named as unknown as JsonObject[] };
}

/** Throws RepoconfError 1100 if other users can read the key's file. */
async function requirePrivateKey(file: string | undefined): Promise<void> {
  const stats = file === undefined ? undefined : await stat(file).catch(() => undefined);
  if (process.platform === "win32" || file === undefined || !stats?.isFile() || (stats.mode & 0o077) === 0) return;
  const message = `Other users may read the key file ${file} (mode ${(stats.mode & 0o777).toString(8)}), so it is not used. Make it private: chmod 600 ${shellQuoted(file)}`;
  throw new RepoconfError(1100, message);
}

/** Throws RepoconfError 1105: what an agent does must be known as the agent's, and in the audit file. */
async function requireAgentKey(client: RepoconfClient): Promise<void> {
  const { name, audited } = await client.run("key/self", {});
  if (audited) return;
  const message = `The key "${name}" is not one of an agent: its requests are not in the audit file.`;
  throw new RepoconfError(1105, message);
}

/** Throws RepoconfError 1102. */
async function repositoryOfAgent({ client, home }: Session, named: string | undefined): Promise<RepositoryEntry> {
  try {
    return await chooseRepository(client, named);
  } catch (error) {
    if (!(error instanceof CommandError)) throw error;
    if (named !== undefined) throw new RepoconfError(1102, error.message);
  }
  const folder = process.cwd();
  const place = await knownPlace(folder, home);
  // Linked worktrees belong to their repository.
  const own = (await client.repositories()).filter(({ base }, _, all) => !all.some(({ id }) => id === base));
  const [only, ...others] = own;
  const isFor = `this key is for ${own.map(({ name }) => name).join(", ") || "none"}`;
  if (place !== undefined)
    throw new RepoconfError(
      1102,
      `The folder ${folder} is in ${place}, which is no repository that this key may use: ${isFor}.`,
    );
  // Some programs start their servers in no folder of the repository.
  if (only !== undefined && others.length === 0) return only;
  throw new RepoconfError(1102, `The folder ${folder} is in no repository, and ${isFor}.`);
}

/** Throws RepoconfError 1101 if the folder is a linked worktree without values of its own, so that a change would be one of all its work trees. */
export async function requireOwnValues({ client, isNamed }: Call): Promise<void> {
  const error: unknown = isNamed
    ? undefined
    : await chooseToChange(client, undefined).then(
        () => undefined,
        one => one,
      );
  if (!(error instanceof CommandError) || error.exitCode !== exitCodes.refused) return;
  const message =
    "This folder is a linked git worktree, and this repository keeps its values elsewhere, for all its work trees. To change them for all: layer shared.";
  throw new RepoconfError(1101, message);
}

function inCodes(error: unknown): RepoconfError {
  // The commands' own words for a daemon that cannot be reached.
  return error instanceof CommandError ? new RepoconfError(1200, error.message) : toRepoconfError(error);
}

const setUpAgain =
  "Ask the person to run, in the repository: repoconf mcp --setup claude (or codex, vscode, cursor), with --write if you should change values.";

/** What an agent can do about an error. */
const nextSteps: { readonly [Code in ErrorCode]?: string } = {
  1007: "Find fields with config_find. If this one is there, the key may not do this: ask the person.",
  1008: "Call config_set with set, unset or both.",
  1011: "Find fields with config_find.",
  1100: setUpAgain,
  1101: "Correct the arguments, and call again.",
  1102: "Ask the person to start you in the folder of a repository that the key is for, or to make a key for this one, in its folder: repoconf repo add (if it is not known yet), then repoconf mcp --setup claude (or codex, vscode, cursor).",
  1103: "config_find has the type and the limits of each field.",
  1104: "Somebody changed it. Read it again with config_get, and pass that revision.",
  1105: setUpAgain,
  1106: "The repository's file is broken. Ask the person to fix it.",
  1110: "Older revisions are not kept. Use a newer one, from config_history.",
  1112: "Take a revision from config_history.",
  1200: "Ask the person to run: repoconf status",
  1201: "It may have taken effect. Look with config_history or config_get before you repeat it.",
};

/** What it can do about a field that is only proposed. */
const personDecides =
  "It is not set: it waits until a person decides. Ask them to open the page (or repoconf ui, or repoconf trust), and do not try another way.";

function nextStep({ code, details }: ErrorEntry): string | undefined {
  return details?.["proposal"] === undefined ? nextSteps[code] : personDecides;
}

/** The address of the page where a person decides about a proposal. It opens the page, and decides nothing. */
export function pageOf(repo: string, field: string): string {
  return `repoconf://repo/${repo}/${field}`;
}

/** An error with the page, if the field is only proposed. */
function withPage(entry: ErrorEntry): ErrorEntry {
  const { repo = "", field = "", details } = entry;
  if (details?.["proposal"] === undefined) return entry;
  return { ...entry, details: { ...details, page: pageOf(repo, field) } };
}

/** The result of a call that failed. */
export function failure(...errors: readonly (RepoconfError | ErrorEntry)[]): JsonObject {
  const entries = errors.map(error => withPage(error instanceof RepoconfError ? error.toEntry() : error));
  const next = entries.map(nextStep).find(step => step !== undefined);
  // Entries are JSON.
  return { errors: entries as unknown as JsonObject[], ...(next !== undefined && { next }) };
}
