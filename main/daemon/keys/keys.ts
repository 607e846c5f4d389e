import { Low } from "lowdb";
import pLimit from "p-limit";
import { keyIdOf } from "../../../shared/api-key.ts";
import { RepoconfError } from "../../../shared/errors.ts";
import { type Grants, isOpenScope, type KeyRight, keyRights } from "../../../shared/grants.ts";
import type { ClientProof } from "../../../shared/handshake.ts";
import { isJsonObject } from "../../../shared/json.ts";
import { compileSchema } from "../../../shared/schema/compile-schema.ts";
import { SpareSteps } from "../../../shared/schema/step-budget.ts";
import { describeCause } from "../../files/describe-cause.ts";
import { type FileSystem, realFileSystem } from "../../files/file-system.ts";
import { JsonFile } from "../../files/json-file.ts";
import { sign } from "../../home/credentials.ts";
import type { Home } from "../../home/home.ts";
import { HomeError, privateFile } from "../../home/prepare-home.ts";
import { type Clock, timeText } from "../../time/clock.ts";
import type { KeyEvent } from "../observe/audit-log.ts";
import { grantsSchema, rightsSchema } from "../socket/argument-schemas.ts";
import type { Caller } from "./caller.ts";
import { hashKey, newKeyText, sameHash } from "./key-text.ts";
import { findOwnerKey, type Owner, openOwnerKey } from "./owner-key.ts";

export interface StoredKey {
  readonly id: string;
  readonly name: string;
  /** SHA-256 of the key's text, hexadecimal. */
  readonly hash: string;
  readonly grants: Grants;
  /** Absent in keys from before there were such rights, which have all of them. */
  readonly rights?: readonly KeyRight[];
  /** RFC 3339, UTC. */
  readonly createdAt: string;
  readonly expires?: string;
  readonly audited?: true;
  /** When a client last connected or disconnected with it; RFC 3339, UTC. */
  readonly usedAt?: string;
}

type KeysClock = Pick<Clock, "now" | "delay">;

interface KeysData {
  readonly keys: readonly StoredKey[];
  /** The id of the owner's key, once a client has connected with it. */
  readonly usedOwner?: string;
}

type OnKeyEvent = (event: KeyEvent, id: string) => void;

/** How far `usedAt` in the file may lag behind, in milliseconds: a crash loses no more than that. */
const usesKeptEvery = 60 * 60_000;

/** Names that events use for other actors, so a key cannot have them. */
const reservedNames = /^(owner|file$|this key$|another key$)/i;
/** The same error for every invalid key, so that an attacker learns nothing from it. */
export class UnauthorizedError extends RepoconfError {
  /** The id of the known key that was claimed, if any; only for the daemon's own files. */
  readonly keyId: string | undefined;

  constructor(keyId?: string) {
    super(
      1100,
      "Unauthorized: a valid API key is required. Use the one in owner.key in the home, or ask the owner for one.",
    );
    this.keyId = keyId;
  }
}

/** A caller who proved a key, and how the daemon proves the same in return. */
export interface Proven {
  readonly caller: Caller;
  /** HMAC-SHA256 of a text, in hexadecimal. */
  sign(text: string): string;
}

/** The owner's key and the named keys: who may connect, and with which grants. */
export class Keys {
  readonly #low: Low<KeysData>;
  readonly #home: Home;
  readonly #fileSystem: FileSystem;
  #owner: Owner;
  /** Whether the file still contains this key, as far as the daemon knows. */
  #isOwnerKept = true;
  readonly #callers = new Map<string, { readonly hash: string; readonly caller: Caller }>();
  /** What grants cover besides the repositories that they name. */
  cover: (grants: Grants) => Grants = grants => grants;
  /** Keys with which a client has connected. */
  readonly #usedOnce = new WeakSet<Caller>();
  /** When each named key was last used in this run of the daemon, by id. */
  readonly #usedAt = new Map<string, string>();
  readonly #writing = pLimit(1);
  readonly #clock: KeysClock;
  readonly #onEvent: OnKeyEvent;

  private constructor(
    low: Low<KeysData>,
    home: Home,
    owner: Owner,
    clock: KeysClock,
    fileSystem: FileSystem,
    onEvent: OnKeyEvent,
  ) {
    this.#low = low;
    this.#home = home;
    this.#owner = owner;
    this.#clock = clock;
    this.#fileSystem = fileSystem;
    this.#onEvent = onEvent;
  }

  /** Reads the keys; creates the owner's key if there is none. Throws HomeError if a file exists but contains no key. */
  static async open(
    home: Home,
    clock: KeysClock,
    fileSystem = realFileSystem,
    onEvent: OnKeyEvent = () => {},
  ): Promise<Keys> {
    const file = privateFile(home, home.keysFile, fileSystem);
    const low = new Low<KeysData>(new JsonFile(file, parseKeys), { keys: [] });
    try {
      await low.read();
      await file.makePrivate();
    } catch (error) {
      const cause = describeCause(error);
      throw new HomeError(
        `${home.keysFile} is invalid: ${cause}. Fix it, or move it away, which revokes every named key.`,
      );
    }
    const { owner, isNew } = await openOwnerKey(home, fileSystem);
    const keys = new Keys(low, home, owner, clock, fileSystem, onEvent);
    for (const key of low.data.keys) keys.#remember(key);
    if (low.data.usedOwner === owner.id) keys.#usedOnce.add(owner.caller);
    if (isNew) onEvent("keyMade", owner.caller.keyId);
    return keys;
  }

  /**
   * Applies the owner's key that is now in its file, or creates one if the file is missing. If the key changed, `onEnded`
   * receives the id of the old key's caller at once, even if a new key cannot be written. Throws HomeError, and changes nothing,
   * if the file contains no key, and the system's error if a new one cannot be written.
   */
  applyOwnerKeyFile(onEnded: (id: string) => void): Promise<void> {
    return this.#writing(async () => {
      const key = await findOwnerKey(this.#home, this.#clock);
      if (key !== undefined && sameHash(hashKey(key), this.#owner.hash)) return;
      const { keyId } = this.#owner.caller;
      const take = (owner: Owner) => {
        this.#owner = owner;
        // A key that was never written to the file has had no users.
        if (this.#isOwnerKept) {
          this.#onEvent("keyRevoked", keyId);
          onEnded(keyId);
        }
        this.#isOwnerKept = false;
      };
      const { owner, isNew } = await openOwnerKey(this.#home, this.#fileSystem, take);
      take(owner);
      this.#isOwnerKept = true;
      if (isNew) this.#onEvent("keyMade", keyId);
    });
  }

  /** The caller with this key. Throws RepoconfError 1100. */
  authenticate(key: string): Caller {
    const id = keyIdOf(key);
    if (id === undefined) throw new UnauthorizedError();
    const hash = hashKey(key);
    if (id === this.#owner.id && sameHash(hash, this.#owner.hash)) return this.#owner.caller;
    const known = this.#callers.get(id);
    if (known === undefined || !sameHash(hash, known.hash)) throw new UnauthorizedError(this.#knownId(id));
    this.#assertValid(known.caller);
    return known.caller;
  }

  /** The caller who signed this text, and how the daemon signs with the same key. Throws RepoconfError 1100. */
  authenticateProof({ keyId, proof }: ClientProof, text: string): Proven {
    const { hash, caller } = keyId === this.#owner.id ? this.#owner : (this.#callers.get(keyId) ?? {});
    if (hash === undefined || caller === undefined) throw new UnauthorizedError();
    const secret = Buffer.from(hash, "hex");
    if (!sameHash(sign(secret, text), proof)) throw new UnauthorizedError(caller.keyId);
    this.#assertValid(caller);
    return { caller, sign: answer => sign(secret, answer) };
  }

  /** The key's id for the audit file; undefined if no key has the id that was claimed. */
  #knownId(id: string): string | undefined {
    return (id === this.#owner.id ? this.#owner : this.#callers.get(id))?.caller.keyId;
  }

  /** Throws RepoconfError 1100 if the caller's key has been revoked or has expired since. */
  #assertValid(caller: Caller): void {
    if (!this.isValid(caller)) throw new UnauthorizedError(caller.keyId);
  }

  /**
   * Records that a client connected or disconnected with the key. The first use ever is reported and saved; a crash in that
   * moment makes it be reported twice. The time of the last use is saved from time to time, and on close.
   */
  noteUse(caller: Caller): void {
    if (!this.isValid(caller)) return;
    const now = timeText(this.#clock);
    const isOwnerKey = caller === this.#owner.caller;
    const kept = this.#low.data.keys.find(({ id }) => id === caller.keyId)?.usedAt;
    if (!isOwnerKey) this.#usedAt.set(caller.keyId, now);
    const isFirst = !this.#usedOnce.has(caller);
    if (isFirst) {
      this.#usedOnce.add(caller);
      this.#onEvent("keyFirstUsed", caller.keyId);
    } else if (kept === undefined || Date.parse(now) - Date.parse(kept) < usesKeptEvery) {
      return;
    }
    void this.#writing(() => this.#save(this.list(), isOwnerKey ? this.#owner.id : undefined)).catch(
      // If this fails, the use after the next start counts as the first.
      () => {},
    );
  }

  isValid(caller: Caller): boolean {
    if (caller === this.#owner.caller) return true;
    if (this.#callers.get(caller.keyId)?.caller !== caller) return false;
    return caller.expires === undefined || Date.parse(caller.expires) > this.#clock.now();
  }

  list(): readonly StoredKey[] {
    return this.#low.data.keys.map(key => {
      const usedAt = this.#usedAt.get(key.id) ?? key.usedAt;
      return usedAt === undefined ? key : { ...key, usedAt };
    });
  }

  /** Creates a key. Its text is returned here and stored nowhere. Throws RepoconfError 1101, 1108 or 1111. */
  create(
    name: string,
    grants: Grants,
    rights: readonly KeyRight[],
    expires: string | undefined,
    audited = false,
  ): Promise<{ readonly stored: StoredKey; readonly key: string }> {
    return this.#writing(async () => {
      if (reservedNames.test(name.trim()))
        throw refused(1101, `"${name}" cannot be the name of a key. Choose another name.`, "name");
      if (this.list().some(key => key.name === name)) {
        const message = `A key called "${name}" already exists. Choose another name, or revoke that key.`;
        throw refused(1111, message, "name");
      }
      const open = grants.flatMap(({ fields }) => fields).find(isOpenScope);
      if (open !== undefined) {
        const meant = `${open.slice(0, -1)}.*`;
        const message = `"${open}" could also match other scopes. For the fields of one scope, write "${meant}".`;
        throw refused(1101, message, "grants");
      }
      const expiry = expires === undefined ? undefined : this.#parseExpiry(expires);
      const { id, key } = newKeyText();
      const createdAt = timeText(this.#clock);
      const stored: StoredKey = {
        id,
        name,
        hash: hashKey(key),
        grants,
        rights,
        createdAt,
        ...(expiry !== undefined && { expires: expiry }),
        ...(audited && { audited }),
      };
      await this.#save([...this.list(), stored]);
      this.#remember(stored);
      this.#onEvent("keyMade", id);
      return { stored, key };
    });
  }

  /** Revokes a key. Throws RepoconfError 1108 or 1112. */
  revoke(id: string): Promise<void> {
    return this.#writing(async () => {
      const rest = this.list().filter(key => key.id !== id);
      if (rest.length === this.list().length)
        throw new RepoconfError(1112, `There is no key with the id "${id}". To list all keys: key/list.`);
      await this.#save(rest);
      this.#callers.delete(id);
      this.#usedAt.delete(id);
      this.#onEvent("keyRevoked", id);
    });
  }

  /** Waits for the write in progress and saves when the keys were last used. */
  async close(): Promise<void> {
    await this.#writing(async () => {
      const isKept = this.#low.data.keys.every(({ id, usedAt }) => (this.#usedAt.get(id) ?? usedAt) === usedAt);
      if (!isKept) await this.#save(this.list());
    }).catch(
      // Only times of use are lost; every other change was saved before it was published.
      () => {},
    );
  }

  #parseExpiry(text: string): string {
    const time = Date.parse(text);
    const [, year, month, day] = /^(\d{4})-(\d\d)-(\d\d)T.+(?:Z|[+-]\d\d:\d\d)$/.exec(text) ?? [];
    // Date turns 31 February into a day in March.
    const isDay = new Date(Date.UTC(Number(year), Number(month) - 1, Number(day))).getUTCDate() === Number(day);
    if (!isDay || Number.isNaN(time)) {
      throw refused(1101, `"${text}" is not a time; write it like 2027-01-31T12:00:00Z.`, "expires");
    }
    if (time <= this.#clock.now()) throw refused(1101, `${text} is in the past.`, "expires");
    return new Date(time).toISOString();
  }

  async #save(keys: readonly StoredKey[], usedOwner = this.#low.data.usedOwner): Promise<void> {
    const before = this.#low.data;
    this.#low.data = { keys, ...(usedOwner !== undefined && { usedOwner }) };
    try {
      await this.#low.write();
    } catch (error) {
      this.#low.data = before;
      const cause = describeCause(error);
      throw new RepoconfError(1108, `The keys could not be written to disk (${cause}); nothing was changed.`);
    }
  }

  #remember({ id, name, hash, grants, rights = keyRights, expires, audited, usedAt }: StoredKey): void {
    const actor = { kind: "key", id, name } as const;
    const more = { ...(expires !== undefined && { expires }), ...(audited && { audited }) };
    const covered = () => this.cover(grants);
    const caller: Caller = {
      ...{ keyId: id, name, owner: false, actor, rights, ...more },
      get grants() {
        return covered();
      },
    };
    this.#callers.set(id, { hash, caller });
    if (usedAt !== undefined) this.#usedOnce.add(caller);
  }
}

/** An invalid argument of key/create. */
function refused(code: 1101 | 1111, message: string, argument: string): RepoconfError {
  return new RepoconfError(code, message, { details: { argument } });
}

function parseKeys(value: unknown): KeysData {
  const [grants, rights] = [compileSchema(grantsSchema), compileSchema(rightsSchema)];
  if (!isJsonObject(value) || !Array.isArray(value["keys"])) throw new SyntaxError(`it is not { "keys": [...] }`);
  for (const key of value["keys"]) {
    const wellFormed =
      isJsonObject(key) &&
      ["id", "name", "hash", "createdAt"].every(member => typeof key[member] === "string") &&
      grants.check(key["grants"] ?? null, new SpareSteps()).problems.length === 0 &&
      rights.check(key["rights"] ?? [], new SpareSteps()).problems.length === 0 &&
      ["expires", "usedAt"].every(member => key[member] === undefined || typeof key[member] === "string") &&
      (key["audited"] === undefined || key["audited"] === true);
    if (!wellFormed) throw new SyntaxError("one of its keys is invalid");
  }
  // Every member that is used was checked above.
  return value as unknown as KeysData;
}
