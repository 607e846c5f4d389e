import { setTimeout as delay } from "node:timers/promises";
import pLimit from "p-limit";
import type { Logger } from "pino";
import { RepoconfClient } from "../../shared/client/client.ts";
import type { ShellSession } from "../../shared/shell-bridge.ts";
import { findDaemon, locateDaemon } from "../client/locate.ts";
import { createDaemon, type Daemon, HomeInUseError } from "../daemon/daemon.ts";
import type { Home } from "../home.ts";

export interface AppDaemonOptions {
  readonly home: Home;
  readonly version: string;
  readonly logger: Logger;
  readonly screenFolder: string;
  /** A tool with the owner's key asks the app's own daemon to stop. */
  onStop(): void;
}

/** The daemon that the app works with: its own, or one that ran on this home already. */
export interface AppDaemon {
  readonly url: string;
  /** With the owner's key; the screen never sees it. */
  readonly client: RepoconfClient;
  /** A session of the screen's with the daemon that runs now, asked for before each connect; it ends the one before. */
  session(): Promise<ShellSession>;
  /** How many lose their connection when the app quits: none where the daemon is not the app's own. */
  connectedTools(): Promise<number>;
  /** Ends the session, and finishes and stops the daemon if it is the app's own. */
  close(): Promise<void>;
}

const replaceTries = 50;
/** Milliseconds that another daemon has to end the session of an app that quits. */
const goodByeTime = 500;

/** Starts the daemon in this process, or attaches to one that is faster. Throws HomeError. */
export async function ownDaemon(options: AppDaemonOptions, tries = replaceTries): Promise<AppDaemon> {
  const { home, version, logger, screenFolder, onStop } = options;
  try {
    const daemon = await createDaemon({ home: home.folder, version, logger, screenFolder, onStop });
    return appDaemon(home, daemon.url, daemon);
  } catch (error) {
    if (!(error instanceof HomeInUseError) || tries === 0) throw error;
    // One that was faster, or one that is about to leave.
    const other = await findDaemon(home);
    if (other !== undefined && tries < replaceTries - 1) return attach(home, other.url);
    await delay(100);
    return ownDaemon(options, tries - 1);
  }
}

/** Works with the daemon that has the home already, at this address. */
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
        // The one before may have ended: with its daemon, or because nobody used the window for hours.
        await endSession();
        session = { ...(await client.run("session/create", { label: "desktop" })), url: endpoint.url };
        return session;
      }),
    connectedTools: async () => {
      if (own === undefined) return 0;
      const status = await client.run("daemon/status", {}).catch(() => undefined);
      // Without the connection that asks, and those of our own page.
      return (status?.sockets ?? 1) - 1 - (session === undefined ? 0 : own.countClients(session.id));
    },
    close: async () => {
      // With the app's own daemon it ends anyway; another one may be gone.
      if (own === undefined) await Promise.race([endSession(), delay(goodByeTime)]);
      client.close();
      await own?.close();
    },
  };
}

/** Asks the daemon that has the home to leave. Throws RepoconfError 1200. */
export async function stopDaemon(home: Home): Promise<void> {
  using client = new RepoconfClient({ locate: () => locateDaemon({ home: home.folder, keyFile: home.ownerKeyFile }) });
  await client.run("daemon/stop", {});
}
