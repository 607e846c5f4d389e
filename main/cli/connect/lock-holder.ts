import { readFileSync } from "node:fs";
import { lstat, readdir, readFile, readlink, realpath, stat } from "node:fs/promises";
import { setTimeout as delay } from "node:timers/promises";
import { findDaemon } from "../../client/locate.ts";
import { describeCause } from "../../files/describe-cause.ts";
import { systemErrorCode } from "../../files/file-system.ts";
import { readHomeFile } from "../../files/foreign-file.ts";
import { type Endpoint, readEndpoint } from "../../home/endpoint-file.ts";
import type { Home } from "../../home/home.ts";
import { CommandError, exitCodes } from "../output/exit-codes.ts";
import { StartDeadline } from "./start-deadline.ts";

/** Milliseconds until a process that holds the home must answer or its start must make progress: it may just be starting or stopping. */
const answerTimeout = 2_000;

/** Whether a process holds the home, and the daemon that answers for it. */
export interface LockState {
  readonly held: boolean;
  readonly endpoint?: Endpoint;
}

/** Polls until the lock and the daemon agree, or until the timeout. Throws CommandError if the lock file is invalid. */
export async function waitForLockState(home: Home): Promise<LockState> {
  for (const deadline = new StartDeadline(home, answerTimeout); ; await delay(50)) {
    const endpoint = await findDaemon(home);
    const held = await isLockHeld(home.lockFile);
    const state = { held, ...(endpoint !== undefined && { endpoint }) };
    if (held === (endpoint !== undefined) || (await deadline.hasPassed())) return state;
  }
}

/** Waits for a file that a running daemon recreates. Returns whether it exists. */
export async function waitForFile(path: string): Promise<boolean> {
  const isThere = () => lstat(path).then(Boolean, () => false);
  for (const end = Date.now() + answerTimeout; Date.now() < end; await delay(50)) if (await isThere()) return true;
  return isThere();
}

/**
 * Whether a process holds the lock of main/home/lock.ts. Takes a read lock for a moment, without writing. Throws CommandError if
 * the file is not a lock.
 */
export async function isLockHeld(path: string): Promise<boolean> {
  const stats = await lstat(path).catch(() => undefined);
  // `repoconf doctor` reports links and other kinds of files.
  if (!stats?.isFile()) return false;
  // Loaded on demand, because few commands need it.
  const { DatabaseSync } = await import("node:sqlite");
  const database = new DatabaseSync(path, { readOnly: true });
  try {
    database.prepare("SELECT 1 FROM sqlite_schema").all();
    return false;
  } catch (error) {
    const sqliteBusy = 5;
    if (error instanceof Error && "errcode" in error && error.errcode === sqliteBusy) return true;
    const cause = describeCause(error);
    throw new CommandError(
      `${path} is not a lock file (${cause}). Remove it: the daemon creates a new one at its next start.`,
      exitCodes.noDaemon,
    );
  } finally {
    database.close();
  }
}

/** Why commands cannot reach the process that holds the home, and the next step for the user. */
export async function describeHolder(home: Home): Promise<{ readonly message: string; readonly action: string }> {
  const text = (await readHomeFile(home.endpointFile).catch(() => null))?.bytes.toString();
  const endpoint = await readEndpoint(home);
  const why =
    text === undefined
      ? "its daemon.json is missing"
      : endpoint === undefined
        ? "its daemon.json was changed by another program"
        : "it does not answer";
  // An invalid file may still contain the pid.
  const named = endpoint?.pid ?? Number(/"pid"\s*:\s*(\d+)/.exec(text ?? "")?.[1] ?? 0);
  const holder = await findHolder(home.lockFile);
  const end = (pid: number) => `stop it: kill ${pid} (if that fails: kill -9 ${pid}; acknowledged changes are on disk)`;
  const action =
    holder !== undefined
      ? `Process ${holder} holds the lock; ${end(holder)}.`
      : named > 0
        ? `Check that process ${named} is the daemon, and ${end(named)}.`
        : `Find its process (lsof ${home.lockFile}) and stop it; acknowledged changes are on disk.`;
  const message = `a daemon holds the lock of the home but cannot be reached: ${why}`;
  return { message, action: `${action} The next command starts a new one. Its log, if there is one: ${home.logFile}` };
}

/** The error for a command that cannot reach the daemon, by `describeHolder`. */
export async function unreachable(home: Home): Promise<CommandError> {
  const { message, action } = await describeHolder(home);
  const sentence = `${message.charAt(0).toUpperCase()}${message.slice(1)}`;
  return new CommandError(`${sentence}. Home: ${home.folder}\n${action}`, exitCodes.noDaemon);
}

/** Whether daemon.json exists and is invalid. Daemons write it atomically, so this is not one that is just starting. */
export async function isEndpointCorrupt(home: Home): Promise<boolean> {
  const there = (await stat(home.endpointFile).catch(() => undefined)) !== undefined;
  return there && (await readEndpoint(home)) === undefined;
}

/** Whether a process exists and has not ended. */
export function isProcessThere(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    // It belongs to another user.
    return systemErrorCode(error) === "EPERM";
  }
  try {
    // A process that ended (a zombie) keeps its number until its parent has asked for its exit code.
    return !/^\d+ \(.*\) [ZX] /s.test(readFileSync(`/proc/${pid}/stat`, "latin1"));
  } catch {
    // Other systems have no /proc.
    return process.platform !== "linux";
  }
}

/** The process that holds the lock, on Linux: it locks a file with this inode number and has this file open. */
async function findHolder(lockFile: string): Promise<number | undefined> {
  try {
    const [{ ino }, path] = await Promise.all([stat(lockFile), realpath(lockFile)]);
    const locks = await readFile("/proc/locks", "utf8");
    for (const line of locks.split("\n")) {
      const { pid, inode } = / (?<pid>\d+) [0-9a-f]+:[0-9a-f]+:(?<inode>\d+) /.exec(line)?.groups ?? {};
      if (pid !== undefined && Number(inode) === ino && (await hasOpen(pid, path))) return Number(pid);
    }
  } catch {
    // Other systems have no /proc/locks.
  }
  return undefined;
}

async function hasOpen(pid: string, path: string): Promise<boolean> {
  const folder = `/proc/${pid}/fd`;
  const names = await readdir(folder).catch(() => []);
  const targets = await Promise.all(names.map(name => readlink(`${folder}/${name}`).catch(() => "")));
  return targets.includes(path);
}
