import { lstat, stat } from "node:fs/promises";
import { connect } from "node:net";
import { join } from "node:path";
import type { RepositoryEntry, Finding as ToldFinding } from "../../../shared/protocol.ts";
import { describeCause } from "../../files/describe-cause.ts";
import { type Endpoint, hasCopiedEndpoint } from "../../home/endpoint-file.ts";
import type { Home } from "../../home/home.ts";
import type { RepositoryMetadata } from "../../store/types.ts";
import { isKeptVariable } from "../connect/background.ts";
import { describeHolder, waitForLockState } from "../connect/lock-holder.ts";
import { describeRefusals } from "../output/messages.ts";
import { type Finding, good, note, problem } from "./finding.ts";

export interface DaemonCheck {
  readonly finding: Finding;
  /** Whether a process holds the home and may be writing. */
  readonly held: boolean;
  /** Set if a daemon is running and has proven its identity. */
  readonly endpoint?: Endpoint;
}

/** Checks whether a daemon is running, and whether the lock and daemon.json agree. */
export async function checkDaemon(home: Home): Promise<DaemonCheck> {
  const check = "daemon";
  const place = { file: home.lockFile };
  try {
    const { held, endpoint } = await waitForLockState(home);
    if (endpoint === undefined) {
      if (!held) return { finding: await describeAbsence(home), held };
      const { message, action } = await describeHolder(home);
      return { finding: problem(check, message, action, place), held };
    }
    const { version, url, pid } = endpoint;
    if (held) return { finding: good(check, `version ${version} runs at ${url} (pid ${pid})`), held, endpoint };
    const message = `the daemon (pid ${pid}) does not hold the lock, so a second one could start`;
    return { finding: problem(check, message, "Run: repoconf restart", place), held: true, endpoint };
  } catch {
    const action = "Remove it: the daemon creates a new one at its next start.";
    return { finding: problem(check, "it is not a lock file", action, place), held: false };
  }
}

/** What the running daemon reports. */
export interface DaemonInfo {
  readonly entries: readonly RepositoryEntry[];
  /** The number of requests rejected since the start, by cause. */
  readonly refusals: { readonly [cause: string]: number };
  readonly findings: readonly ToldFinding[];
  /** Undefined if it is an older daemon. */
  readonly variables: readonly string[] | undefined;
  readonly problems: readonly string[];
}

/** Queries the running daemon. Throws RepoconfError, for example 1100 if it does not accept the owner's key. */
export async function askDaemon(home: Home): Promise<DaemonInfo> {
  const { connect } = await import("../../client/client.ts");
  using client = await connect({ home: home.folder, keyFile: home.ownerKeyFile });
  const entries = await client.repositories();
  const { refusals = {}, findings = [], problems = [], variables } = await client.run("daemon/status", {});
  return { entries, refusals, findings, problems, variables };
}

/** The daemon's problems that no other check has found, such as those of a shared log. */
export function checkProblems({ problems }: DaemonInfo, others: readonly Finding[]): Finding[] {
  const isFound = (text: string) =>
    others.some(({ result, message }) => result === "problem" && text.includes(message));
  return problems.filter(text => !isFound(text)).map(message => ({ check: "daemon", result: "problem", message }));
}

/** Notes files in which the daemon merged a hand edit with a set. They are valid, but the user may not expect the result. */
export function checkMerges(home: Home, { entries }: DaemonInfo): Finding[] {
  return entries.flatMap(({ id, health }) => {
    const merge = health.find(({ code }) => code === 1104);
    if (merge === undefined) return [];
    const action = `None needed if both values are what you want. To review them: repoconf history --repo ${id}`;
    return note("repositories", merge.message, action, { repo: id, file: join(home.repositories, `${id}.json`) });
  });
}

/**
 * Reports what the daemon found and nobody has dismissed yet. `served`: what a running one says, which is more current than the file.
 * `heads`: name and path of repositories by id.
 */
export async function checkFindings(
  home: Home,
  served: DaemonInfo | undefined,
  heads: ReadonlyMap<string, RepositoryMetadata>,
): Promise<Finding[]> {
  const { readFindings } = await import("../../store/findings.ts");
  const { privateFile } = await import("../../home/prepare-home.ts");
  const check = "found";
  try {
    const told = served?.findings ?? (await readFindings(privateFile(home, home.findingsFile)));
    return told.map(({ id, repo, message, isNote }) => {
      const action = `Once you have read it: repoconf doctor --dismiss ${id}`;
      const make = isNote ? note : problem;
      if (repo === undefined) return make(check, message, action);
      const { name = repo, path } = heads.get(repo) ?? {};
      return make(check, `in ${name}${path === undefined ? "" : ` (${path})`}: ${message}`, action, { repo });
    });
  } catch (error) {
    const message = `the list of what was found cannot be read (${describeCause(error)})`;
    const action = `None needed: the next start keeps the file in ${home.removed} and begins a new list. What it told is also in ${home.logFile}.`;
    return [problem(check, message, action, { file: home.findingsFile })];
  }
}

/** Says which variables of what started it the daemon has: programs of the same user can read them, and some change what it does. */
export function checkVariables({ variables }: DaemonInfo): Finding[] {
  if (variables === undefined) return [];
  const check = "environment";
  const more = variables.filter(name => !isKeptVariable(name));
  if (more.length === 0) return [good(check, `the daemon has only ${variables.join(", ")}`)];
  const named = more.length > 5 ? [...more.slice(0, 5), `${more.length - 5} others`] : more;
  const message = `the daemon also has ${named.join(", ")}, from the terminal or the service that started it`;
  const action =
    "None needed if they are not secret: your other programs can read them. To start it with few: repoconf restart";
  return [note(check, message, action)];
}

/** Notes rejected requests, because they may come from the user's own pages and tools. No finding if there were none. */
export function checkRefusals({ refusals }: DaemonInfo): Finding[] {
  const counted = describeRefusals(refusals);
  if (counted === "") return [];
  const { origin = 0, host = 0, key = 0 } = refusals;
  const actions = [
    "None needed if they did not come from your tools; the daemon's log lists each one.",
    origin > 0 ? 'A web page of yours: add its origin to "origins" in settings.json.' : "",
    host > 0 ? "If it is one of your tools, make it connect to exactly 127.0.0.1 or localhost." : "",
    key > 0 ? "If it is one of your tools with an old key, create a new one: repoconf key create." : "",
  ];
  const message = `requests rejected since the daemon started: ${counted}`;
  return [note("refusals", message, actions.filter(action => action !== "").join(" "))];
}

async function describeAbsence(home: Home): Promise<Finding> {
  const stats = await lstat(home.endpointFile).catch(() => undefined);
  if (stats === undefined) return good("daemon", "not running; the next command that needs it starts it");
  if (!stats.isFile()) {
    const action = `Move it away: the daemon needs its place. For example: mv ${home.endpointFile} ${home.endpointFile}.old`;
    return problem("daemon", "not running; something that is no file is in the place of its daemon.json", action, {
      file: home.endpointFile,
    });
  }
  const message = (await hasCopiedEndpoint(home))
    ? "not running; its daemon.json came with a copy of another home"
    : "not running; the last one was killed before it could clean up";
  const action = "None needed: this is harmless, and the daemon cleans up at its next start.";
  return note("daemon", message, action, { file: home.endpointFile });
}

/** Checks whether the daemon has, or would get, its preferred port. `preferred` is the port in the settings, if any. */
export async function checkPort(endpoint: Endpoint | undefined, preferred: number | undefined): Promise<Finding> {
  const check = "port";
  const { preferredPort } = await import("../../home/settings.ts");
  const port = preferred ?? preferredPort;
  if (endpoint !== undefined && new URL(endpoint.url).port === `${port}`) return good(check, `${port}`);
  if (!(await isTaken(port))) {
    return good(check, endpoint === undefined ? `${port} is free` : `${port} is free; the daemon uses another port`);
  }
  const message = `${port} is in use by another program or by the daemon of another home`;
  const action = `None needed: the daemon picks a free port, and tools find it through the home. To prefer another port, set "port" in settings.json.`;
  return note(check, message, action);
}

/** Checks whether tools reach the daemon through its Unix socket, which no other user can take over. No finding on Windows. */
export async function checkSocket(home: Home, endpoint: Endpoint | undefined): Promise<Finding[]> {
  if (endpoint === undefined || process.platform === "win32") return [];
  const check = "socket";
  if (endpoint.socket !== undefined) {
    const isThere = (await stat(endpoint.socket).catch(() => undefined))?.isSocket() === true;
    if (isThere) return [good(check, endpoint.socket)];
    return [
      note(check, "it was removed, so tools connect through the port", "Run: repoconf restart", {
        file: endpoint.socket,
      }),
    ];
  }
  const { longestSocketPath, socketNameLength } = await import("../../home/local-socket.ts");
  const length = Buffer.byteLength(home.socket) + socketNameLength;
  const tooLong = length > longestSocketPath;
  const message = tooLong
    ? `there is none: its path would be ${length} bytes long, and at most ${longestSocketPath} are allowed; tools connect through the port`
    : "there is none; tools connect through the port";
  const action = tooLong
    ? "None needed: both sides authenticate there too. To get a socket, use a home with a shorter path."
    : "None needed: both sides authenticate there too. The daemon's log says why there is none.";
  return [note(check, message, action, { file: home.socket })];
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
