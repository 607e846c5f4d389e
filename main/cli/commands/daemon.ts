import { basename, dirname, join } from "node:path";
import { setFlagsFromString } from "node:v8";
import { type Command, InvalidArgumentError, Option } from "commander";
import { addHomeOption } from "../command-options.ts";
import { CommandError, exitCodes, exitProcess } from "../output/exit-codes.ts";
import { isTerminal, print, visibleLines } from "../output/terminal.ts";
import { closeInheritedDescriptors } from "../system/inherited-descriptors.ts";
import { mayResolveLocalhostOverNetwork } from "../system/open-page.ts";

interface DaemonCommandOptions {
  readonly home?: string;
  readonly port?: number;
  readonly log?: string;
  readonly logLevel: string;
  readonly background?: boolean;
  readonly stay?: boolean;
}

/** Milliseconds without a connection after which a daemon that a command started exits. */
const idleTimeout = 30 * 60_000;
/** Milliseconds that the printed link to the screen is valid. */
const linkLifetime = 10 * 60_000;
const logFileBytes = 5_000_000;
const logLevels = ["fatal", "error", "warn", "info", "debug", "silent"];

/** `repoconf daemon`: the daemon in the foreground, until SIGINT, SIGTERM or `daemon/stop`. */
export function addDaemonCommand(program: Command, version: string): void {
  addHomeOption(program.command("daemon"))
    .description("run the daemon here, in the foreground")
    .option("--port <number>", "listen on this port or fail; 0 picks a free one", parsePort)
    .option("--log <address>", "use a log shared by several machines: nats://HOST:PORT/NAME")
    .addOption(
      new Option("--log-level <level>", "how much to log to standard error").choices(logLevels).default("warn"),
    )
    // For commands that start a daemon: the log goes into the home, and without --stay the daemon exits when idle.
    .addOption(new Option("--background").hideHelp())
    .addOption(new Option("--stay").hideHelp())
    .action((options: DaemonCommandOptions) => runDaemon(options, version));
}

function parsePort(text: string): number {
  const port = Number(text);
  if (/^\d{1,5}$/.test(text) && port <= 65_535) return port;
  throw new InvalidArgumentError("A port is a whole number from 0 to 65535.");
}

async function runDaemon(options: DaemonCommandOptions, version: string): Promise<void> {
  const background = options.background === true;
  if (background) closeInheritedDescriptors();
  // Node's own answer to this signal is a debugger that every user of the machine can connect to.
  process.on("SIGUSR1", () => {});
  const [{ createDaemon }, { HomeInUseError }, { homeAt, homeFolder, isDefaultHome }, { RotatingLog }, { pino }] =
    await Promise.all([
      import("../../daemon/daemon.ts"),
      import("../../daemon/home/held-home.ts"),
      import("../../home/home.ts"),
      import("../../files/rotating-log.ts"),
      import("pino"),
    ]);
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
  collectGarbageEarly();
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
    await stopAsked;
  } finally {
    await daemon.close();
  }
  // Everything is on disk. Engine.IO would wait half a minute for clients that have stopped polling.
  exitProcess(exitCodes.done);
}

/**
 * Makes V8 collect garbage earlier. By default it lets the heap grow to several times the used size and rarely returns memory: 250 MB
 * stayed after 10,000 repositories had been read once, and the start left 25 MB of young generation. V8 reads these flags at each
 * collection. Call this after the modules are loaded, which leaves 8 MB of young generation; with 2 MB, sets at full speed took a third
 * longer.
 */
function collectGarbageEarly(): void {
  setFlagsFromString("--heap-growing-percent=40");
  setFlagsFromString("--semi-space-growth-factor=1");
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

const here = import.meta.dirname;

/** The built screen is next to the built command; this code may be in a chunk, one folder deeper. */
const screenFolder = join(basename(here) === "chunks" ? dirname(here) : here, "screen");
