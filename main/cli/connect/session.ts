import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import packageJson from "../../../package.json" with { type: "json" };
import { RepoconfClient } from "../../../shared/client/client.ts";
import { RepoconfError } from "../../../shared/errors.ts";
import type { IndexingProgress } from "../../../shared/protocol.ts";
import { findDaemon, locateDaemon } from "../../client/locate.ts";
import { systemErrorCode } from "../../files/file-system.ts";
import { type Endpoint, readEndpoint } from "../../home/endpoint-file.ts";
import { type Home, homeAt, homeFolder } from "../../home/home.ts";
import { isOlder } from "../../version.ts";
import type { SessionOptions } from "../command-options.ts";
import { CommandError, exitCodes } from "../output/exit-codes.ts";
import { printNote, showingWait, showProgress } from "../output/terminal.ts";

/** A command's connection to the daemon. */
export interface Session extends Disposable {
  readonly client: RepoconfClient;
  readonly home: Home;
}

/**
 * Connects to the home's daemon. Starts one in the background if none is running, unless `options.start` is false. Throws RepoconfError
 * 1100 (the key is not valid) or 1200 (no daemon).
 */
export async function openSession(options: SessionOptions): Promise<Session> {
  const home = homeAt(homeFolder(options.home));
  const client = new RepoconfClient({
    locate: async () => {
      const where = { home: home.folder, ...(options.keyFile !== undefined && { keyFile: options.keyFile }) };
      const address = await locateDaemon(where);
      if (isOlder(address.endpoint.version, packageJson.version)) await warnOfOlderDaemon(home, address.endpoint);
      return address;
    },
    onIndexing: showIndexing,
  });
  try {
    await showingWait(() => connectOrStart(client, home, options));
  } catch (error) {
    client.close();
    throw await explainFailure(error, home, options);
  }
  return { client, home, [Symbol.dispose]: () => client.close() };
}

/** The message is shown from this many files on. With fewer, the daemon is done before anyone could read it. */
const indexingShownFrom = 100;

/** Shows the progress while the daemon reads a home with many files for the first time. */
function showIndexing(progress: Partial<IndexingProgress> | undefined): void {
  const { done, total } = progress ?? {};
  if (progress === undefined) showProgress("");
  else if (done === undefined || total === undefined) showProgress("The daemon is reading its files…");
  else if (total >= indexingShownFrom) showProgress(`The daemon has read ${done} of ${total} files`);
}

/** Milliseconds during which connecting is retried: others may be starting the daemon too, or it may be fixing its home. */
const retryTimeout = 10_000;

async function connectOrStart(client: RepoconfClient, home: Home, options: SessionOptions): Promise<void> {
  for (const end = Date.now() + retryTimeout; ; ) {
    try {
      // Usually a daemon is running, and checking first would cost every command a round trip.
      return await client.connect();
    } catch (error) {
      if (Date.now() >= end) throw error;
      await recoverConnection(error, home, options);
    }
  }
}

/**
 * Prepares the retry after a failed connection: starts a daemon if none is running and that is allowed, or waits until the running one has
 * restored the files that lead to it. Throws the failure if a retry cannot help, CommandError if a daemon is running but unreachable.
 */
async function recoverConnection(error: unknown, home: Home, options: SessionOptions): Promise<void> {
  const { waitForLockState, unreachable, waitForFile } = await import("./lock-holder.ts");
  if (isKeyMissing(error) && usesOwnerKey(options) && (await waitForFile(home.ownerKeyFile))) return;
  if ((await findDaemon(home)) !== undefined) {
    // Another command has started a daemon in the meantime.
    if (isNoDaemonRunning(error)) return;
    throw error;
  }
  if (options.start) {
    const { startDaemonInBackground } = await import("./background.ts");
    await startDaemonInBackground(home);
    return;
  }
  if (!isNoDaemonRunning(error)) throw error;
  const { held, endpoint } = await waitForLockState(home);
  if (endpoint !== undefined) return;
  if (held) throw await unreachable(home);
  if ((await readEndpoint(home)) === undefined) throw error;
  const message = `No daemon is running on the home ${home.folder}: the last one was killed, or crashed. Acknowledged changes are on disk. Start one: repoconf daemon`;
  throw new RepoconfError(1200, message);
}

function isNoDaemonRunning(error: unknown): boolean {
  return error instanceof RepoconfError && error.code === 1200 && error.details === undefined;
}

function isKeyMissing(error: unknown): boolean {
  return error instanceof RepoconfError && error.code === 1100 && systemErrorCode(error.cause) === "ENOENT";
}

/** Reports that an older daemon is running, once for each daemon and version of the command. */
async function warnOfOlderDaemon(home: Home, { instanceId, version }: Endpoint): Promise<void> {
  const file = join(home.temporary, "older-daemon-told");
  const about = `${instanceId} ${packageJson.version}`;
  if ((await readFile(file, "utf8").catch(() => "")) === about) return;
  printNote(
    `The running daemon has version ${version}, this command ${packageJson.version}. To update the daemon: repoconf restart`,
  );
  // If this cannot be written, the next command repeats the message.
  await writeFile(file, about, { mode: 0o600 }).catch(() => {});
}

/** If the daemon does not accept the owner's key, an error that says what to do; else the same error. */
async function explainFailure(error: unknown, home: Home, options: SessionOptions): Promise<unknown> {
  if (!(error instanceof RepoconfError) || error.code !== 1100 || !usesOwnerKey(options)) return error;
  const pid = (await findDaemon(home))?.pid;
  const message = `The daemon (pid ${pid ?? "unknown"}) does not accept the owner's key: ${home.ownerKeyFile} is missing or contains another key. Remove the file if it exists: the daemon creates a new one within a second, and other keys stay valid. If it does not: repoconf restart`;
  return new CommandError(message, exitCodes.notAllowed);
}

/** Whether the command uses the owner's key in the home, because the user gave no other key. */
export function usesOwnerKey({ keyFile }: { readonly keyFile?: string }): boolean {
  return !keyFile && !process.env["REPOCONF_API_KEY"];
}

/** Opens a session, runs `work` with it, and closes it. */
export async function withSession(options: SessionOptions, work: (session: Session) => Promise<void>): Promise<void> {
  using session = await openSession(options);
  await work(session);
}

/** The home for a command's options. */
export function homeOf(options: { readonly home?: string }): Home {
  return homeAt(homeFolder(options.home));
}
