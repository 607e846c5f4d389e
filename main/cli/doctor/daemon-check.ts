import { lstat, stat } from "node:fs/promises";
import { connect } from "node:net";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as delay } from "node:timers/promises";
import { findDaemon } from "../../client/locate.ts";
import { type Endpoint, readEndpoint } from "../../endpoint-file.ts";
import type { Home } from "../../home.ts";
import { type Finding, good, messageOf, note, problem } from "./finding.ts";

/** Milliseconds that a daemon which holds the home may take until it answers: it may just be starting or stopping. */
const answerTimeout = 2_000;

export interface DaemonCheck {
  readonly finding: Finding;
  /** Of the daemon that runs and has proven itself. */
  readonly endpoint?: Endpoint;
}

/** Whether a daemon runs, and whether the lock and daemon.json agree on it. */
export async function checkDaemon(home: Home): Promise<DaemonCheck> {
  const check = "daemon";
  const place = { file: home.lockFile };
  try {
    for (const end = Date.now() + answerTimeout; ; await delay(50)) {
      const endpoint = await findDaemon(home);
      const held = await isLockHeld(home.lockFile);
      if (endpoint !== undefined && held) {
        const { version, url, pid } = endpoint;
        return { finding: good(check, `version ${version} runs at ${url} (pid ${pid})`), endpoint };
      }
      if (endpoint === undefined && !held) return { finding: await describeAbsence(home) };
      if (Date.now() < end) continue;
      if (endpoint !== undefined) {
        const message = `the daemon (pid ${endpoint.pid}) runs without the lock, so a second one could start`;
        return { finding: problem(check, message, "Run: repoconf restart", place), endpoint };
      }
      const pid = (await readEndpoint(home))?.pid;
      const message = "a daemon holds the home and does not answer";
      // The file may be an earlier daemon's, and its number another program's by now.
      const which = pid === undefined ? "Find its process" : `Make sure that process ${pid} is it`;
      const action = `${which}, and end it with kill -9: nothing that was acknowledged is lost. Its log, if it has one: ${home.logFile}`;
      return { finding: problem(check, message, action, place) };
    }
  } catch (error) {
    const message = `it is no lock (${messageOf(error)})`;
    return { finding: problem(check, message, "Remove it: the next start of the daemon makes a new one.", place) };
  }
}

/** Ids of the repositories of the daemon that runs. Throws RepoconfError, such as 1100 if the owner's key is no longer good. */
export async function listServed(home: Home): Promise<string[]> {
  const { connect } = await import("../../client/client.ts");
  const { listRepositories } = await import("../repositories.ts");
  using client = await connect({ home: home.folder, keyFile: home.ownerKeyFile });
  return (await listRepositories(client)).map(({ id }) => id);
}

async function describeAbsence(home: Home): Promise<Finding> {
  if ((await stat(home.endpointFile).catch(() => undefined)) === undefined) {
    return good("daemon", "none runs; a command that needs one starts it");
  }
  const action = "Nothing: this is harmless, and the next start of the daemon mends it.";
  return note("daemon", "none runs; the last one was ended before it could tidy up", action, {
    file: home.endpointFile,
  });
}

/**
 * Whether a process holds the lock of main/daemon/lock.ts. Asks for a read lock, for an instant and without writing.
 * Throws SQLite's error if the file is no lock.
 */
async function isLockHeld(path: string): Promise<boolean> {
  const stats = await lstat(path).catch(() => undefined);
  // Of a link and the like the rights' check tells.
  if (!stats?.isFile()) return false;
  const database = new DatabaseSync(path, { readOnly: true });
  try {
    database.prepare("SELECT 1 FROM sqlite_schema").all();
    return false;
  } catch (error) {
    const sqliteBusy = 5;
    if (error instanceof Error && "errcode" in error && error.errcode === sqliteBusy) return true;
    throw error;
  } finally {
    database.close();
  }
}

/** Whether the daemon has, or would get, the port it prefers: `preferred` is the settings', if they name one. */
export async function checkPort(endpoint: Endpoint | undefined, preferred: number | undefined): Promise<Finding> {
  const check = "port";
  const { preferredPort } = await import("../../daemon/daemon.ts");
  const port = preferred ?? preferredPort;
  if (endpoint !== undefined && new URL(endpoint.url).port === `${port}`) return good(check, `${port}`);
  if (!(await isTaken(port))) {
    return good(check, endpoint === undefined ? `${port} is free` : `${port} is free; the daemon runs on another`);
  }
  const message = `${port} is taken by another program, or by the daemon of another home`;
  const action = `Nothing: the daemon takes a free one, and tools find it by the home. To prefer another: "port" in settings.json.`;
  return note(check, message, action);
}

function isTaken(port: number): Promise<boolean> {
  const timeout = 1_000;
  return new Promise(resolve => {
    const socket = connect({ port, host: "127.0.0.1", timeout });
    const end = (taken: boolean) => {
      socket.destroy();
      resolve(taken);
    };
    socket.once("connect", () => end(true));
    socket.once("timeout", () => end(true));
    socket.once("error", () => end(false));
  });
}
