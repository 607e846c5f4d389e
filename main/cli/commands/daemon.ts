import { type Command, InvalidArgumentError, Option } from "commander";
import { addHomeOption } from "../command-options.ts";

export interface DaemonCommandOptions {
  readonly home?: string;
  readonly port?: number;
  readonly log?: string;
  readonly logLevel: string;
  readonly background?: boolean;
  readonly stay?: boolean;
}

const logLevels = ["fatal", "error", "warn", "info", "debug", "silent"];

/** `repoconf daemon`: the daemon in the foreground, until SIGINT, SIGTERM or `daemon/stop`. Only its options; daemon-program.ts runs it. */
export function addDaemonCommand(program: Command): Command {
  return (
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
  );
}

function parsePort(text: string): number {
  const port = Number(text);
  if (/^\d{1,5}$/.test(text) && port <= 65_535) return port;
  throw new InvalidArgumentError("A port is a whole number from 0 to 65535.");
}
