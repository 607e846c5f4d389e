import type { Operations } from "../dispatch.ts";
import type { Keys } from "../keys/keys.ts";
import type { SessionCodes } from "../keys/session-codes.ts";
import { requireOwner } from "./repo.ts";

/** Milliseconds that a code is good for. */
const codeLifetime = 60_000;

/** `session/*`: windows of the owner's (docs/protocol.md, "Sessions"). */
export function sessionOperations(
  keys: Keys,
  codes: SessionCodes,
  linkOf: (code: string) => string,
  onChanged: () => void,
): Pick<Operations, "session/create" | "session/link"> {
  return {
    "session/create": async ({ label }, { caller }) => {
      requireOwner(caller);
      const result = await keys.createSession(label);
      onChanged();
      return { result };
    },

    "session/link": (_args, { caller }) => {
      requireOwner(caller);
      const code = codes.create(codeLifetime);
      return { result: { url: linkOf(code), code } };
    },
  };
}
