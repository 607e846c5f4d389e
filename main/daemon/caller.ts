import type { Grants } from "../../shared/grants.ts";
import type { Actor } from "./store/store.ts";

/** Who sends a request: an API key, as far as an operation needs to know it. */
export interface Caller {
  readonly keyId: string;
  readonly name: string;
  readonly owner: boolean;
  /** As whom the history knows it: the owner's sessions are the owner. */
  readonly actor: Extract<Actor, { kind: "key" }>;
  /** The same object for as long as the key is the same: what is derived from it is keyed by it. */
  readonly grants: Grants;
  /** RFC 3339. */
  readonly expires?: string;
  /** A session: one of the owner's windows. */
  readonly kind?: "session";
}
