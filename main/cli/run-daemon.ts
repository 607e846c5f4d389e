import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { pino } from "pino";
import { createDaemon } from "../daemon/daemon.ts";
import { HomeInUseError } from "../daemon/home/held-home.ts";
import { RotatingLog } from "../files/rotating-log.ts";
import { homeAt, homeFolder, isDefaultHome } from "../home/home.ts";
import type { DaemonCommandOptions } from "./commands/daemon.ts";
import { CommandError, exitCodes, exitProcess } from "./output/exit-codes.ts";
import { isTerminal, print, visibleLines } from "./output/terminal.ts";
import { closeInheritedDescriptors } from "./system/inherited-descriptors.ts";
import { mayResolveLocalhostOverNetwork } from "./system/localhost-names.ts";
import { growthWhileLoading } from "./young-generation.ts";

/** Milliseconds without a connection after which a daemon that a command started exits. */
const idleTimeout = 30 * 60_000;
/** Milliseconds that the printed link to the screen is valid. */
const linkLifetime = 10 * 60_000;
const logFileBytes = 5_000_000;

/** Milliseconds after the first request until the code is kept that V8 has compiled for it and for the start. */
const keptAfter = 1_000;

/**
 * Runs the daemon until it is stopped, and exits. `keepCode` is called a moment after the first request, with V8's flags as they were while
 * this was loaded.
 */
export async function runDaemon(options: DaemonCommandOptions, version: string, keepCode: () => void): Promise<void> {
  const background = options.background === true;
  if (background) closeInheritedDescriptors();
  // Node's own answer to this signal is a debugger that every user of the machine can connect to.
  process.on("SIGUSR1", () => {});
  const home = homeFolder(options.home);
  const stream = background
    ? new RotatingLog(homeAt(home).logFile, logFileBytes)
    : pino.destination({ fd: 2, sync: true });
  const logger = pino(
    { level: options.logLevel, base: null, timestamp: pino.stdTimeFunctions.isoTime },
    // The log quotes files and names, and people read it on terminals.
    { write: line => void stream.write(visibleLines(line)) },
  );
  const { promise: stopAsked, resolve: stop } = Promise.withResolvers<void>();
  collectGarbageEarly(true);
  const daemon = await createDaemon({
    home,
    version,
    logger,
    onStop: stop,
    screenFolder,
    ...(options.port !== undefined && { port: options.port }),
    ...(options.log !== undefined && { log: options.log }),
    ...(background && !options.stay && { idleTimeout }),
  }).catch((error: unknown) => {
    // The command that started it distinguishes this from other failures.
    if (background && error instanceof HomeInUseError) throw new CommandError(error.message, exitCodes.homeInUse);
    throw error;
  });
  try {
    process.once("SIGINT", stop);
    process.once("SIGTERM", stop);
    print(...greeting(daemon, version, isDefaultHome(home)));
    void daemon.firstAnswer
      .then(() => Promise.race([delay(keptAfter), stopAsked]))
      .then(() => {
        collectGarbageEarly(false);
        keepCode();
        collectGarbageEarly(true);
      });
    await stopAsked;
  } finally {
    await daemon.close();
  }
  // Everything is on disk. Engine.IO would wait half a minute for clients that have stopped polling.
  exitProcess(exitCodes.done);
}

/**
 * Makes V8 collect garbage earlier, or as it does while the daemon's code is loaded. By default it lets the heap grow to several times the
 * used size and rarely returns memory: 250 MB stayed after 10,000 repositories had been read once, and the start left 25 MB of young
 * generation. V8 reads these flags at each collection.
 */
function collectGarbageEarly(isEarly: boolean): void {
  setFlagsFromString(`--heap-growing-percent=${isEarly ? 40 : 0}`);
  setFlagsFromString(`--semi-space-growth-factor=${isEarly ? 1 : growthWhileLoading}`);
}

interface StartedDaemon {
  readonly url: string;
  readonly home: { readonly folder: string; readonly ownerKeyFile: string };
  readonly otherPort: boolean;
  createLink(lifetime: number): string;
}

function greeting(daemon: StartedDaemon, version: string, isDefaultHome: boolean): string[] {
  const { url, home, otherPort } = daemon;
  // npm runs scripts in the project's folder, the only one in which npx finds the command.
  const fromProject = process.env["npm_lifecycle_event"] === "start";
  const command = fromProject ? "npx repoconf" : "repoconf";
  const option = isDefaultHome ? "" : ` --home ${JSON.stringify(home.folder)}`;
  // Only print the link on a terminal: in a log or the system's journal others could read it.
  const screen =
    isTerminal() && !mayResolveLocalhostOverNetwork()
      ? `${daemon.createLink(linkLifetime)}   (works once, within 10 minutes; later: ${command} ui${option})`
      : `${command} ui${option}`;
  return [
    `Repoconf ${version} is running. Ctrl+C stops it.`,
    "",
    `  URL    ${url}${otherPort ? "   (the preferred port is in use)" : ""}`,
    `  Home   ${home.folder}`,
    `  Key    ${home.ownerKeyFile}`,
    `  Screen ${screen}`,
    "",
    `Try it in another terminal, in ${fromProject ? "this folder" : "the folder of a git repository"}:`,
    `  ${command} repo add${option}`,
    `  ${command} set svc.timeout=30${option}`,
    `  ${command} list${option}`,
    "",
  ];
}

/** The built screen is beside the built daemon. */
const screenFolder = join(import.meta.dirname, "screen");
