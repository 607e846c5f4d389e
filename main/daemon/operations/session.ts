import type { DaemonServer } from "../http/server.ts";
import type { Sessions } from "../keys/sessions.ts";
import type { Operations } from "../socket/dispatch.ts";
import { requireOwner } from "./repo.ts";

/** Milliseconds after which a link expires. */
const linkLifetime = 60_000;

/** The link with which a page at the screen's origin gets a session. */
export function linkOf(code: string, screenOrigin: string): string {
  return `${screenOrigin}/#code=${code}`;
}

/** `session/*`: the owner's windows (docs/protocol.md, "Sessions"). */
export function sessionOperations(
  sessions: Sessions,
  server: Pick<DaemonServer, "screenOrigin" | "openScreenByAddress">,
): Pick<Operations, "session/create" | "session/link" | "session/touch"> {
  return {
    "session/create": ({ label }, { caller }) => {
      requireOwner(caller);
      return { result: sessions.create(label) };
    },

    "session/link": async ({ byAddress }, { caller }) => {
      requireOwner(caller);
      const code = sessions.createCode(linkLifetime);
      const origin = byAddress === true ? await server.openScreenByAddress() : server.screenOrigin;
      return { result: { url: linkOf(code, origin) } };
    },

    "session/touch": (_args, { caller }) => {
      sessions.touch(caller.keyId);
      return { result: {} };
    },
  };
}
