import { setTimeout as delay } from "node:timers/promises";
import type { RepoconfClient } from "../../../shared/client/client.ts";
import { RepoconfError } from "../../../shared/errors.ts";
import type { HookShell, RepositoryEntry } from "../../../shared/protocol.ts";
import { findWorkTree } from "../../git/git.ts";
import type { Home } from "../../home/home.ts";
import { type HookAnswer, hookAnswer, linkedWorktree } from "../../hook/answer.ts";
import { hookLines } from "../../hook/lines.ts";
import { readStamps } from "../../hook/stamps.ts";
import { listFields } from "../connect/fields.ts";
import { currentRepository } from "../connect/repositories.ts";
import { homeOf, openSession } from "../connect/session.ts";
import { exitCodes, exitProcess } from "../output/exit-codes.ts";
import { describeError } from "../output/messages.ts";
import { flushOutput, printValue } from "../output/terminal.ts";
import { readValues } from "./environment.ts";
import { resolveWhatCan } from "./secrets.ts";
import { socketLine } from "./socket-line.ts";

/** Milliseconds that a prompt waits for the daemon. Commands for secrets have timeouts of their own. */
const promptTimeout = 12_000;

const nothing: HookAnswer = { variables: {}, stamps: [] };

/** Prints the lines that a hook's script evaluates. Does not throw: the prompt must appear after any failure. */
export async function printHookLines(shell: HookShell, start: boolean): Promise<never> {
  const answer = await new Promise<HookAnswer>(answered => {
    const late = new AbortController();
    void load(start, () => late.abort()).then(answered);
    void delay(promptTimeout, noAnswer, { signal: late.signal }).then(answered, () => {});
  });
  printValue(socketLine(shell) + hookLines(answer, shell));
  await flushOutput();
  exitProcess(exitCodes.done);
}

const noAnswer: HookAnswer = {
  ...nothing,
  note: "The daemon does not answer. To see why: repoconf doctor",
  isTemporary: true,
};

/** `onAsking` is called before commands for secrets run. */
async function load(start: boolean, onAsking: () => void): Promise<HookAnswer> {
  let home: Home | undefined;
  try {
    home = homeOf({});
    using session = await openSession({ start });
    const { client } = session;
    const worktree = await linkedWorktree(await findWorkTree(process.cwd()));
    const repository = await currentRepository(client);
    const answer = repository === undefined ? nothing : await loadRepository(client, home, repository, onAsking);
    return { ...answer, ...(worktree !== undefined && { worktree }) };
  } catch (error) {
    const isNoDaemonRunning = error instanceof RepoconfError && error.code === 1200;
    if (home === undefined || !isNoDaemonRunning) return { ...nothing, note: describeError(error), isTemporary: true };
    const note =
      "No daemon is running, so no environment was loaded. Most commands start one, for example repoconf list.";
    // The next daemon creates this file, and then the environment is loaded.
    return { ...nothing, stamps: await readStamps([home.endpointFile]), note };
  }
}

async function loadRepository(
  client: RepoconfClient,
  home: Home,
  repository: RepositoryEntry,
  onAsking: () => void,
): Promise<HookAnswer> {
  return hookAnswer({
    ...{ home, repository, fields: await listFields(client) },
    readValues: () => readValues(client, repository),
    resolve: variables => {
      onAsking();
      return resolveWhatCan(variables, home);
    },
  });
}
