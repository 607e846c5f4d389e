import { setTimeout as delay } from "node:timers/promises";
import type { Logger } from "pino";
import { RepoconfClient } from "../../shared/client/client.ts";
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
  /** A session's key for the screen; the same for as long as the app runs. */
  createSession(): Promise<string>;
  /** How many lose their connection when the app quits: none where the daemon is not the app's own. */
  connectedTools(): Promise<number>;
  /** Ends the session, and finishes and stops the daemon if it is the app's own. */
  close(): Promise<void>;
}

const takeOverTries = 50;

/** Starts the daemon in this process, or attaches to one that is faster. Throws HomeError. */
export async function ownDaemon(options: AppDaemonOptions, tries = takeOverTries): Promise<AppDaemon> {
  const { home, version, logger, screenFolder, onStop } = options;
  try {
    const daemon = await createDaemon({ home: home.folder, version, logger, screenFolder, onStop });
    return appDaemon(home, daemon.url, daemon);
  } catch (error) {
    if (!(error instanceof HomeInUseError) || tries === 0) throw error;
    // One that was faster, or one that is about to leave.
    const other = await findDaemon(home);
    if (other !== undefined && tries < takeOverTries - 1) return attach(home, other.url);
    await delay(100);
    return ownDaemon(options, tries - 1);
  }
}

/** Works with the daemon that has the home already, at this address. */
export function attach(home: Home, url: string): AppDaemon {
  return appDaemon(home, url);
}

function appDaemon(home: Home, url: string, own?: Daemon): AppDaemon {
  const client = new RepoconfClient({ locate: () => locateDaemon({ home: home.folder, keyFile: home.ownerKeyFile }) });
  let session: Promise<{ id: string; key: string }> | undefined;
  return {
    url,
    client,
    createSession: async () => {
      session ??= client.run("session/create", { label: "desktop" });
      return (await session).key;
    },
    connectedTools: async () => {
      if (own === undefined) return 0;
      const status = await client.run("daemon/status", {}).catch(() => undefined);
      const screen = await session?.catch(() => undefined);
      // Without the connection that asks, and those of our own page.
      return (status?.sockets ?? 1) - 1 - (screen === undefined ? 0 : own.countClients(screen.id));
    },
    close: async () => {
      const made = await session?.catch(() => undefined);
      if (made !== undefined) await client.run("key/revoke", { id: made.id }).catch(() => {});
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
