import { type Command, InvalidArgumentError, Option } from "commander";

interface DaemonCommandOptions {
  readonly home?: string;
  readonly port?: number;
  readonly logLevel: string;
}

const logLevels = ["fatal", "error", "warn", "info", "debug", "silent"];

/** `repoconf daemon`: the daemon in the foreground, until SIGINT, SIGTERM or `daemon/stop`. */
export function addDaemonCommand(program: Command, version: string): void {
  program
    .command("daemon")
    .description("run the daemon here, in the foreground")
    .option("--home <dir>", "the home folder (default: REPOCONF_HOME, else the system's data folder)")
    .option("--port <number>", "insist on this port; 0 takes any free one", parsePort)
    .addOption(new Option("--log-level <level>", "what goes to standard error").choices(logLevels).default("warn"))
    .action((options: DaemonCommandOptions) => runDaemon(options, version));
}

function parsePort(text: string): number {
  const port = Number(text);
  if (/^\d{1,5}$/.test(text) && port <= 65_535) return port;
  throw new InvalidArgumentError("A port is a whole number from 0 to 65535.");
}

async function runDaemon(options: DaemonCommandOptions, version: string): Promise<void> {
  const [{ createDaemon }, { homeFolder }, { pino }] = await Promise.all([
    import("../daemon/daemon.ts"),
    import("../home.ts"),
    import("pino"),
  ]);
  const logger = pino(
    { level: options.logLevel, base: null, timestamp: pino.stdTimeFunctions.isoTime },
    pino.destination({ fd: 2, sync: true }),
  );
  const { promise: stopAsked, resolve: stop } = Promise.withResolvers<void>();
  const daemon = await createDaemon({
    home: homeFolder(options.home),
    version,
    logger,
    onStop: stop,
    ...(options.port !== undefined && { port: options.port }),
  });
  process.once("SIGINT", stop);
  process.once("SIGTERM", stop);
  process.stdout.write(greeting(daemon, version));
  await stopAsked;
  await daemon.close();
}

interface Greeted {
  readonly url: string;
  readonly home: { readonly folder: string; readonly ownerKeyFile: string };
  readonly otherPort: boolean;
}

function greeting({ url, home, otherPort }: Greeted, version: string): string {
  const lines = [
    `Repoconf ${version} is running. Ctrl+C stops it.`,
    "",
    `  URL    ${url}${otherPort ? "   (the preferred port was taken)" : ""}`,
    `  Home   ${home.folder}`,
    `  Key    ${home.ownerKeyFile}`,
    "",
    "Try it in another terminal, from the project's folder:",
    `  npx node examples/tool.ts ${home.folder}`,
    "",
  ];
  return `${lines.join("\n")}\n`;
}
