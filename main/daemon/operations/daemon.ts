import { RepoconfError } from "../../../shared/errors.ts";
import type { Endpoint } from "../../home/endpoint-file.ts";
import { causeOf } from "../../store/storage-failure.ts";
import type { Store } from "../../store/store.ts";
import type { HeldHome } from "../home/held-home.ts";
import type { Problems } from "../observe/problems.ts";
import type { Refusals } from "../observe/refusals.ts";
import type { Connections } from "../socket/connections.ts";
import type { Operations } from "../socket/dispatch.ts";
import { requireOwner } from "./repo.ts";

export interface DaemonOperationsOptions {
  readonly held: HeldHome;
  readonly endpoint: Endpoint;
  readonly store: Store;
  readonly connections: Connections;
  readonly refusals: Refusals;
  readonly problems: Pick<Problems, "all">;
  onStop(): void;
}

/** `daemon/*`. Only the owner gets details of the machine. */
export function daemonOperations(
  options: DaemonOperationsOptions,
): Pick<Operations, "daemon/status" | "daemon/dismiss" | "daemon/stop"> {
  const { held, endpoint, store, connections, refusals, problems, onStop } = options;
  return {
    "daemon/status": (_args, { caller }) => {
      const { version, protocol, startedAt, url, pid } = endpoint;
      if (!caller.owner) return { result: { version, protocol, startedAt } };
      const { indexing, log } = store;
      return {
        result: {
          version,
          protocol,
          startedAt,
          home: held.home.folder,
          url,
          pid,
          repositories: [...store.repositories.ids()].length,
          ...(log.place && { log: log.place }),
          ...(indexing && { indexing }),
          sockets: connections.count,
          refusals: Object.fromEntries(refusals.counts),
          problems: problems.all,
          findings: store.findings.all,
          variables: Object.keys(process.env).sort(),
        },
      };
    },

    "daemon/dismiss": async ({ id }, { caller }) => {
      requireOwner(caller);
      const isDismissed = await store.findings.dismiss(id).catch(error => {
        const message = `findings.json cannot be written (${causeOf(error)}), so nothing was dismissed. Free space on the disk, then retry.`;
        throw new RepoconfError(1108, message);
      });
      if (!isDismissed)
        throw new RepoconfError(1112, `Nothing that was found has the id "${id}". To list all: daemon/status.`);
      return { result: {} };
    },

    "daemon/stop": (_args, { caller }) => {
      requireOwner(caller);
      // The reply is sent first.
      setImmediate(onStop);
      return { result: {} };
    },
  };
}
