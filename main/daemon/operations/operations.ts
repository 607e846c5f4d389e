import type { Scopes } from "../../scopes/scopes.ts";
import type { Store } from "../../store/store.ts";
import type { Clock } from "../../time/clock.ts";
import type { Yielding } from "../../time/yielding.ts";
import { ConfigChanges } from "../config/config-changes.ts";
import type { ConfigService } from "../config/config-service.ts";
import type { Drafts } from "../config/drafts.ts";
import type { DaemonServer } from "../http/server.ts";
import type { RunState } from "../run-state.ts";
import type { Operations } from "../socket/dispatch.ts";
import { configOperations } from "./config.ts";
import { type DaemonOperationsOptions, daemonOperations } from "./daemon.ts";
import { draftOperations } from "./draft.ts";
import { fileOperations } from "./file.ts";
import { historyOperations } from "./history.ts";
import { type KeyOperationsOptions, keyOperations } from "./key.ts";
import { repositoryOperations } from "./repo.ts";
import { scopeOperations } from "./scope.ts";
import { sessionOperations } from "./session.ts";
import { trustOperations } from "./trust.ts";
import { watchOperations } from "./watch.ts";

/** What the operations on repositories and their values need. */
interface RepositoryOperationsOptions {
  readonly store: Store;
  readonly scopes: Scopes;
  readonly service: ConfigService;
  readonly drafts: Drafts;
  readonly yielding: Yielding;
  readonly clock: Clock;
  readonly runState: RunState;
}

interface AccessOperationsOptions extends KeyOperationsOptions {
  readonly server: DaemonServer;
}

/** Every operation by its name: those on repositories, those on keys and sessions, and those on the daemon. */
export function createOperations(
  { store, scopes, service, drafts, yielding, clock, runState }: RepositoryOperationsOptions,
  access: AccessOperationsOptions,
  daemon: DaemonOperationsOptions,
): Operations {
  const changes = new ConfigChanges(store, scopes);
  return {
    ...configOperations(service, changes, scopes, yielding, clock),
    ...watchOperations(service, store, yielding),
    ...historyOperations(service, changes, store, scopes, yielding, clock),
    ...repositoryOperations(service, store, () => runState.assertRunning()),
    ...fileOperations(store),
    ...scopeOperations(scopes),
    ...draftOperations(drafts),
    ...trustOperations(store, scopes, yielding),
    ...sessionOperations(access.authentication.sessions, access.server),
    ...keyOperations(access),
    ...daemonOperations(daemon),
  };
}
