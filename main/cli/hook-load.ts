import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { RepoconfClient } from "../../shared/client/client.ts";
import { splitConfigPath } from "../../shared/config-path.ts";
import { RepoconfError } from "../../shared/errors.ts";
import type { RepositoryEntry } from "../../shared/protocol.ts";
import type { Home } from "../home.ts";
import { environmentFields, readVariables, UntrustedEnvironmentError } from "./environment.ts";
import { CommandError, exitCodes } from "./exit-codes.ts";
import { type Fields, listFields } from "./fields.ts";
import type { HookShell } from "./hook-scripts.ts";
import { describeError } from "./messages.ts";
import { currentRepository } from "./repositories.ts";
import { resolveVariables } from "./secrets.ts";
import { homeOf, openSession } from "./session.ts";
import { shellQuoted } from "./shell-quoted.ts";
import { flushOutput, printValue, visible } from "./terminal.ts";

/** The environment to load into the shell. */
interface Loaded {
  readonly variables: { readonly [name: string]: string };
  readonly stamps: readonly Stamp[];
  /** Why variables are missing, as a message for the user. */
  readonly note?: string;
}

/** A file that the hook compares at each prompt. When it changes, the environment is loaded again. */
interface Stamp {
  readonly file: string;
  /** Read before the values, so that no change in between is missed. Undefined for a binary file. */
  readonly text: string | undefined;
}

/** Bytes. Comparing larger files would slow down each prompt noticeably. */
const largestFile = 262_144;

/** Milliseconds that a prompt waits at most, a little more than the timeout for secrets. */
const promptTimeout = 12_000;

/** Prints the code that a hook's script evaluates, which quotes every value. Does not throw: the prompt must appear after any failure. */
export async function printHookCode(shell: HookShell, start: boolean): Promise<never> {
  const loaded = await Promise.race([
    load(start),
    delay(promptTimeout, {
      variables: {},
      stamps: [],
      note: "The daemon does not answer. To see why: repoconf doctor",
    } satisfies Loaded),
  ]);
  printValue(codeOf(loaded, shell));
  await flushOutput();
  process.exit(exitCodes.done);
}

async function load(start: boolean): Promise<Loaded> {
  let home: Home | undefined;
  try {
    home = homeOf({});
    using session = await openSession({ start });
    const repository = await currentRepository(session.client);
    return repository === undefined ? nothing() : await loadRepository(session.client, home, repository);
  } catch (error) {
    const isNoDaemonRunning = error instanceof RepoconfError && error.code === 1200;
    if (home === undefined || !isNoDaemonRunning) return { ...nothing(), note: describeError(error) };
    const note =
      "No daemon is running, so no environment was loaded. Any command starts one, for example repoconf status.";
    // The next daemon creates this file, and then the environment is loaded.
    return { variables: {}, stamps: await readStamps([home.endpointFile]), note };
  }
}

async function loadRepository(client: RepoconfClient, home: Home, repository: RepositoryEntry): Promise<Loaded> {
  const fields = await listFields(client);
  const stamps = await readStamps(filesOf(home, repository, fields));
  // Only needed while values are untrusted: accepting them changes no other file.
  const trust = await readStamps([home.trustFile]);
  try {
    const variables = await resolveVariables(await readVariables(client, repository), home);
    const own = Object.keys(variables).find(name => /^(__repoconf_|REPOCONF_HOOK_)/.test(name));
    if (own !== undefined) throw new CommandError(`${own} is reserved for the hook. Rename this variable.`);
    return { variables, stamps };
  } catch (error) {
    const note = describeError(error);
    const waits = error instanceof UntrustedEnvironmentError;
    return { variables: {}, stamps: waits ? [...stamps, ...trust] : stamps, note };
  }
}

/** The files that determine the environment: the repository's file, settings with commands for secrets, and schemas with `x-env`. */
function filesOf(home: Home, { id, path, inTree }: RepositoryEntry, fields: Fields): string[] {
  const file = inTree && path !== undefined ? join(path, ".repoconf.json") : join(home.repositories, `${id}.json`);
  const scopes = new Set(environmentFields(fields).map(name => splitConfigPath(name)?.scope));
  const schemas = [...scopes].filter(scope => scope !== undefined && scope !== "svc");
  return [file, home.settingsFile, ...schemas.map(scope => join(home.scopes, `${scope}.schema.json`))];
}

function nothing(): Loaded {
  return { variables: {}, stamps: [] };
}

async function readStamps(files: readonly string[]): Promise<Stamp[]> {
  const stamps = await Promise.all(
    files.map(async file => {
      const stats = await stat(file).catch(() => undefined);
      if (stats !== undefined && (!stats.isFile() || stats.size > largestFile)) return [];
      const text = (await readFile(file).catch(() => Buffer.of())).toString();
      return [{ file, text: text.includes("\0") || text.includes("\ufffd") ? undefined : text }];
    }),
  );
  return stamps.flat();
}

function codeOf({ variables, stamps, note = "" }: Loaded, shell: HookShell): string {
  const files = stamps.flatMap(({ file, text }) => {
    // The text as the script reads it: bash strips line ends at both ends, zsh at the end.
    const known = shell === "bash" ? text?.replace(/^\n+|\n+$/g, "") : text?.replace(/\n+$/, "");
    return [
      `__repoconf_files+=(${shellQuoted(file)})`,
      known === undefined ? `__repoconf_read ${shellQuoted(file)}` : `__repoconf_text=${shellQuoted(known)}`,
      `__repoconf_texts+=("$__repoconf_text")`,
    ];
  });
  const sets = Object.entries(variables).map(([name, value]) => `__repoconf_set ${name} ${shellQuoted(value)}`);
  const notes = `__repoconf_note=${shellQuoted(note.split("\n").map(visible).join(" "))}`;
  return [...files, notes, ...sets, "__repoconf_made=1", ""].join("\n");
}
