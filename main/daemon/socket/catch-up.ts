import { type RepoconfError, toRepoconfError } from "../../../shared/errors.ts";
import { changesAfter } from "../../store/history/repository-history.ts";
import type { Store } from "../../store/store.ts";
import type { Yielding } from "../../time/yielding.ts";
import type { ConfigService } from "../config/config-service.ts";
import { sealPosition } from "../config/sealed-position.ts";
import type { CatchUp, Connection } from "./connection.ts";

export interface CatchUpOptions {
  readonly store: Store;
  readonly service: ConfigService;
  readonly yielding: Yielding;
  /** Called when a history could not be read; the client is then disconnected. */
  onRefusal(error: RepoconfError): void;
}

/** How often, within the history that is kept, a watcher that sees none of the changes gets a progress event. */
const timesInWindow = 10;

/**
 * Whether a watcher should get a progress event after `unseen` changes that it could not see. Without one, the history would at
 * some point no longer reach back to its last revision, and it could not continue from there after a lost connection.
 */
export function isProgressDue(unseen: number, store: Store, repo: string): boolean {
  return (
    unseen > 0 &&
    unseen * timesInWindow >= store.repositories.revision(repo) - (store.repositories.get(repo)?.oldest ?? 0)
  );
}

/** Sends a connection the history that it asked for, one repository after the other. */
export function catchUp(connection: Connection, options: CatchUpOptions): void {
  const goOn = async () => {
    for (let next = connection.catchUps; next.length > 0; next = connection.catchUps) {
      for (const [repo, run] of next) await catchUpRepository(connection, repo, run, options);
      // A watch that arrived in the meantime gets its reply first.
      await new Promise(setImmediate);
    }
    connection.endCatchUp();
    // Events had no position so far, because changes that were still to be sent may precede them in the log.
    const position = sealPosition(options.store.position);
    if (connection.goesByPosition) connection.socket.send(["config", "position", { position }]);
  };
  // The reply to the watch is sent first.
  setImmediate(() => {
    goOn().catch(error => {
      // The client reconnects, asks for the same again, and gets the error.
      options.onRefusal(toRepoconfError(error));
      connection.socket.disconnect();
    });
  });
}

/**
 * Sends a watcher the changes of a repository from the history until it has all of them; from then on it gets events as they happen.
 * No change is missed, because there is no await between finding that there are no more and subscribing to events. Waits for a client
 * that reads slowly. If the client asks for earlier changes meanwhile, it restarts from those.
 */
async function catchUpRepository(
  connection: Connection,
  repo: string,
  run: CatchUp,
  options: CatchUpOptions,
): Promise<void> {
  const { store } = options;
  for (;;) {
    if (!connection.isCatchingUp(repo, run)) return;
    const newest = store.repositories.revision(repo);
    if (newest === run.at || !store.repositories.has(repo)) {
      if (store.repositories.has(repo) && connection.isBehind(repo)) sendProgress(connection, repo, run.at, options);
      return connection.goLive(repo);
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
  const { store, service, yielding } = options;
  const { caller, socket } = connection;
  let { at } = run;
  const repository = await store.repositories.load(repo);
  for await (const change of changesAfter(repository, at, yielding.begin(caller.keyId))) {
    // Another watch set it back while this one read the history or waited for the client.
    if (!connection.isCatchingUp(repo, run) || run.at !== at) return false;
    // A key may end while its client reads slowly.
    if (!connection.checkValid()) return false;
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
