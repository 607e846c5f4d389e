import type { Sessions } from "../keys/sessions.ts";
import type { Operations } from "../socket/dispatch.ts";
import { requireOwner } from "./repo.ts";

/** Milliseconds after which a link expires. */
const linkLifetime = 60_000;

export interface SessionOperationsOptions {
  readonly sessions: Sessions;
  /** `byAddress`: for a browser that cannot resolve the screen's own name. */
  linkOf(code: string, byAddress: boolean): Promise<string>;
}

/** `session/*`: the owner's windows (docs/protocol.md, "Sessions"). */
export function sessionOperations({
  sessions,
  linkOf,
}: SessionOperationsOptions): Pick<Operations, "session/create" | "session/link" | "session/touch"> {
  return {
    "session/create": ({ label }, { caller }) => {
      requireOwner(caller);
      return { result: sessions.create(label) };
    },

    "session/link": async ({ byAddress }, { caller }) => {
      requireOwner(caller);
      return { result: { url: await linkOf(sessions.createCode(linkLifetime), byAddress === true) } };
    },

    "session/touch": (_args, { caller }) => {
      sessions.touch(caller.keyId);
      return { result: {} };
    },
  };
}
