import type { Endpoint } from "../../home/endpoint-file.ts";
import type { Store } from "../../store/store.ts";
import type { HeldHome } from "../home/held-home.ts";
import type { HomeFiles } from "../home/home-files.ts";
import type { Refusals } from "../observe/refusals.ts";
import type { Connections } from "../socket/connections.ts";
import type { Operations } from "../socket/dispatch.ts";
import { requireOwner } from "./repo.ts";

export interface DaemonOperationsOptions {
  readonly held: HeldHome;
  readonly files: HomeFiles;
  readonly endpoint: Endpoint;
  readonly store: Store;
  readonly connections: Connections;
  readonly refusals: Refusals;
  onStop(): void;
}

/** `daemon/*`. Only the owner gets details of the machine. */
export function daemonOperations(options: DaemonOperationsOptions): Pick<Operations, "daemon/status" | "daemon/stop"> {
  const { held, files, endpoint, store, connections, refusals, onStop } = options;
  return {
    "daemon/status": (_args, { caller }) => {
      const { version, protocol, startedAt, url, pid } = endpoint;
      if (!caller.owner) return { result: { version, protocol, startedAt } };
      const { indexing } = store;
      const { settings, scopeFiles } = files;
      const problems = [settings.problem, ...scopeFiles.problems, ...store.problems];
      return {
        result: {
          version,
          protocol,
          startedAt,
          home: held.home.folder,
          url,
          pid,
          repositories: [...store.repositories.ids()].length,
          ...(indexing && { indexing }),
          sockets: connections.count,
          refusals: Object.fromEntries(refusals.counts),
          problems: problems.filter(problem => problem !== undefined),
        },
      };
    },

    "daemon/stop": (_args, { caller }) => {
      requireOwner(caller);
      // The reply is sent first.
      setImmediate(onStop);
      return { result: {} };
    },
  };
}
