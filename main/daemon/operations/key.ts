import { ownerGrants } from "../../../shared/grants.ts";
import type { KeyEntry } from "../../../shared/protocol.ts";
import type { Caller } from "../caller.ts";
import type { Operations } from "../dispatch.ts";
import type { Keys, StoredKey } from "../keys/keys.ts";
import type { Sessions } from "../keys/sessions.ts";
import { page } from "./pages.ts";
import { requireOwner } from "./repo.ts";

type KeyOperations = Pick<Operations, "key/self" | "key/list" | "key/create" | "key/revoke">;

/** `key/*`: any key may ask about itself; the rest is the owner's. `disconnect` ends a key's connections. */
export function keyOperations(
  keys: Keys,
  sessions: Sessions,
  onChanged: () => void,
  disconnect: (id: string) => void,
): KeyOperations {
  return {
    "key/self": (_args, { caller }) => ({ result: selfEntry(caller) }),

    "key/list": ({ limit, after }, { caller }) => {
      requireOwner(caller);
      const entries = [
        ...keys.list().map(key => ({ ...keyEntry(key), createdAt: key.createdAt })),
        ...sessions.list().map(session => ({ ...session, grants: ownerGrants, kind: "session" as const })),
      ];
      return page(
        entries.sort((one, other) => (one.id < other.id ? -1 : 1)),
        limit,
        after,
      );
    },

    "key/create": async ({ name, grants, expires }, { caller }) => {
      requireOwner(caller);
      const { stored, key } = await keys.create(name, grants, expires ?? undefined);
      onChanged();
      return { result: { ...keyEntry(stored), key } };
    },

    "key/revoke": async ({ id }, { caller }) => {
      requireOwner(caller);
      if (!sessions.end(id)) {
        await keys.revoke(id);
        onChanged();
      }
      // A session that ends itself is to get its answer first.
      if (caller.keyId === id) setImmediate(() => disconnect(id));
      else disconnect(id);
      return { result: {} };
    },
  };
}

function selfEntry({ keyId, name, grants, expires, kind }: Caller): KeyEntry {
  return { id: keyId, name, grants, ...(expires !== undefined && { expires }), ...(kind !== undefined && { kind }) };
}

function keyEntry({ id, name, grants, expires }: StoredKey): KeyEntry {
  return { id, name, grants, ...(expires !== undefined && { expires }) };
}
