import { type ChildProcess, fork, spawnSync } from "node:child_process";
import { mkdir, mkdtemp, readFile, realpath, rm, writeFile } from "node:fs/promises";
import { delimiter, dirname, join } from "node:path";
import { expect } from "vitest";
import { stopDaemon } from "../../main/cli/commands/stop.ts";
import { homeAt } from "../../main/home/home.ts";
import packageJson from "../../package.json" with { type: "json" };
import type { CommandRequest } from "./command-worker.ts";
import { startTestDaemon, type TestDaemonOptions, until } from "./daemon.ts";
import { git } from "./git.ts";
import { homesFolder } from "./homes-in-memory.ts";
import {
  cleanEnvironment,
  type Finished,
  onTerminal,
  patientCompletion,
  type RunningProcess,
  type RunOptions,
  repoconfCommand,
  runRepoconf,
  startProcess,
} from "./spawned-daemon.ts";

/** A home whose path is too long for a Unix socket is reached through the port: the same tests run with such a home too. */
const isPortRun = process.env["REPOCONF_TEST_CHANNEL"] === "port";

export type CommandHome = Awaited<ReturnType<typeof makeCommandHome>>;

/** A temporary home and work folder, in which the built command runs. The first command that needs a daemon starts it. */
export async function makeCommandHome(isOnPort = isPortRun) {
  const folder = await realpath(await mkdtemp(join(homesFolder, "repoconf-cli-")));
  const homeFolder = join(folder, isOnPort ? `home-${"h".repeat(100)}` : "home");
  const placed = (options: RunOptions = {}) => ({
    folder,
    ...options,
    environment: { REPOCONF_HOME: homeFolder, ...options.environment },
  });
  /** Runs `repoconf ARGS`, mostly in a process that has run others before; a daemon that it starts is stopped at the end. */
  const run = (args: readonly string[], options?: RunOptions) =>
    needsOwnProcess(args, options) ? runRepoconf(args, placed(options)) : runInWorker(args, placed(options));
  return {
    homeFolder,
    /** Where the commands run, unless `folder` is given. */
    workFolder: folder,
    ...outcomesOf(run),
    /** Writes a file of the home, which need not be there yet; an object as JSON. */
    put: async (path: string, content: string | object) => {
      await mkdir(dirname(join(homeFolder, path)), { recursive: true, mode: 0o700 });
      await writeFile(join(homeFolder, path), typeof content === "string" ? content : JSON.stringify(content));
    },
    /** Starts `repoconf ARGS`, which runs until a signal. */
    start: (args: readonly string[], options: RunOptions = {}) =>
      startProcess(process.execPath, [...(options.nodeArguments ?? []), repoconfCommand, ...args], placed(options)),
    /** The content of `daemon.json` while a daemon runs. */
    endpoint: async (): Promise<{ readonly url: string; readonly pid: number; readonly socket?: string }> =>
      JSON.parse(await readFile(join(homeFolder, "daemon.json"), "utf8")),
    [Symbol.asyncDispose]: async () => {
      // Does what `repoconf stop` does, but without a process, because hundreds of tests end here.
      await stopDaemon(homeAt(homeFolder), {}).catch(() => undefined);
      // A second daemon, started by a command beside a running one, may just be starting.
      await rm(folder, { recursive: true, force: true, maxRetries: 10 });
    },
  };
}

/** Ways to run `repoconf ARGS` that fail unless it ends as expected. */
export function outcomesOf(run: (args: readonly string[], options?: RunOptions) => Promise<Finished>) {
  /** Like `run`, but fails unless it exits with this code and writes nothing to standard error; returns the output. */
  const find = async (expected: number, args: readonly string[], options?: RunOptions) => {
    const { code, output, errorOutput } = await run(args, options);
    if (code !== expected || errorOutput !== "")
      throw new Error(`repoconf ${args.join(" ")} left with ${code}: ${errorOutput}`);
    return output;
  };
  const succeed = (args: readonly string[], options?: RunOptions) => find(0, args, options);
  return {
    run,
    find,
    succeed,
    /** What `repoconf ARGS --json` prints, which must succeed. */
    json: async (args: readonly string[], options?: RunOptions): Promise<ReturnType<typeof JSON.parse>> =>
      JSON.parse(await succeed([...args, "--json"], options)),
    /** Like `run`, but fails unless it exits with this code, prints nothing, and says this on standard error. */
    refuse: async (code: number, args: readonly string[], said: string | RegExp, options?: RunOptions) => {
      const errorOutput = typeof said === "string" ? expect.stringContaining(said) : expect.stringMatching(said);
      expect(await run(args, options), `repoconf ${args.join(" ")}`).toEqual({ code, output: "", errorOutput });
    },
  };
}

/** A home with a daemon in this process, for tests of commands: the start of one in the background takes a second. */
export async function makeServedHome(isOnPort = isPortRun): Promise<CommandHome> {
  return serveHome(await makeCommandHome(isOnPort));
}

/** Starts a daemon in this process for a home, which ends with it. */
export async function serveHome(home: CommandHome, options: TestDaemonOptions = {}): Promise<CommandHome> {
  const daemon = await startTestDaemon({ home: home.homeFolder, version: packageJson.version, ...options });
  return {
    ...home,
    [Symbol.asyncDispose]: async () => {
      await daemon[Symbol.asyncDispose]();
      await home[Symbol.asyncDispose]();
    },
  };
}

/** A served home with the repository "shop", whose folder the commands run in, after these sets. */
export async function makeShop(...sets: readonly (readonly string[])[]): Promise<CommandHome> {
  return addShop(await makeServedHome(), ...sets);
}

/** Adds the repository "shop" to a home, as `makeShop` does. */
export async function addShop(home: CommandHome, ...sets: readonly (readonly string[])[]): Promise<CommandHome> {
  await home.succeed(["repo", "add", home.workFolder, "--id", "shop", "--name", "shop"]);
  for (const set of sets) await home.succeed(["set", ...set]);
  return home;
}

/** Adds a repository called shop with a linked worktree; `options`: of `repo add`. Returns both folders. */
export async function addShopWithWorktree({ workFolder, succeed }: CommandHome, ...options: readonly string[]) {
  const [main, linked] = [join(workFolder, "main"), join(workFolder, "linked")] as const;
  await mkdir(main);
  await git(main, "init", "-q");
  await git(main, "commit", "-q", "--allow-empty", "-m", "first");
  await git(main, "worktree", "add", "-q", linked);
  await succeed(["repo", "add", main, "--id", "shop", ...options]);
  return [main, linked] as const;
}

/** Starts a watch of the shop, and sets values until it tells of one. */
export async function startWatch(home: CommandHome, ...options: readonly string[]): Promise<RunningProcess> {
  const watch = home.start(["watch", "--repo", "shop", ...options]);
  let hour = 0;
  await until(async () => {
    hour = (hour + 1) % 24;
    await home.succeed(["set", `svc.refresh_hour=${hour}`, "--repo", "shop"]);
    return watch.output().includes("refresh_hour");
  }, "the watch to tell of a set");
  return watch;
}

/** Adds repositories whose names are their ids, each with a new folder of that name. */
export async function addRepositories({ workFolder, succeed }: CommandHome, ...names: string[]): Promise<void> {
  for (const name of names) {
    await mkdir(join(workFolder, name));
    await succeed(["repo", "add", join(workFolder, name), "--id", name]);
  }
}

/** Adds a scope with these fields, waits until the daemon has it, and returns the path of its file. */
export async function addScope(home: CommandHome, scope: string, properties: object, more = {}): Promise<string> {
  const file = join(home.homeFolder, `scopes/${scope}.schema.json`);
  await writeFile(file, JSON.stringify({ type: "object", properties, ...more }));
  const isThere = async () => (await home.succeed(["scope", "list"])).includes(`${scope}\t`);
  await until(isThere, `the scope ${scope}`);
  return file;
}

/** An environment for shells in which `repoconf`, after these lines, is the built command on this home. */
export async function withCommand({ homeFolder, workFolder }: CommandHome, before = "") {
  const bin = join(workFolder, "bin");
  await mkdir(bin, { recursive: true });
  const program = `#!/bin/sh\n${before}\nexec "${process.execPath}" "${repoconfCommand}" "$@"\n`;
  await writeFile(join(bin, "repoconf"), program, { mode: 0o755 });
  return { REPOCONF_HOME: homeFolder, PATH: `${bin}${delimiter}${process.env["PATH"]}` };
}

/** The command `script` of util-linux gives a command a terminal. */
export const hasTerminal = process.platform === "linux" && spawnSync("script", ["--version"]).status === 0;

/** Starts `repoconf ARGS` on a terminal. `process.stdin` is what a person types, `output` what the terminal shows. */
export function startOnTerminal(home: CommandHome, args: readonly string[], options: RunOptions = {}): RunningProcess {
  const words = [process.execPath, repoconfCommand, ...args].map(word => `'${word}'`).join(" ");
  // A shell in between would be ended by Ctrl+C itself, and its exit code would be the test's.
  return startProcess("script", ["--quiet", "--return", "--command", `exec ${words}`, "/dev/null"], {
    folder: home.workFolder,
    ...options,
    environment: { REPOCONF_HOME: home.homeFolder, ...options.environment },
  });
}

/** Starts `repoconf ARGS` on a terminal and waits until it asks. */
export async function askOnTerminal(home: CommandHome, args: readonly string[]) {
  const { process: terminal, output, ended } = startOnTerminal(home, args);
  let isOver = false;
  void ended.then(() => {
    isOver = true;
  });
  await until(() => isOver || output().includes("[y/N]"), "the question");
  if (isOver) throw new Error(`repoconf ${args.join(" ")} asked nothing: ${output()}`);
  return {
    shown: output,
    /** Types the answer and waits for the exit code. */
    answer: (text: string) => {
      terminal.stdin.write(`${text}\n`);
      return ended;
    },
  };
}

/** Commands that hand their output to another program, or run until a signal. */
const ownProcess: ReadonlySet<string> = new Set(["daemon", "run", "watch"]);

function needsOwnProcess(args: readonly string[], { nodeArguments, environment }: RunOptions = {}): boolean {
  return (
    // That run, which takes longer, also shows that each command does the same in a process of its own.
    isPortRun ||
    (nodeArguments !== undefined && nodeArguments !== onTerminal) ||
    environment?.["NODE_OPTIONS"] !== undefined ||
    args.some(word => ownProcess.has(word))
  );
}

const idleWorkers: ChildProcess[] = [];

/** Runs a command in a worker that has nothing to do, or in a new one, so that commands run beside each other as the test asks. */
async function runInWorker(args: readonly string[], options: RunOptions & { folder: string }): Promise<Finished> {
  const worker = idleWorkers.pop() ?? startWorker();
  worker.channel?.ref();
  const { folder, input = "", nodeArguments } = options;
  const environment = { ...cleanEnvironment(), ...options.environment };
  const finished = await new Promise<Finished>((resolve, reject) => {
    const fail = () => reject(new Error(`repoconf ${args.join(" ")} ended its process`));
    worker.once("exit", fail).once("message", (message: Finished) => {
      worker.off("exit", fail);
      resolve(message);
    });
    const isOnTerminal = nodeArguments === onTerminal;
    const request: CommandRequest = { command: repoconfCommand, args, folder, environment, input, isOnTerminal };
    worker.send(request);
  });
  // It ends with the process of the tests, and does not keep it.
  worker.channel?.unref();
  if (idleWorkers.length < 2) idleWorkers.push(worker);
  else worker.disconnect();
  return finished;
}

function startWorker(): ChildProcess {
  const worker = fork(join(import.meta.dirname, "command-worker.ts"), {
    execArgv: patientCompletion,
    stdio: ["ignore", "ignore", "inherit", "ipc"],
  });
  worker.unref();
  return worker;
}
