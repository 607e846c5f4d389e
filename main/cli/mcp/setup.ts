import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import type { RepoconfClient } from "../../../shared/client/client.ts";
import type { Grants } from "../../../shared/grants.ts";
import type { RepositoryEntry } from "../../../shared/protocol.ts";
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
    const repository = await chooseRepository(client, options.repo);
    const right = options.write ? "write" : "read";
    const name = await freeName(client, program, repository);
    const grants: Grants = [{ repos: [repository.id], fields: ["*"], right }];
    const expires = new Date(Date.now() + keyDays * 24 * 3_600_000).toISOString();
    const { id, key } = await client.run("key/create", { name, grants, expires, audited: true });
    const file = join(home.agents, `${name}.key`);
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
    printNote(
      `To end it: repoconf key revoke ${name}${options.write ? `\nTo take back what it changed: repoconf undo --by ${name} --since 1h` : ""}`,
    );
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

/** The name of the key: that of the program and the repository. Revokes a key that has it and is for the same. */
async function freeName(client: RepoconfClient, program: string, { id, name }: RepositoryEntry): Promise<string> {
  const keys = await client.run("key/list", { limit: 1_000 });
  const isFor = (grants: Grants) => grants.every(({ repos }) => repos.length === 1 && repos[0] === id);
  const readable = `${program}-${name.replace(/[^A-Za-z0-9]+/g, "-").replace(/^-|-$/g, "")}`.slice(0, 30);
  for (const wanted of [readable, `${readable}-${id}`]) {
    const taken = keys.find(key => key.name === wanted);
    if (taken !== undefined && !(taken.audited && isFor(taken.grants))) continue;
    if (taken !== undefined) {
      await client.run("key/revoke", { id: taken.id });
      printNote(`Revoked the key ${taken.id}, which was made for it before.`);
    }
    return wanted;
  }
  const message = `Other keys are called ${readable} and ${readable}-${id}. Revoke one: repoconf key revoke NAME`;
  throw new CommandError(message, exitCodes.refused);
}
