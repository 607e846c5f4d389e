import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import type { RepoconfClient } from "../../../shared/client/client.ts";
import { RepoconfError } from "../../../shared/errors.ts";
import type { Grants } from "../../../shared/grants.ts";
import type { KeyEntry, RepositoryEntry } from "../../../shared/protocol.ts";
import { type Home, isDefaultHome } from "../../home/home.ts";
import { privateFile } from "../../home/prepare-home.ts";
import { chooseRepository } from "../connect/repositories.ts";
import { withSession } from "../connect/session.ts";
import { CommandError, exitCodes } from "../output/exit-codes.ts";
import { print, printNote } from "../output/terminal.ts";
import type { ServeOptions } from "./call.ts";
import { type AgentProgram, settingsFor } from "./client-settings.ts";

/** Days until the key of an agent expires. */
const keyDays = 30;

/**
 * `repoconf mcp --setup`: makes a key for an agent, in a file of the home, and prints the settings of the agent's program, which contain
 * the file's path. A key that was made before for the same program and repository is revoked.
 */
export async function setUp(program: AgentProgram, options: ServeOptions): Promise<void> {
  await withSession(options, async ({ client, home }) => {
    const chosen = await chooseRepository(client, options.repo);
    // A key for a repository is one for its linked worktrees, too.
    const [base] = chosen.base === undefined ? [] : await client.run("repo/list", { repo: chosen.base });
    const repository = base ?? chosen;
    const right = options.write ? "write" : "read";
    const stem = await nameFor(client, program, repository);
    const name = await endEarlier(client, stem, repository);
    const grants: Grants = [{ repos: [repository.id], fields: ["*"], right }];
    const expires = new Date(Date.now() + keyDays * 24 * 3_600_000).toISOString();
    const { id, key } = await client.run("key/create", { name, grants, expires, audited: true });
    // The program's settings stay as they are.
    const file = join(home.agents, `${stem}.key`);
    try {
      await mkdir(home.agents, { recursive: true, mode: 0o700 });
      await writeKey(home, file, key);
    } catch (error) {
      await client.run("key/revoke", { id });
      throw error;
    }
    const what = options.write ? "read and change" : "read";
    printNote(
      `Made the key "${name}" (${id}) in ${file}. With it, an agent may ${what} the values of ${repository.name} until ${expires.slice(0, 10)}; each of its requests is in the audit file.`,
    );
    const args = [
      ...["mcp", "--key-file", file],
      ...(isDefaultHome(home.folder) ? [] : ["--home", home.folder]),
      ...(options.write ? ["--write"] : []),
    ];
    const { note, lines } = settingsFor(program, [process.execPath, commandFile(), ...args], repository);
    printNote(note);
    print(...lines);
    printNote(`To end it: repoconf key revoke ${name}`);
    if (options.write) printNote(`To take back what it changed: repoconf undo --by ${name} --since 1h`);
  });
}

/** The file of the command that is running, so that programs without a shell's PATH find it. */
function commandFile(): string {
  const [, file] = process.argv;
  if (file === undefined) throw new CommandError("It is not known which file this command was started from.");
  return file;
}

async function writeKey(home: Home, path: string, key: string): Promise<void> {
  await rm(path, { force: true });
  const file = privateFile(home, path);
  await file.read();
  await file.write(`${key}\n`);
}

/** The name of the program and the repository, or, if a key of something else is called so, with the repository's id. Throws CommandError. */
async function nameFor(client: RepoconfClient, program: string, repository: RepositoryEntry): Promise<string> {
  const { id, name } = repository;
  const keys = await client.run("key/list", { limit: 1_000 });
  const readable = `${program}-${name.replace(/[^A-Za-z0-9]+/g, "-").replace(/^-|-$/g, "")}`.slice(0, 30);
  for (const wanted of [readable, `${readable}-${id}`])
    if (keys.every(key => key.name !== wanted || isFor(key, repository))) return wanted;
  const message = `Other keys are called ${readable} and ${readable}-${id}. Revoke one: repoconf key revoke NAME`;
  throw new CommandError(message, exitCodes.refused);
}

function isFor({ audited, grants }: KeyEntry, { id }: RepositoryEntry): boolean {
  return audited === true && grants.every(({ repos }) => repos.length === 1 && repos[0] === id);
}

/** Days in which `repoconf undo --by` surely finds the key by its name. */
const undoDays = 60;

/** The names that begin like this in the histories, as far as they can be read. */
async function actorsCalled(client: RepoconfClient, start: string): Promise<ReadonlySet<string>> {
  const names = new Set<string>();
  try {
    for await (const { actor } of client.activity(`by:${start}* since:${undoDays}d`)) names.add(actor);
  } catch (error) {
    // `undo --by` asks for an id if a name is not one key's.
    if (!(error instanceof RepoconfError)) throw error;
  }
  return names;
}

/**
 * Revokes the keys that were made for it before, and returns the name for the next one: the same, unless one of these, or another that was
 * revoked, has changed something: then with a number, so that the name in the history is that of one key.
 */
async function endEarlier(client: RepoconfClient, stem: string, repository: RepositoryEntry): Promise<string> {
  const isNumbered = (name: string) =>
    name === stem || (/^-\d+$/.test(name.slice(stem.length)) && name.startsWith(stem));
  const keys = await client.run("key/list", { limit: 1_000 });
  const own = keys.filter(key => isNumbered(key.name) && isFor(key, repository));
  const taken = new Set(keys.filter(key => !own.includes(key)).map(({ name }) => name));
  for (const name of await actorsCalled(client, stem)) taken.add(name);
  for (const { id } of own) {
    await client.run("key/revoke", { id });
    printNote(`Revoked the key ${id}, which was made for it before.`);
  }
  for (let number = 2, name = stem; ; name = `${stem}-${number++}`) if (!taken.has(name)) return name;
}
