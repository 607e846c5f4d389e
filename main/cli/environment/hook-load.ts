import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { RepoconfClient } from "../../../shared/client/client.ts";
import { splitConfigPath } from "../../../shared/config-path.ts";
import { RepoconfError } from "../../../shared/errors.ts";
import type { RepositoryEntry } from "../../../shared/protocol.ts";
import { UnreachableDiskError } from "../../files/foreign-disks.ts";
import { readForeignFile } from "../../files/foreign-file.ts";
import { FileTooLargeError } from "../../files/unreadable-file-error.ts";
import type { Home } from "../../home/home.ts";
import { type Fields, listFields } from "../connect/fields.ts";
import { currentRepository } from "../connect/repositories.ts";
import { homeOf, openSession } from "../connect/session.ts";
import { CommandError, exitCodes, exitProcess } from "../output/exit-codes.ts";
import { describeError, shellQuoted } from "../output/messages.ts";
import { flushOutput, printValue, visible } from "../output/terminal.ts";
import { environmentFields, readVariables, UntrustedEnvironmentError } from "./environment.ts";
import { type HookShell, largestFile } from "./hook-scripts.ts";
import { resolveVariables } from "./secrets.ts";

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
  exitProcess(exitCodes.done);
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
      const found = await readForeignFile(file, { maximumBytes: largestFile }).catch((error: Error) => error);
      // The script would read a part of the file, or wait for the disk.
      if (found instanceof FileTooLargeError || found instanceof UnreachableDiskError) return [];
      // The script has no text of a file that is missing or not regular.
      const text = found === null || found instanceof Error ? "" : found.bytes.toString();
      return [{ file, text: text.includes("\0") || text.includes("\ufffd") ? undefined : text }];
    }),
  );
  return stamps.flat();
}

function codeOf({ variables, stamps, note = "" }: Loaded, shell: HookShell): string {
  const files = stamps.flatMap(({ file, text }) => {
    // The text as the script reads it: bash strips line ends at both ends.
    const known = shell === "bash" ? withoutOuterLineEnds(text) : text;
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

/** A regular expression for the end would take time that grows with the square of the number of line ends. */
function withoutOuterLineEnds(text: string | undefined): string | undefined {
  if (text === undefined) return undefined;
  let [start, end] = [0, text.length];
  while (text[start] === "\n") start += 1;
  while (end > start && text[end - 1] === "\n") end -= 1;
  return text.slice(start, end);
}
