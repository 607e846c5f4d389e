import { setTimeout as delay } from "node:timers/promises";
import type { Command } from "commander";
import { RepoconfError } from "../../shared/errors.ts";
import { protocolVersion } from "../../shared/protocol.ts";
import { connect } from "../client/client.ts";
import { type Endpoint, readEndpoint } from "../endpoint-file.ts";
import type { Home } from "../home.ts";
import { startDaemonInBackground } from "./background.ts";
import { addConnectionOptions } from "./command-options.ts";
import { CommandError, exitCodes } from "./exit-codes.ts";
import { awaitHolding, isLockHeld, unreachable } from "./lock-holder.ts";
import { homeOf, usesOwnerKey } from "./session.ts";
import { print } from "./terminal.ts";

interface StopOptions {
  readonly home?: string;
  readonly keyFile?: string;
}

/** Milliseconds a daemon may take to finish what it writes. */
const stopTimeout = 30_000;

/** `repoconf stop`: asks the daemon to finish and leave, and waits until it has. */
export function addStopCommand(program: Command): void {
  addConnectionOptions(program.command("stop"))
    .description("stop the daemon after it has finished writing")
    .action(async (options: StopOptions) => {
      const home = homeOf(options);
      const stopped = await stopDaemon(home, options);
      if (!stopped) throw new CommandError(`No daemon is running on the home ${home.folder}.`, exitCodes.noDaemon);
      print("The daemon stopped.");
    });
}

/** `repoconf restart`: stops the daemon if one runs, and starts this version's in the background; it stays. */
export function addRestartCommand(program: Command): void {
  addConnectionOptions(program.command("restart"))
    .description("stop the daemon and start this version in the background")
    .action(async (options: StopOptions) => {
      const home = homeOf(options);
      await stopDaemon(home, options);
      const { url } = await startDaemonInBackground(home, { stay: true });
      print(`The daemon is running at ${url}`);
    });
}

/** False if none runs. Throws CommandError if one does that cannot be reached. */
export async function stopDaemon(home: Home, options: StopOptions): Promise<boolean> {
  const { held, endpoint } = await awaitHolding(home);
  if (endpoint === undefined) {
    if (held) throw await unreachable(home);
    return false;
  }
  await askToStop(home, endpoint, options);
  for (const end = Date.now() + stopTimeout; Date.now() < end; await delay(25)) {
    // The daemon removes this file just before the lock; a new daemon would have written another.
    const there = await readEndpoint(home);
    if (there?.instanceId === endpoint.instanceId) continue;
    // Gone with the daemon, or taken away from it.
    if (there !== undefined || !(await isLockHeld(home.lockFile))) return true;
  }
  const message = `The daemon (pid ${endpoint.pid}) has not stopped within ${stopTimeout / 1000} seconds: the disk may be slow. It exits once it has finished writing; any command starts a new one.`;
  throw new CommandError(message);
}

async function askToStop(home: Home, endpoint: Endpoint, options: StopOptions): Promise<void> {
  if (endpoint.protocol === protocolVersion) {
    try {
      using client = await connect({ ...options, home: home.folder });
      await client.run("daemon/stop", {});
      return;
    } catch (error) {
      // The running daemon would create a new owner's key, and without the old one nobody could stop it.
      if (!(error instanceof RepoconfError) || error.code !== 1100 || !usesOwnerKey(options)) throw error;
    }
  }
  // It cannot be asked, or would not understand; but it has proven that this process is it.
  process.kill(endpoint.pid, "SIGTERM");
}
