import { setTimeout as delay } from "node:timers/promises";
import type { Command } from "commander";
import { RepoconfError } from "../../../shared/errors.ts";
import { protocolVersion } from "../../../shared/protocol.ts";
import { connect } from "../../client/client.ts";
import { type Endpoint, hasCopiedEndpoint, readEndpoint } from "../../home/endpoint-file.ts";
import type { Home } from "../../home/home.ts";
import { addConnectionOptions } from "../command-options.ts";
import { startDaemonInBackground } from "../connect/background.ts";
import { isLockHeld, isProcessThere, unreachable, waitForLockState } from "../connect/lock-holder.ts";
import { homeOf, usesOwnerKey } from "../connect/session.ts";
import { CommandError, exitCodes } from "../output/exit-codes.ts";
import { print } from "../output/terminal.ts";

interface StopOptions {
  readonly home?: string;
  readonly keyFile?: string;
}

/** Milliseconds that a daemon may take to finish writing, and then to end. */
const stopTimeout = 30_000;
const endTimeout = 5_000;

/** `repoconf stop`: stops the daemon and waits until it has exited. */
export function addStopCommand(program: Command): void {
  addConnectionOptions(program.command("stop"))
    .description("stop the daemon after it has finished writing")
    .action(async (options: StopOptions) => {
      const home = homeOf(options);
      const stopped = await stopDaemon(home, options);
      if (stopped === undefined) throw new CommandError(await noneRunning(home), exitCodes.noDaemon);
      if (!(await waitForEnd(stopped.pid))) throw new CommandError(stillThere(stopped.pid));
      print("The daemon stopped.");
    });
}

/** `repoconf restart`: stops a running daemon, and starts this version in the background, where it does not exit when idle. */
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

/**
 * Resolves when the home is free, with the daemon that had it; undefined if no daemon is running. Throws CommandError if one is running
 * but cannot be reached.
 */
export async function stopDaemon(home: Home, options: StopOptions): Promise<Endpoint | undefined> {
  const { held, endpoint } = await waitForLockState(home);
  if (endpoint === undefined) {
    if (held) throw await unreachable(home);
    return undefined;
  }
  await askToStop(home, endpoint, options);
  for (const end = Date.now() + stopTimeout; Date.now() < end; await delay(25)) {
    // The daemon removes this file just before it releases the lock; a new daemon writes its own.
    const there = await readEndpoint(home);
    if (there?.instanceId === endpoint.instanceId) continue;
    // Without the file, the daemon may still be running: someone else may have deleted it.
    if (there !== undefined || !(await isLockHeld(home.lockFile))) return endpoint;
  }
  const message = `The daemon (pid ${endpoint.pid}) has not stopped within ${stopTimeout / 1000} seconds: the disk may be slow. It exits once it has finished writing; any command starts a new one.`;
  throw new CommandError(message);
}

async function noneRunning(home: Home): Promise<string> {
  const copied = (await hasCopiedEndpoint(home))
    ? " Its daemon.json came with a copy of another home, whose daemon was left alone."
    : "";
  return `No daemon is running on the home ${home.folder}.${copied}`;
}

/** Whether the process ends within the time. It frees the home first, and may then be kept by a call to the system that hangs. */
async function waitForEnd(pid: number): Promise<boolean> {
  for (const end = Date.now() + endTimeout; isProcessThere(pid); await delay(25)) if (Date.now() > end) return false;
  return true;
}

function stillThere(pid: number): string {
  return `The daemon has finished writing and released the home, but its process ${pid} has not ended: a disk may not answer. To end it: kill -9 ${pid}`;
}

async function askToStop(home: Home, endpoint: Endpoint, options: StopOptions): Promise<void> {
  if (endpoint.protocol === protocolVersion) {
    try {
      using client = await connect({ ...options, home: home.folder });
      await client.run("daemon/stop", {});
      return;
    } catch (error) {
      // The owner's key was replaced or lost. Use a signal, or else nobody could stop the daemon.
      if (!(error instanceof RepoconfError) || error.code !== 1100 || !usesOwnerKey(options)) throw error;
    }
  }
  // It does not accept requests or has another protocol, but it has proven that this pid is its own.
  process.kill(endpoint.pid, "SIGTERM");
}
