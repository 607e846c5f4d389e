import { RepoconfError } from "../../../shared/errors.ts";
import { type ClientProof, clientText, type Handshake } from "../../../shared/handshake.ts";
import type { FileSystem } from "../../files/file-system.ts";
import type { Home } from "../../home/home.ts";
import type { Clock } from "../../time/clock.ts";
import type { AuditLog, KeyEvent } from "../observe/audit-log.ts";
import type { Caller } from "./caller.ts";
import { Keys, type Proven, UnauthorizedError } from "./keys.ts";
import { Sessions } from "./sessions.ts";

/** Who a client is: the holder of a key, or one of the owner's sessions. */
export class Authentication {
  readonly keys: Keys;
  readonly sessions: Sessions;

  private constructor(keys: Keys, sessions: Sessions) {
    this.keys = keys;
    this.sessions = sessions;
  }

  /** Reads the keys. `onChanged` is called when sessions begin or end. Throws HomeError if a file exists but contains no key. */
  static async open(
    home: Home,
    clock: Clock,
    fileSystem: FileSystem,
    audit: AuditLog | undefined,
    onChanged: () => void,
  ): Promise<Authentication> {
    const onEvent = (event: KeyEvent, id: string) => audit?.key(event, id);
    const keys = await Keys.open(home, clock, fileSystem, onEvent);
    return new Authentication(keys, new Sessions(clock, onChanged, onEvent));
  }

  /** The caller with this key. Throws RepoconfError 1100. */
  authenticate(key: string): Caller {
    return this.keys.authenticate(key);
  }

  /** Like `authenticate`, with a proof of the key, or of a session if those may use this connection. */
  authenticateProof(proof: ClientProof, handshake: Handshake, allowsSessions: boolean): Proven {
    const session = allowsSessions ? this.sessions.prove(proof, handshake) : undefined;
    return session ?? this.keys.authenticateProof(proof, clientText(handshake));
  }

  /** Whether the caller's key or session is still valid. */
  isValid(caller: Caller): boolean {
    return this.#of(caller).isValid(caller);
  }

  /** Throws RepoconfError 1100 if the caller's key or session has ended. */
  assertValid(caller: Caller): void {
    if (!this.isValid(caller)) throw new UnauthorizedError(caller.keyId);
  }

  /** A client has connected or disconnected. */
  noteUse(caller: Caller): void {
    this.#of(caller).noteUse(caller);
  }

  /** Whether the text is the owner's key, which counts as a use of it. */
  isOwnersKey(key: string): boolean {
    try {
      const caller = this.keys.authenticate(key);
      this.keys.noteUse(caller);
      return caller.owner;
    } catch (error) {
      if (error instanceof RepoconfError) return false;
      throw error;
    }
  }

  #of({ kind }: Caller): Keys | Sessions {
    return kind === "session" ? this.sessions : this.keys;
  }
}
