import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import type { Socket } from "socket.io-client";
import { build } from "vite";
import { openSocket } from "../helpers/open-socket.ts";
import { projectFolder, repoconfCommand } from "../helpers/spawned-daemon.ts";

/** Which of the two cores something runs on: what asks, or what answers. */
type Side = "asking" | "answering";

export interface Started extends AsyncDisposable {
  readonly process: ChildProcess;
  /** Milliseconds from the start of the process to what told that it is ready. */
  readonly startTime: number;
  /** The text that told so. */
  readonly output: string;
  stop(signal?: NodeJS.Signals): Promise<void>;
}

interface StartOptions {
  readonly side?: Side;
  /** Ready when standard output, or what it says beside that, matches this. */
  readonly ready: RegExp;
  readonly environment?: { readonly [name: string]: string };
}

/** The built daemon, or the bare server. */
export interface Server extends Started {
  readonly url: string;
  /** A client with the key that lets do everything. */
  connect(): Promise<Socket>;
}

/** Where and how everything that is measured runs. */
export interface Machine extends AsyncDisposable {
  /** A folder for all homes and data of this run. */
  readonly folder: string;
  readonly rounds: number;
  /** Milliseconds of one measurement. */
  readonly slice: number;
  /** For trying the benchmark itself: less of everything. */
  readonly short: boolean;
  /** The cores of both sides, if processes can be bound to them. */
  readonly cores: { readonly [side in Side]: string } | undefined;
  newFolder(name: string): Promise<string>;
  progress(text: string): void;
  start(command: string, args: readonly string[], options: StartOptions): Promise<Started>;
  /** Milliseconds that a command takes from start to end; fails if it does. */
  time(command: string, args: readonly string[], folder?: string): Promise<number>;
  daemon(home: string): Promise<Server>;
  floor(): Promise<Server>;
}

export interface MachineOptions {
  readonly short: boolean;
  progress(text: string): void;
}

export async function prepareMachine({ short, progress }: MachineOptions): Promise<Machine> {
  const folder = await mkdtemp(join(tmpdir(), "repoconf-bench-"));
  const cores = findCores();
  // What asks is this process; what it starts for the answering side is bound when it starts.
  if (cores !== undefined) execFileSync("taskset", ["-a", "-c", "-p", cores.asking, String(process.pid)]);
  const floorProgram = await bundleFloor(join(folder, "floor"));

  const pinned = (command: string, args: readonly string[], side: Side): [string, string[]] =>
    cores === undefined ? [command, [...args]] : ["taskset", ["-c", cores[side], command, ...args]];

  const start = async (command: string, args: readonly string[], options: StartOptions): Promise<Started> => {
    const begin = performance.now();
    const child = spawn(...pinned(command, args, options.side ?? "answering"), {
      cwd: folder,
      env: { ...cleanEnvironment(), ...options.environment },
      stdio: ["ignore", "pipe", "pipe"],
    });
    const { promise: ended, resolve: end } = Promise.withResolvers<void>();
    child.once("exit", () => end());
    let [output, errors] = ["", ""];
    const { promise, resolve, reject } = Promise.withResolvers<number>();
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      output += text;
      if (options.ready.test(output)) resolve(performance.now() - begin);
    });
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      errors = (errors + text).slice(-2_000);
      if (options.ready.test(errors)) resolve(performance.now() - begin);
    });
    child.once("error", reject);
    void ended.then(() => reject(new Error(`${command} has ended: ${errors}`)));
    const startTime = await promise;
    const stop = async (signal: NodeJS.Signals = "SIGTERM") => {
      if (child.exitCode === null && child.signalCode === null) child.kill(signal);
      await ended;
    };
    return { process: child, startTime, output, stop, [Symbol.asyncDispose]: () => stop("SIGKILL") };
  };

  const asServer = (started: Started, url: string, apiKey: string): Server => ({
    ...started,
    url,
    connect: () => openSocket(url, apiKey),
  });

  return {
    folder,
    rounds: short ? 2 : 7,
    slice: short ? 150 : 500,
    short,
    cores,
    progress,
    newFolder: name => mkdtemp(join(folder, `${name}-`)),
    start,
    time: (command, args, inFolder = folder) =>
      new Promise((resolve, reject) => {
        const begin = performance.now();
        const child = spawn(...pinned(command, args, "asking"), { cwd: inFolder, env: cleanEnvironment() });
        let errors = "";
        child.stderr.on("data", chunk => {
          errors += chunk;
        });
        child.stdout.resume();
        child.once("error", reject);
        child.once("exit", code => {
          if (code === 0) resolve(performance.now() - begin);
          else reject(new Error(`${command} ${args.join(" ")} left with ${code}: ${errors}`));
        });
      }),
    daemon: async home => {
      const args = [repoconfCommand, "daemon", "--home", home, "--port", "0"];
      const started = await start(process.execPath, args, { ready: /URL\s+http\S+[\s\S]*\n\n/ });
      const url = /URL\s+(http\S+)/.exec(started.output)?.[1] ?? "";
      return asServer(started, url, (await readFile(join(home, "owner.key"), "utf8")).trim());
    },
    floor: async () => {
      const started = await start(process.execPath, [floorProgram], { ready: /http\S+\n/ });
      return asServer(started, started.output.trim(), "");
    },
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
  };
}

/** The bare server as one file, made in the way that the daemon is: what differs is then not how they were packed. */
async function bundleFloor(folder: string): Promise<string> {
  await build({
    configFile: false,
    root: projectFolder,
    logLevel: "error",
    build: {
      ssr: join(import.meta.dirname, "floor-server.ts"),
      target: "node24",
      outDir: folder,
      emptyOutDir: true,
      minify: false,
      rolldownOptions: { output: { entryFileNames: "floor.mjs", chunkFileNames: "[name].mjs" } },
    },
    ssr: { noExternal: true },
  });
  return join(folder, "floor.mjs");
}

/** The last two cores that this process may use; undefined if there are fewer, or no `taskset` to bind processes to them. */
function findCores(): Machine["cores"] {
  let list: string;
  try {
    list = execFileSync("taskset", ["-c", "-p", String(process.pid)], { encoding: "utf8" });
  } catch {
    return undefined;
  }
  const cores = (list.split(":").at(-1) ?? "").split(",").flatMap(part => {
    const [first = 0, last = first] = part.trim().split("-").map(Number);
    return Array.from({ length: last - first + 1 }, (_, index) => String(first + index));
  });
  const [asking, answering] = cores.slice(-2);
  return asking === undefined || answering === undefined ? undefined : { asking, answering };
}

/** Without what would lead a command to another home or key. */
function cleanEnvironment(): NodeJS.ProcessEnv {
  const { REPOCONF_HOME: _, REPOCONF_API_KEY: __, ...environment } = process.env;
  return environment;
}

/** Resident memory of a process, in MB. */
export async function residentMemory({ process: { pid } }: Started): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, "utf8").catch(() => "");
  const kilobytes =
    /^VmRSS:\s+(\d+) kB/m.exec(status)?.[1] ??
    execFileSync("ps", ["-o", "rss=", "-p", String(pid)], { encoding: "utf8" });
  return Number(kilobytes) / 1024;
}

/** Processor time that a process has taken so far, in milliseconds; Linux counts it in hundredths of a second. */
export async function processorTime({ process: { pid } }: Started): Promise<number> {
  const text = await readFile(`/proc/${pid}/stat`, "utf8");
  // Behind the name, which may hold anything: the state is the third field.
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11]) + Number(fields[12])) * 10;
}

export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>(resolve => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  await new Promise(resolve => server.close(resolve));
  return typeof address === "object" && address !== null ? address.port : 0;
}

/** Whether a command can be run here. */
export function isInstalled(command: string): boolean {
  try {
    execFileSync(command, ["--version"], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}
