import type { ConfigService } from "./config-service.ts";
import type { Connection } from "./connection.ts";
import type { RepositoryStore } from "./store/store.ts";

/**
 * Sends a watcher the changes of a repository after a revision, out of the journal, until it has all that there are; from
 * then on it takes events as they happen. No change is left out and none comes twice, for the last step is made with no
 * wait between seeing that there is nothing more and taking events. Waits for a client that reads slowly.
 */
export async function catchUp(
  connection: Connection,
  repo: string,
  since: number,
  run: object,
  { store, service }: { readonly store: RepositoryStore; readonly service: ConfigService },
): Promise<void> {
  let at = since;
  for (;;) {
    const newest = store.revision(repo);
    if (newest === at || !store.has(repo))
      return connection.isCatchingUp(repo, run) ? connection.caughtUp(repo) : undefined;
    for await (const change of store.changes(repo, at)) {
      if (!connection.isCatchingUp(repo, run)) return;
      const seen = service.viewChange(connection.caller, repo, change);
      at = change.revision;
      if (seen === undefined) continue;
      connection.socket.send(["config", "changed", seen]);
      await connection.socket.drained();
    }
    if (!connection.isCatchingUp(repo, run)) return;
    at = Math.max(at, newest);
  }
}
