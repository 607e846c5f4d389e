import { setTimeout as delay } from "node:timers/promises";
import pLimit from "p-limit";
import type { Logger } from "pino";
import { RepoconfClient } from "../../shared/client/client.ts";
import type { ShellSession } from "../../shared/shell-bridge.ts";
import { findDaemon, locateDaemon } from "../client/locate.ts";
import { createDaemon, type Daemon } from "../daemon/daemon.ts";
import { HomeInUseError } from "../daemon/home/held-home.ts";
import type { Home } from "../home/home.ts";

export interface AppDaemonOptions {
  readonly home: Home;
  readonly version: string;
  readonly logger: Logger;
  readonly screenFolder: string;
  /** Called when a tool with the owner's key asks the app's own daemon to stop. */
  onStop(): void;
}

/** The daemon that the app uses: its own, or one that was already running on this home. */
export interface AppDaemon {
  readonly url: string;
  /** Uses the owner's key, which the screen never sees. */
  readonly client: RepoconfClient;
  /** Creates a session for the screen with the running daemon, and ends the previous one. Called before each connect. */
  session(): Promise<ShellSession>;
  /** The number of tools that lose their connection when the app quits; 0 if the daemon is not the app's own. */
  connectedTools(): Promise<number>;
  /** Ends the session, and shuts down the daemon if it is the app's own. */
  close(): Promise<void>;
}

const startRetries = 50;
/** Milliseconds that quitting waits for another daemon to revoke the session. */
const revokeTimeout = 500;

/** Starts the daemon in this process, or attaches to one that was started at the same time. Throws HomeError. */
export async function ownDaemon(options: AppDaemonOptions, tries = startRetries): Promise<AppDaemon> {
  const { home, version, logger, screenFolder, onStop } = options;
  try {
    const daemon = await createDaemon({ home: home.folder, version, logger, screenFolder, onStop });
    return appDaemon(home, daemon.url, daemon);
  } catch (error) {
    if (!(error instanceof HomeInUseError) || tries === 0) throw error;
    // Another daemon was faster, or one is just stopping.
    const other = await findDaemon(home);
    if (other !== undefined && tries < startRetries - 1) return attach(home, other.url);
    await delay(100);
    return ownDaemon(options, tries - 1);
  }
}

/** Uses the daemon that is already running on the home, at this address. */
export function attach(home: Home, url: string): AppDaemon {
  return appDaemon(home, url);
}

function appDaemon(home: Home, url: string, own?: Daemon): AppDaemon {
  const locate = () => locateDaemon({ home: home.folder, keyFile: home.ownerKeyFile });
  const client = new RepoconfClient({ locate });
  let session: ShellSession | undefined;
  const inTurn = pLimit(1);
  const endSession = async () => {
    if (session !== undefined) await client.run("key/revoke", { id: session.id }).catch(() => {});
    session = undefined;
  };
  return {
    url,
    client,
    session: () =>
      inTurn(async () => {
        const { endpoint } = await locate();
        // The previous session may have ended already, with its daemon or after hours without use.
        await endSession();
        session = { ...(await client.run("session/create", { label: "desktop" })), url: endpoint.url };
        return session;
      }),
    connectedTools: async () => {
      if (own === undefined) return 0;
      const status = await client.run("daemon/status", {}).catch(() => undefined);
      // Does not count this client's connection and those of the app's own page.
      return (status?.sockets ?? 1) - 1 - (session === undefined ? 0 : own.countClients(session.id));
    },
    close: async () => {
      // The app's own daemon ends its sessions anyway. Another daemon may not be running any more, so do not wait long.
      if (own === undefined) await Promise.race([endSession(), delay(revokeTimeout)]);
      client.close();
      await own?.close();
    },
  };
}

/** Asks the daemon of the home to stop. Throws RepoconfError 1200. */
export async function stopDaemon(home: Home): Promise<void> {
  using client = new RepoconfClient({ locate: () => locateDaemon({ home: home.folder, keyFile: home.ownerKeyFile }) });
  await client.run("daemon/stop", {});
}
