import { keyRights, ownerGrants } from "../../../shared/grants.ts";
import type { KeyEntry } from "../../../shared/protocol.ts";
import { page } from "../config/pages.ts";
import type { Authentication } from "../keys/authentication.ts";
import type { Caller } from "../keys/caller.ts";
import type { StoredKey } from "../keys/keys.ts";
import type { Proposals } from "../rights/proposals.ts";
import type { Connections } from "../socket/connections.ts";
import type { Operations } from "../socket/dispatch.ts";
import { requireOwner } from "./repo.ts";

type KeyOperations = Pick<Operations, "key/self" | "key/list" | "key/create" | "key/revoke">;

export interface KeyOperationsOptions {
  readonly authentication: Authentication;
  readonly connections: Connections;
  readonly proposals: Pick<Proposals, "dropKey">;
  onKeysChanged(): void;
}

/** `key/*`: any key may ask about itself; everything else needs the owner's key. */
export function keyOperations(options: KeyOperationsOptions): KeyOperations {
  const { authentication, connections, proposals, onKeysChanged } = options;
  const { keys, sessions } = authentication;
  return {
    "key/self": (_args, { caller }) => ({ result: selfEntry(caller) }),

    "key/list": ({ limit, after }, { caller }) => {
      requireOwner(caller);
      const entries = [
        ...keys.list().map(listedKey),
        ...sessions
          .list()
          .map(session => ({ ...session, grants: ownerGrants, rights: keyRights, kind: "session" as const })),
      ];
      const { result, ...rest } = page(
        entries.sort((one, other) => (one.id < other.id ? -1 : 1)),
        limit,
        after,
      );
      return { ...rest, result: result.map(entry => ({ ...entry, connections: connections.countOf(entry.id) })) };
    },

    "key/create": async ({ name, grants, rights, expires, audited }, { caller }) => {
      requireOwner(caller);
      const { stored, key } = await keys.create(name, grants, rights ?? [], expires ?? undefined, audited ?? false);
      onKeysChanged();
      return { result: { ...keyEntry(stored), key } };
    },

    "key/revoke": async ({ id }, { caller }) => {
      requireOwner(caller);
      if (!sessions.end(id)) {
        await keys.revoke(id);
        proposals.dropKey(id);
        onKeysChanged();
      }
      // A session that ends itself must get its reply first.
      if (caller.keyId === id) setImmediate(() => connections.disconnectKey(id));
      else connections.disconnectKey(id);
      return { result: {} };
    },
  };
}

function selfEntry({ keyId, kind, ...key }: Caller): KeyEntry {
  return { ...keyEntry({ ...key, id: keyId }), ...(kind !== undefined && { kind }) };
}

function listedKey(key: StoredKey) {
  const { createdAt, usedAt } = key;
  return { ...keyEntry(key), createdAt, ...(usedAt !== undefined && { usedAt }) };
}

function keyEntry({
  id,
  name,
  grants,
  rights = keyRights,
  expires,
  audited,
}: Pick<StoredKey, "id" | "name" | "grants" | "rights" | "expires" | "audited">): KeyEntry {
  return { id, name, grants, rights, ...(expires !== undefined && { expires }), ...(audited && { audited }) };
}
