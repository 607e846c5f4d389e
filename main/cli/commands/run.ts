import type { Command } from "commander";
import type { RepoconfClient } from "../../../shared/client/client.ts";
import type { RepositoryEntry } from "../../../shared/protocol.ts";
import type { Variables } from "../../../shared/variables.ts";
import type { Home } from "../../home/home.ts";
import { addOptions, type RepositoryOptions, type SessionOptions } from "../command-options.ts";
import { readVariables } from "../environment/environment.ts";
import { resolveVariables } from "../environment/secrets.ts";
import { runRows } from "../options.ts";
import { CommandError } from "../output/exit-codes.ts";
import { describeError } from "../output/messages.ts";
import { flushOutput, printFailure, printNote } from "../output/terminal.ts";
import { becomeCommand } from "../system/become-command.ts";
import { ChildCommand, type ChildOptions, codeOfSignal, forwardSignals, runOnce } from "../system/child-command.ts";
import { shortestSecret } from "../system/redactor.ts";

export interface RunOptions extends SessionOptions, RepositoryOptions {
  readonly watch?: boolean;
  readonly redact?: boolean;
}

/** `repoconf run -- COMMAND`: runs a command with the environment of a repository. */
export function addRunCommand(program: Command): void {
  addOptions(program.command("run"), runRows)
    .argument("<command...>", "the command and its arguments, preferably after --")
    .summary("run a command with the environment of a repository")
    .description(
      "run a command with the environment of a repository\n\nThe variables come from svc.envvars and from every field whose schema has x-env, and are added to the current environment. Nothing is written to disk. repoconf becomes the command, which has its process id, terminal, signals and exit code: 127 if it is not found, 126 if it cannot be run. With --watch or --redact, on Windows, and with Node before 22.15, repoconf stays in front of it: it forwards SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1 and SIGUSR2, but not what the terminal sends to both, and exits with its exit code, or 128 plus the signal number if a signal killed it.",
    )
    .option("--watch", "restart it when the environment changes")
    .option("--redact", "mask secrets in what it prints, except on a terminal")
    // Options after the command belong to the command.
    .passThroughOptions()
    .action(run);
}

async function run(command: readonly string[], options: RunOptions): Promise<void> {
  const { openSession } = await import("../connect/session.ts");
  const { chooseRepository } = await import("../connect/repositories.ts");
  let code: number;
  {
    using session = await openSession(options);
    const { client, home } = session;
    const repository = await chooseRepository(client, options.repo);
    const variables = await readVariables(client, repository, { isForRun: true });
    const environment = await resolveVariables(variables, home);
    // Without --watch the daemon is not needed any more, and may stop before the command ends.
    if (!options.watch) client.close();
    const secretsOf = (read: Variables, values: typeof environment) =>
      options.redact ? { secrets: secretsIn(read, values) } : {};
    if (options.watch) {
      code = await runWatched(command, { client, home, repository, secretsOf }, variables, environment);
    } else {
      if (!options.redact) becomeCommand(command, environment);
      code = await runOnce(command, environment, secretsOf(variables, environment));
    }
  }
  await flushOutput();
  process.exit(code);
}

interface Watched {
  readonly client: RepoconfClient;
  readonly home: Home;
  readonly repository: RepositoryEntry;
  secretsOf(variables: Variables, values: { readonly [name: string]: string }): ChildOptions;
}

function secretsIn(variables: Variables, values: { readonly [name: string]: string }): string[] {
  const secrets = [...variables]
    .filter(([, { isSecret }]) => isSecret)
    .map(([name]) => [name, values[name] ?? ""] as const);
  const short = secrets.filter(([, text]) => text !== "" && text.length < shortestSecret).map(([name]) => name);
  if (short.length > 0)
    printNote(
      `Not masked, because texts of fewer than ${shortestSecret} characters are part of others: ${short.join(", ")}.`,
    );
  return secrets.map(([, text]) => text);
}

/** Runs the command and restarts it after each change of its environment, until a signal ends it or the repository is removed. */
async function runWatched(
  command: readonly string[],
  { client, home, repository, secretsOf }: Watched,
  variables: Variables,
  environment: { readonly [name: string]: string },
): Promise<number> {
  const stop = new AbortController();
  let current = variables;
  let signalled: NodeJS.Signals | undefined;
  let nothingRan = false;
  let running = start(variables, environment);
  using _signals = forwardSignals((signal, isForCommand) => {
    if (isForCommand) running.child.kill(signal);
    if (signal !== "SIGINT" && signal !== "SIGTERM" && signal !== "SIGHUP") return;
    signalled = signal;
    if (!running.hasEnded) return;
    nothingRan = true;
    stop.abort();
  });

  function start(read: Variables, values: { readonly [name: string]: string }) {
    const child = new ChildCommand(command, values, secretsOf(read, values));
    const state = { child, hasEnded: false, isReplaced: false };
    void child.ended.then(code => {
      state.hasEnded = true;
      if (state.isReplaced) return;
      // A command that cannot be started will not start with another environment either.
      if (signalled !== undefined || !child.hasStarted) stop.abort();
      else printNote(`${command[0]} exited with ${code}; it will be restarted when the environment changes.`);
    });
    return state;
  }

  let told: string | undefined;

  async function restartIfChanged(): Promise<void> {
    let values: { readonly [name: string]: string };
    let wanted: Variables;
    try {
      wanted = await readVariables(client, repository, { isForRun: true, isQuiet: true });
      told = undefined;
      if (isSame(wanted, current)) return;
      values = await resolveVariables(wanted, home);
      current = wanted;
    } catch (error) {
      // The running command keeps its environment.
      const message = describeError(error);
      if (message !== told) printFailure(message);
      told = message;
      return;
    }
    if (stop.signal.aborted) return;
    signalled = undefined;
    running.isReplaced = true;
    if (!running.hasEnded) await running.child.stop();
    if (signalled === undefined) running = start(wanted, values);
    else stop.abort();
  }

  try {
    const messages = client.watchEverything({ signal: stop.signal });
    const first = messages.next();
    // Applies changes made between reading the environment and the start of the watch.
    await restartIfChanged();
    for (let next = await first; next.done !== true; next = await messages.next()) {
      const [resource, event, payload] = next.value;
      if (resource === "repo" && event === "removed" && payload.id === repository.id)
        throw new CommandError(`${repository.name} was removed, so there is nothing left to watch.`);
      // A value that comes to wait for trust, as with another branch, changes no value.
      const isHealth = resource === "repo" && event === "health" && payload.id === repository.id;
      const isOurs = isHealth || (resource === "config" && payload.repo === repository.id);
      if (isOurs || resource === "scope" || (resource === "connection" && event === "resumed"))
        await restartIfChanged();
    }
  } catch (error) {
    // The command keeps running; repoconf exits when it exits.
    printFailure(describeError(error));
  }
  const code = await running.child.ended;
  return nothingRan ? codeOfSignal(signalled ?? null) : code;
}

function isSame(one: Variables, other: Variables): boolean {
  return one.size === other.size && [...one].every(([name, { text }]) => other.get(name)?.text === text);
}
