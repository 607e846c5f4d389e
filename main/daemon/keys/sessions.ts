import { randomBytes } from "node:crypto";
import { keyRights, ownerGrants } from "../../../shared/grants.ts";
import { type ClientProof, clientText, type Handshake, sessionText } from "../../../shared/handshake.ts";
import { sign } from "../../home/credentials.ts";
import type { Clock } from "../../time/clock.ts";
import type { KeyEvent } from "../observe/audit-log.ts";
import type { Caller } from "./caller.ts";
import { sameHash } from "./key-text.ts";
import { type Proven, UnauthorizedError } from "./keys.ts";

/** One of the owner's sessions, such as a browser window. */
export interface SessionEntry {
  readonly id: string;
  readonly name: string;
  /** RFC 3339, UTC. */
  readonly createdAt: string;
  readonly usedAt: string;
}

interface Session {
  readonly caller: Caller;
  readonly secret: Buffer;
  /** Milliseconds since 1970. */
  readonly createdAt: number;
  usedAt: number;
  /** Whether a client has connected with it. */
  isUsed: boolean;
}

/** A session that nobody has used for this long, in milliseconds, ends. */
const idleTime = 12 * 60 * 60_000;

/**
 * The owner's sessions, each with the owner's rights. They are only in memory, so none outlives the daemon. A link's code becomes
 * a session at the first connection that proves its secret, which is never sent.
 */
export class Sessions {
  readonly #clock: Pick<Clock, "now">;
  readonly #onChanged: () => void;
  readonly #onEvent: (event: KeyEvent, id: string) => void;
  readonly #sessions = new Map<string, Session>();
  /** The secrets of links that were not followed yet, and when they expire (milliseconds since 1970). */
  readonly #codes = new Map<string, { readonly secret: Buffer; readonly end: number }>();

  constructor(
    clock: Pick<Clock, "now">,
    onChanged: () => void = () => {},
    onEvent: (event: KeyEvent, id: string) => void = () => {},
  ) {
    this.#clock = clock;
    this.#onChanged = onChanged;
    this.#onEvent = onEvent;
  }

  /** Creates a session that can connect at once; `secret` is hexadecimal. */
  create(label: string): { readonly id: string; readonly secret: string } {
    const [id, secret] = [newId(), randomBytes(32)];
    this.#open(id, label, secret);
    return { id, secret: secret.toString("hex") };
  }

  /** Creates a link's code, `ID.SECRET`, which works once, within this many milliseconds. */
  createCode(lifetime: number): string {
    const now = this.#clock.now();
    for (const [id, { end }] of this.#codes) if (end <= now) this.#codes.delete(id);
    const [id, secret] = [newId(), randomBytes(32)];
    this.#codes.set(id, { secret, end: now + lifetime });
    return `${id}.${secret.toString("hex")}`;
  }

  /**
   * The session or link whose secret signed this proof; undefined if none has the id. Throws RepoconfError 1100 if the proof is
   * wrong.
   */
  prove({ keyId, proof }: ClientProof, handshake: Handshake): Proven | undefined {
    const session = this.#live(keyId);
    const secret = session?.secret ?? this.#codeSecret(keyId);
    if (secret === undefined) return undefined;
    if (!sameHash(sign(secret, clientText(handshake)), proof)) throw new UnauthorizedError(session?.caller.keyId);
    const proven = { sign: (text: string) => sign(secret, text) };
    if (session !== undefined) return { ...proven, caller: session.caller };
    this.#codes.delete(keyId);
    // Derived from random values of both sides, so that somebody who sees the link later cannot compute it.
    const derived = Buffer.from(sign(secret, sessionText(handshake)), "hex");
    return { ...proven, caller: this.#open(keyId, "browser", derived).caller };
  }

  isValid(caller: Caller): boolean {
    return this.#live(caller.keyId)?.caller === caller;
  }

  /** A client has connected with it. */
  noteUse({ keyId }: Caller): void {
    const session = this.#live(keyId);
    if (session === undefined || session.isUsed) return;
    session.isUsed = true;
    this.#onEvent("keyFirstUsed", keyId);
  }

  /** A person used this window. */
  touch(id: string): void {
    const session = this.#live(id);
    if (session !== undefined) session.usedAt = this.#clock.now();
  }

  list(): readonly SessionEntry[] {
    const text = (time: number) => new Date(time).toISOString();
    return [...this.#sessions.keys()].flatMap(id => {
      const session = this.#live(id);
      if (session === undefined) return [];
      return [{ id, name: session.caller.name, createdAt: text(session.createdAt), usedAt: text(session.usedAt) }];
    });
  }

  /** Returns false if there is no session with this id. */
  end(id: string): boolean {
    const isEnded = this.#sessions.delete(id);
    if (isEnded) {
      this.#onEvent("keyRevoked", id);
      this.#onChanged();
    }
    return isEnded;
  }

  /** Ends the sessions that nobody has used for too long, and returns their ids. */
  endLapsed(): readonly string[] {
    const lapsed = [...this.#sessions].filter(([, session]) => this.#hasLapsed(session)).map(([id]) => id);
    for (const id of lapsed) this.#sessions.delete(id);
    if (lapsed.length > 0) this.#onChanged();
    return lapsed;
  }

  /** Ends all sessions and returns their ids. */
  endAll(): readonly string[] {
    const ids = [...this.#sessions.keys()];
    for (const id of ids) this.end(id);
    this.#codes.clear();
    return ids;
  }

  #codeSecret(id: string): Buffer | undefined {
    const code = this.#codes.get(id);
    return code !== undefined && code.end > this.#clock.now() ? code.secret : undefined;
  }

  #open(id: string, label: string, secret: Buffer): Session {
    const name = `owner (${label})`;
    const actor = { kind: "key", id: "owner", name } as const;
    const caller: Caller = {
      keyId: id,
      name,
      owner: true,
      actor,
      grants: ownerGrants,
      rights: keyRights,
      kind: "session",
    };
    const now = this.#clock.now();
    const session = { caller, secret, createdAt: now, usedAt: now, isUsed: false };
    this.#sessions.set(id, session);
    this.#onEvent("keyMade", id);
    this.#onChanged();
    return session;
  }

  #live(id: string): Session | undefined {
    const session = this.#sessions.get(id);
    return session === undefined || this.#hasLapsed(session) ? undefined : session;
  }

  #hasLapsed({ usedAt }: Session): boolean {
    return usedAt + idleTime <= this.#clock.now();
  }
}

/** In the same form as the ids of keys. */
function newId(): string {
  return randomBytes(6).toString("hex");
}
