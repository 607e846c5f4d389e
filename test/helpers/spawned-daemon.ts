import { fork, spawn } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { patience } from "./patience.ts";

export const projectFolder = resolve(import.meta.dirname, "../..");
/** The built command that a user runs; REPOCONF_TEST_COMMAND selects another build. */
export const repoconfCommand = process.env["REPOCONF_TEST_COMMAND"] ?? join(projectFolder, "dist/repoconf.js");

/** Arguments for Node that make a command treat its standard output as a terminal, though it is a pipe. */
export const onTerminal = ["--import", "data:text/javascript,process.stdout.isTTY=true"];

/** Arguments for Node with which a completion waits as long as a busy machine needs, instead of 800 milliseconds. */
export const patientCompletion = [
  "--import",
  `data:text/javascript,${encodeURIComponent(`
    import { syncBuiltinESMExports } from "node:module";
    import promises from "node:timers/promises";
    const longer = time => (time === 800 ? ${patience} : time);
    const [start, delay] = [setTimeout, promises.setTimeout];
    globalThis.setTimeout = (run, time, ...args) => start(run, longer(time), ...args);
    promises.setTimeout = (time, ...args) => delay(longer(time), ...args);
    syncBuiltinESMExports();
  `)}`,
];

export interface Finished {
  readonly code: number | null;
  readonly output: string;
  readonly errorOutput: string;
}

export interface RunOptions {
  readonly nodeArguments?: readonly string[];
  readonly input?: string;
  readonly folder?: string;
  readonly environment?: { readonly [name: string]: string };
}

/** Runs the built command until it exits. */
export function runRepoconf(args: readonly string[], options: RunOptions = {}): Promise<Finished> {
  return runProcess(process.execPath, [...(options.nodeArguments ?? []), repoconfCommand, ...args], options);
}

export async function runProcess(command: string, args: readonly string[], options: RunOptions = {}) {
  const running = startProcess(command, args, options);
  running.process.stdin.end(options.input ?? "");
  const code = await running.ended;
  return { code, output: running.output(), errorOutput: running.errorOutput() };
}

export type RunningProcess = ReturnType<typeof startProcess>;

/** Starts a process whose input stays open, and that runs until something ends it, at the latest the end of its test. */
export function startProcess(
  command: string,
  args: readonly string[],
  { folder = projectFolder, environment }: RunOptions = {},
) {
  const child = spawn(command, args, { cwd: folder, env: { ...cleanEnvironment(), ...environment } });
  // It may exit before its input is written.
  child.stdin.on("error", () => {});
  const ended = new Promise<number | null>((resolve, reject) => child.once("error", reject).once("close", resolve));
  return {
    process: child,
    output: collect(child.stdout),
    errorOutput: collect(child.stderr),
    /** Its exit code, once all its output has been read; null if a signal ended it. */
    ended,
    [Symbol.dispose]: () => void child.kill("SIGKILL"),
  };
}

export type SpawnedDaemon = Awaited<ReturnType<typeof spawnDaemon>>;

/**
 * Starts `repoconf daemon` (`command`: of another build) and waits for its greeting. An existing home is not deleted at the end. `launcher`
 * is a command that becomes the process given as its arguments.
 */
export async function spawnDaemon(
  args: readonly string[] = ["--port", "0"],
  home?: string,
  nodeArguments: readonly string[] = [],
  command: string = repoconfCommand,
  launcher: readonly string[] = [],
) {
  const homeFolder = home ?? (await mkdtemp(join(tmpdir(), "repoconf-e2e-")));
  const node = [process.execPath, ...nodeArguments, command, "daemon", "--home", homeFolder, ...args];
  const [program = process.execPath, ...rest] = [...launcher, ...node];
  const child = spawn(program, rest, { env: cleanEnvironment() });
  const output = collect(child.stdout);
  const errorOutput = collect(child.stderr);
  const ended = new Promise<number | null>(resolve => child.once("exit", code => resolve(code)));
  await new Promise<void>((resolve, reject) => {
    child.stdout.on("data", () => {
      if (/URL\s+http\S+[\s\S]*\n\n/.test(output())) resolve();
    });
    void ended.then(code => reject(new Error(`the daemon ended with ${code}: ${errorOutput()}`)));
  });
  /** Sends the signal and waits for the exit; returns the exit code, null if a signal ended it. */
  const end = async (signal: NodeJS.Signals) => {
    child.kill(signal);
    return ended;
  };
  return {
    process: child,
    homeFolder,
    url: /URL\s+(http\S+)/.exec(output())?.[1] ?? "",
    output,
    errorOutput,
    ownerKey: (await readFile(join(homeFolder, "owner.key"), "utf8")).trim(),
    end,
    [Symbol.asyncDispose]: async () => {
      if (child.exitCode === null && child.signalCode === null) await end("SIGKILL");
      if (home === undefined) await rm(homeFolder, { recursive: true, force: true });
    },
  };
}

/** Starts a program of this folder, with which messages are exchanged. */
export function forkHelper(name: string, ...args: readonly string[]) {
  const stdio = ["ignore", "ignore", "inherit", "ipc"] as const;
  return fork(join(import.meta.dirname, name), args, { execArgv: [], stdio: [...stdio] });
}

/** Removes variables that would lead a command to another home or key. */
export function cleanEnvironment(): NodeJS.ProcessEnv {
  const { REPOCONF_HOME: _, REPOCONF_API_KEY: __, ...environment } = process.env;
  return environment;
}

function collect(stream: NodeJS.ReadableStream): () => string {
  let text = "";
  stream.setEncoding("utf8");
  stream.on("data", (chunk: string) => {
    text += chunk;
  });
  return () => text;
}
