import type { Grants, KeyRight } from "../../../shared/grants.ts";
import type { Actor } from "../../store/types.ts";

/** The API key that a request was sent with: the parts that operations need. */
export interface Caller {
  readonly keyId: string;
  readonly name: string;
  readonly owner: boolean;
  /** The actor in the history; for the owner's sessions, this is the owner. */
  readonly actor: Extract<Actor, { kind: "key" }>;
  /**
   * With the linked worktrees of the repositories that they name. The same object as long as the key and those are the same: caches of
   * derived data use it as their key.
   */
  readonly grants: Grants;
  readonly rights: readonly KeyRight[];
  /** RFC 3339. */
  readonly expires?: string;
  /** Each of its requests is in the audit file. */
  readonly audited?: true;
  /** A session: one of the owner's windows. */
  readonly kind?: "session";
}
