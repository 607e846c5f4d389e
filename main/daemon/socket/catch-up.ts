import type { RepositoryStore } from "../../store/store.ts";
import type { Yielding } from "../../time/yielding.ts";
import type { ConfigService } from "../config/config-service.ts";
import type { Caller } from "./caller.ts";
import type { CatchUp, Connection } from "./connection.ts";

export interface CatchUpOptions {
  readonly store: RepositoryStore;
  readonly service: ConfigService;
  readonly yielding: Yielding;
  isValid(caller: Caller): boolean;
}

/** How often, within the history that is kept, a watcher that sees none of the changes gets a progress event. */
const timesInWindow = 10;

/**
 * Whether a watcher should get a progress event after `unseen` changes that it could not see. Without one, the history would at
 * some point no longer reach back to its last revision, and it could not continue from there after a lost connection.
 */
export function isProgressDue(unseen: number, store: RepositoryStore, repo: string): boolean {
  return unseen > 0 && unseen * timesInWindow >= store.revision(repo) - store.oldest(repo);
}

/**
 * Sends a watcher the changes of a repository from the journal until it has all of them; from then on it gets events as they happen.
 * No change is missed, because there is no await between finding that there are no more and subscribing to events. Waits for a client
 * that reads slowly. If the client asks for earlier changes meanwhile, it restarts from those.
 */
export async function catchUp(
  connection: Connection,
  repo: string,
  run: CatchUp,
  options: CatchUpOptions,
): Promise<void> {
  const { store } = options;
  for (;;) {
    if (!connection.isCatchingUp(repo, run)) return;
    const newest = store.revision(repo);
    if (newest === run.at || !store.has(repo)) {
      if (store.has(repo) && connection.isBehind(repo)) sendProgress(connection, repo, run.at, options);
      return connection.caughtUp(repo);
    }
    const complete = await sendChanges(connection, repo, run, options);
    if (complete) run.at = Math.max(run.at, newest);
  }
}

/** Returns false if it must restart at another revision, or stop. */
async function sendChanges(
  connection: Connection,
  repo: string,
  run: CatchUp,
  options: CatchUpOptions,
): Promise<boolean> {
  const { store, service, yielding, isValid } = options;
  const { caller, socket } = connection;
  let { at } = run;
  for await (const change of store.changes(repo, at, yielding.begin(caller.keyId))) {
    // Another watch set it back while this one read the journal or waited for the client.
    if (!connection.isCatchingUp(repo, run) || run.at !== at) return false;
    // A key may end while its client reads slowly.
    if (!isValid(caller)) {
      socket.disconnect();
      return false;
    }
    at = change.revision;
    run.at = at;
    const seen = service.viewChange(caller, repo, change);
    if (seen === undefined) {
      if (isProgressDue(connection.passOver(repo), store, repo)) sendProgress(connection, repo, at, options);
      continue;
    }
    connection.markSent(repo);
    socket.send(["config", "changed", seen]);
    await socket.drained();
  }
  return run.at === at;
}

function sendProgress(connection: Connection, repo: string, at: number, { service }: CatchUpOptions): void {
  const progress = service.viewProgress(connection.caller, repo, at);
  connection.markSent(repo);
  if (progress !== undefined) connection.socket.send(progress);
}
