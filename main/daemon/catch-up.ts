import type { Caller } from "./caller.ts";
import type { ConfigService } from "./config-service.ts";
import type { CatchUp, Connection } from "./connection.ts";
import type { RepositoryStore } from "./store/store.ts";

export interface CatchUpOptions {
  readonly store: RepositoryStore;
  readonly service: ConfigService;
  isValid(caller: Caller): boolean;
}

/**
 * Sends a watcher the changes of a repository out of the journal, until it has all that there are; from then on it takes
 * events as they happen. No change is left out, for the last step is made with no wait between seeing that there is
 * nothing more and taking events. Waits for a client that reads slowly. Asked to begin earlier meanwhile, it does.
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
    if (newest === run.at || !store.has(repo)) return connection.caughtUp(repo);
    const complete = await sendChanges(connection, repo, run, options);
    if (complete) run.at = Math.max(run.at, newest);
  }
}

/** False if it is to begin anew elsewhere, or not to go on. */
async function sendChanges(
  connection: Connection,
  repo: string,
  run: CatchUp,
  { store, service, isValid }: CatchUpOptions,
): Promise<boolean> {
  const { caller, socket } = connection;
  let { at } = run;
  for await (const change of store.changes(repo, at)) {
    // Set back by another watch while the journal was read or the client was waited for.
    if (!connection.isCatchingUp(repo, run) || run.at !== at) return false;
    // A key may end while its client reads slowly.
    if (!isValid(caller)) {
      socket.disconnect();
      return false;
    }
    at = change.revision;
    run.at = at;
    const seen = service.viewChange(caller, repo, change);
    if (seen === undefined) continue;
    socket.send(["config", "changed", seen]);
    await socket.drained();
  }
  return run.at === at;
}
