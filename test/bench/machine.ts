import { execFile, execFileSync, spawn } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { promisify } from "node:util";
import { bundle } from "../helpers/bundled.ts";
import { openSocket } from "../helpers/open-socket.ts";
import { cleanEnvironment, repoconfCommand } from "../helpers/spawned-daemon.ts";

/** Clients and servers run on different cores, so that they do not slow each other down. */
type Side = "client" | "server";

/** A command, its arguments, and where it runs: in the folder of the run, unless another is given. */
export type CommandLine = readonly [
  command: string,
  args: readonly string[],
  folder?: string,
  environment?: { readonly [name: string]: string },
];

/** The folder, the CPU cores and the processes of a benchmark run. */
export type Machine = Awaited<ReturnType<typeof prepareMachine>>;
export type Started = Awaited<ReturnType<Machine["start"]>>;
/** The built daemon, or the bare Socket.IO server. */
export type Server = Awaited<ReturnType<Machine["daemon"]>>;

/** `short`: measures less of everything, to test the benchmark itself. */
export async function prepareMachine(short: boolean, progress: (text: string) => void) {
  const folder = await mkdtemp(join(tmpdir(), "repoconf-bench-"));
  const cores = findCores();
  // This process is the client. Servers are pinned when they are started.
  if (cores !== undefined) execFileSync("taskset", ["-a", "-c", "-p", cores.client, String(process.pid)]);
  // Bundled like the daemon, so that bundling makes no difference between them.
  const floorProgram = await bundle("../bench/floor-server.ts", join(folder, "floor"));

  const pinned = (command: string, args: readonly string[], side: Side): [string, string[]] =>
    cores === undefined ? [command, [...args]] : ["taskset", ["-c", cores[side], command, ...args]];

  const asClient = (...[command, args, inFolder = folder, environment]: CommandLine) => {
    const options = { cwd: inFolder, env: { ...cleanEnvironment(), ...environment } };
    return [...pinned(command, args, "client"), options] as const;
  };

  /** Starts a server, which is ready when its standard output or standard error matches this. */
  const start = async (command: string, args: readonly string[], ready: RegExp) => {
    const begin = performance.now();
    const child = spawn(...pinned(command, args, "server"), {
      cwd: folder,
      env: cleanEnvironment(),
      stdio: ["ignore", "pipe", "pipe"],
    });
    const { promise: ended, resolve: end } = Promise.withResolvers<void>();
    child.once("exit", () => end());
    let [output, errors] = ["", ""];
    const { promise, resolve, reject } = Promise.withResolvers<number>();
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      output += text;
      if (ready.test(output)) resolve(performance.now() - begin);
    });
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      errors += text;
      if (ready.test(errors)) resolve(performance.now() - begin);
      errors = errors.slice(-2_000);
    });
    child.once("error", reject);
    void ended.then(() => reject(new Error(`${command} has ended: ${errors}`)));
    const startTime = await promise;
    const stop = async (signal: NodeJS.Signals = "SIGTERM") => {
      if (child.exitCode === null && child.signalCode === null) child.kill(signal);
      await ended;
    };
    return {
      process: child,
      /** Milliseconds from the start of the process to the output that says it is ready. */
      startTime,
      /** What it had printed by then. */
      output,
      stop,
      [Symbol.asyncDispose]: () => stop("SIGKILL"),
    };
  };

  const asServer = (started: Awaited<ReturnType<typeof start>>, url: string, ownerKey: string) => ({
    ...started,
    url,
    connect: () => openSocket(url, ownerKey),
  });

  return {
    /** The folder for all homes and data of this run. */
    folder,
    rounds: short ? 2 : 7,
    /** The duration of one measurement in milliseconds. */
    slice: short ? 150 : 500,
    short,
    /** The cores of both sides; undefined if processes cannot be pinned to cores here. */
    cores,
    progress,
    /** Whether the command is installed; says so if it is not, because what needs it is left out. */
    has: (command: string) => {
      try {
        execFileSync(command, ["--version"], { stdio: "ignore" });
        return true;
      } catch {
        progress(`left out: ${command} is not installed`);
        return false;
      }
    },
    /** Starts something on the cores of both sides, such as a browser, which is many processes. */
    onBothCores: async <Result>(start: () => Promise<Result>): Promise<Result> => {
      if (cores === undefined) return start();
      const pin = (list: string) => execFileSync("taskset", ["-a", "-c", "-p", list, String(process.pid)]);
      pin(`${cores.client},${cores.server}`);
      try {
        return await start();
      } finally {
        pin(cores.client);
      }
    },
    newFolder: (name: string) => mkdtemp(join(folder, `${name}-`)),
    start,
    /** Runs a command and returns its duration in milliseconds. Throws if its exit code is not 0. */
    time: (...line: CommandLine) =>
      new Promise<number>((resolve, reject) => {
        const begin = performance.now();
        const child = spawn(...asClient(...line));
        let errors = "";
        child.stderr.on("data", chunk => {
          errors += chunk;
        });
        child.stdout.resume();
        child.once("error", reject);
        child.once("exit", code => {
          if (code === 0) resolve(performance.now() - begin);
          else reject(new Error(`${line[0]} ${line[1].join(" ")} exited with code ${code}: ${errors}`));
        });
      }),
    /** Runs a command and returns what it prints. Throws if its exit code is not 0. */
    output: async (...line: CommandLine): Promise<string> => (await promisify(execFile)(...asClient(...line))).stdout,
    /** Runs a command this many times with its output thrown away, and returns the processor time of one run in milliseconds. */
    processorTime: async (times: number, ...[command, args, ...place]: CommandLine) => {
      const loop = `TIMEFORMAT="%3U %3S"; time for ((left = ${times}; left > 0; left--)); do "$@" >/dev/null || exit; done`;
      const line = asClient("bash", ["-c", loop, "bash", command, ...args], ...place);
      const { stderr } = await promisify(execFile)(...line);
      const [user = 0, system = 0] = stderr.trim().split(" ").map(Number);
      return ((user + system) * 1_000) / times;
    },
    daemon: async (home: string) => {
      const args = [repoconfCommand, "daemon", "--home", home, "--port", "0"];
      const started = await start(process.execPath, args, /URL\s+http\S+[\s\S]*\n\n/);
      const url = /URL\s+(http\S+)/.exec(started.output)?.[1] ?? "";
      return asServer(started, url, (await readFile(join(home, "owner.key"), "utf8")).trim());
    },
    floor: async () => {
      const started = await start(process.execPath, [floorProgram], /http\S+\n/);
      return asServer(started, started.output.trim(), "");
    },
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
  };
}

/** The last two cores that this process may use; undefined if there are fewer, or if `taskset` is missing. */
function findCores(): { readonly [side in Side]: string } | undefined {
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
  const [client, server] = cores.slice(-2);
  return client === undefined || server === undefined ? undefined : { client, server };
}

/** Resident memory of a process, in MB. */
export async function residentMemory({ process: { pid } }: Started): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, "utf8").catch(() => "");
  const kilobytes =
    /^VmRSS:\s+(\d+) kB/m.exec(status)?.[1] ??
    execFileSync("ps", ["-o", "rss=", "-p", String(pid)], { encoding: "utf8" });
  return Number(kilobytes) / 1024;
}

/** CPU time that a process has used so far, in milliseconds. Linux counts it in hundredths of a second. */
export async function cpuTime({ process: { pid } }: Started): Promise<number> {
  const text = await readFile(`/proc/${pid}/stat`, "utf8");
  // The second field, the name in parentheses, may contain blanks, so parse from its end. The next field is the third, the state.
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11]) + Number(fields[12])) * 10;
}
