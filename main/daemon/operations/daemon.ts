import type { DaemonStatus } from "../../../shared/protocol.ts";
import type { Operations } from "../socket/dispatch.ts";
import { requireOwner } from "./repo.ts";

/** `daemon/*`. Only the owner gets details of the machine. */
export function daemonOperations(
  status: () => DaemonStatus,
  stop: () => void,
): Pick<Operations, "daemon/status" | "daemon/stop"> {
  return {
    "daemon/status": (_args, { caller }) => {
      const all = status();
      if (caller.owner) return { result: all };
      return { result: { version: all.version, protocol: all.protocol, startedAt: all.startedAt } };
    },

    "daemon/stop": (_args, { caller }) => {
      requireOwner(caller);
      stop();
      return { result: {} };
    },
  };
}
