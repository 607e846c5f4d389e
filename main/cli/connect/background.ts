import { spawn } from "node:child_process";
import { closeSync, type FSWatcher, fstatSync, watch } from "node:fs";
import { basename } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { RepoconfError } from "../../../shared/errors.ts";
import { findDaemon } from "../../client/locate.ts";
import { describeCause } from "../../files/describe-cause.ts";
import { readHomeFile } from "../../files/foreign-file.ts";
import { openPrivateLog } from "../../files/rotating-log.ts";
import { diskProblem } from "../../home/disk.ts";
import type { Endpoint } from "../../home/endpoint-file.ts";
import type { Home } from "../../home/home.ts";
import { makeFolder } from "../../home/prepare-home.ts";
import { exitCodes } from "../output/exit-codes.ts";
import { isEndpointCorrupt, unreachable, waitForLockState } from "./lock-holder.ts";
import { StartDeadline } from "./start-deadline.ts";

/** Milliseconds until a daemon must answer or its start must make progress. */
const startTimeout = 10_000;
/** Milliseconds between two looks for its `daemon.json`, of which most disks tell. */
const lookEvery = 50;

/**
 * Starts a detached daemon on the home. It inherits no streams and almost no environment, and writes its log into the home. If two commands start one at the same
 * time, one daemon gets the home and both commands use it. Throws RepoconfError 1200 with the reason if it does not start, and
 * CommandError if another process holds the home and cannot be reached. `find` finds the daemon once it is ready.
 */
export async function startDaemonInBackground(
  home: Home,
  { stay = false, find = findDaemon }: { readonly stay?: boolean; readonly find?: typeof findDaemon } = {},
): Promise<Endpoint> {
  const command = process.argv[1];
  if (command === undefined)
    throw new RepoconfError(1200, "Cannot start a daemon: the path of this command is not known.");
  await makeFolder(home.folder);
  let told = Promise.withResolvers<void>();
  using _ = watchEndpoint(home, () => told.resolve());
  for (const deadline = new StartDeadline(home, startTimeout); ; ) {
    const started = await spawnDaemon(command, home, stay);
    for (;;) {
      const over = await Promise.race([started.ended, told.promise, delay(lookEvery)]);
      told = Promise.withResolvers();
      const endpoint = await find(home);
      if (endpoint !== undefined) return endpoint;
      if (over === undefined && !(await deadline.hasPassed())) continue;
      // Another daemon holds the home. It started first and will answer soon, or it is stopping.
      const another = over === exitCodes.homeInUse;
      if (another && !(await deadline.hasPassed()) && !(await isEndpointCorrupt(home))) break;
      if (another || over === undefined) {
        const { held, endpoint: late } = await waitForLockState(home);
        if (late !== undefined) return late;
        if (held) throw await unreachable(home);
      }
      const logText = over instanceof Error ? describeCause(over) : await logSince(home, started.logged);
      // On a full disk, its log is empty.
      const why = logText || (await diskProblem(home.folder)) || "it did not answer in time";
      throw new RepoconfError(1200, `Could not start a daemon for ${home.folder}: ${why}`);
    }
    await delay(100);
  }
}

/** Has the system tell of `daemon.json`, until disposed. */
function watchEndpoint(home: Home, onChange: () => void): Disposable {
  let watcher: FSWatcher | undefined;
  try {
    watcher = watch(home.folder, (_, name) => name === basename(home.endpointFile) && onChange());
    watcher.on("error", () => {});
  } catch {
    // The system has no more watches, or its disk has none.
  }
  return { [Symbol.dispose]: () => watcher?.close() };
}

/** `ended` resolves with the exit code, null after a signal, or why it could not be started; `logged` is the size of the log before the start. */
async function spawnDaemon(
  command: string,
  home: Home,
  stay: boolean,
): Promise<{ readonly ended: Promise<number | null | Error>; readonly logged: number }> {
  // The log is its only stream. If it inherited our output, a program that reads that until it ends would wait for the daemon.
  const log = openPrivateLog(home.logFile);
  const { size: logged } = fstatSync(log);
  const args = [command, "daemon", "--home", home.folder, "--background", ...(stay ? ["--stay"] : [])];
  const child = spawn(process.execPath, args, {
    detached: true,
    stdio: ["ignore", "ignore", log],
    cwd: "/",
    env: daemonEnvironment(),
    windowsHide: true,
  });
  closeSync(log);
  const ended = new Promise<number | null | Error>(resolve => child.once("exit", resolve).once("error", resolve));
  child.unref();
  return { ended, logged };
}

async function logSince(home: Home, offset: number): Promise<string> {
  const bytes = (await readHomeFile(home.logFile).catch(() => null))?.bytes ?? Buffer.alloc(0);
  const text = bytes.subarray(offset).toString("utf8");
  // Why it ended is plain text; the log's own lines are JSON. This command adds its own name to the message.
  const plain = text.replace(/^\{.*\n/gm, "").replace(/^repoconf: /gm, "");
  return (plain.trim() === "" ? text : plain).trim();
}

/**
 * The variables of a terminal that reach a daemon which a command starts: what Node and the system's libraries read. The daemon runs no
 * programs (commands of secrets run in the command line), and everything else about it is in the home and in its arguments.
 */
const kept = /^(HOME|USER|LOGNAME|PATH|LANG|LANGUAGE|LC_[A-Z]+|TZ|TMPDIR)$/;
/** Windows ignores case. Node adds the system's own, such as SystemRoot. */
const keptOnWindows = /^(USERPROFILE|USERNAME|APPDATA|LOCALAPPDATA|PATH|TEMP|TMP|TZ)$/i;

/**
 * The environment of a daemon that outlives the terminal. Not inherited: NODE_OPTIONS could open a debugger for every user of the machine
 * or load code, and the terminal's secrets would stay in the process.
 */
function daemonEnvironment(): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => isKeptVariable(name)));
}

/** Whether a daemon that a command starts has this variable of the terminal. */
export function isKeptVariable(name: string): boolean {
  return (process.platform === "win32" ? keptOnWindows : kept).test(name);
}
