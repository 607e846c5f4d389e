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

export interface OperationsOptions extends DaemonOperationsOptions, KeyOperationsOptions {
  readonly drafts: Drafts;
  readonly service: ConfigService;
  readonly server: DaemonServer;
  readonly yielding: Yielding;
  readonly clock: Clock;
  readonly runState: RunState;
}

/** Every operation by its name. */
export function createOperations(options: OperationsOptions): Operations {
  const { service, store, drafts, yielding, clock, runState } = options;
  const { scopes } = options.files;
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
    ...sessionOperations(options.authentication.sessions, options.server),
    ...keyOperations(options),
    ...daemonOperations(options),
  };
}
