import { setTimeout as delay } from "node:timers/promises";
import type { Command } from "commander";
import { protocolVersion } from "../../shared/protocol.ts";
import { connect } from "../client/client.ts";
import { findDaemon } from "../client/locate.ts";
import { type Endpoint, readEndpoint } from "../endpoint-file.ts";
import type { Home } from "../home.ts";
import { startDaemonInBackground } from "./background.ts";
import { addSessionOptions, type SessionOptions } from "./command-options.ts";
import { CommandError, exitCodes } from "./exit-codes.ts";
import { homeOf } from "./session.ts";
import { print } from "./terminal.ts";

/** Milliseconds a daemon may take to finish what it writes. */
const stopTimeout = 30_000;

/** `repoconf stop`: asks the daemon to finish and leave, and waits until it has. */
export function addStopCommand(program: Command): void {
  addSessionOptions(program.command("stop"))
    .description("stop the daemon, once it has finished what it writes")
    .action(async (options: SessionOptions) => {
      const home = homeOf(options);
      const stopped = await stopDaemon(home, options);
      if (!stopped) throw new CommandError(`No daemon runs on the home ${home.folder}.`, exitCodes.noDaemon);
      print("The daemon has stopped.");
    });
}

/** `repoconf restart`: stops the daemon if one runs, and starts this version's in the background; it stays. */
export function addRestartCommand(program: Command): void {
  addSessionOptions(program.command("restart"))
    .description("stop the daemon and start this version's in the background")
    .action(async (options: SessionOptions) => {
      const home = homeOf(options);
      await stopDaemon(home, options);
      const { url } = await startDaemonInBackground(home, { stay: true });
      print(`The daemon runs at ${url}`);
    });
}

/** False if none runs. */
async function stopDaemon(home: Home, options: SessionOptions): Promise<boolean> {
  const endpoint = await findDaemon(home);
  if (endpoint === undefined) return false;
  await askToStop(home, endpoint, options);
  for (const end = Date.now() + stopTimeout; Date.now() < end; await delay(25)) {
    // The file goes last but for the lock; a new daemon would have made another.
    if ((await readEndpoint(home))?.instanceId !== endpoint.instanceId) return true;
  }
  throw new CommandError(`The daemon (pid ${endpoint.pid}) has not stopped within ${stopTimeout / 1000} seconds.`);
}

async function askToStop(home: Home, endpoint: Endpoint, { keyFile }: SessionOptions): Promise<void> {
  if (endpoint.protocol !== protocolVersion) {
    // It would not understand the request; but it has proven that this process is it.
    process.kill(endpoint.pid, "SIGTERM");
    return;
  }
  using client = await connect({ home: home.folder, ...(keyFile !== undefined && { keyFile }) });
  await client.run("daemon/stop", {});
}
