import type { ErrorCode, RepoconfError } from "../../../shared/errors.ts";
import { RotatingLog } from "../../files/rotating-log.ts";
import type { Home } from "../../home/home.ts";
import { type Clock, timeText } from "../../time/clock.ts";
import type { Caller } from "../keys/caller.ts";

/** An event of a key: it was created, used for the first time, or revoked. */
export type KeyEvent = "keyMade" | "keyFirstUsed" | "keyRevoked";

/** The audit file and the rotated one together have at most twice this size. */
const fileBytes = 5_000_000;
/** Milliseconds during which the requests of one key are only counted. */
const countingTime = 1_000;

interface Tally {
  count: number;
  readonly of: Map<string, number>;
}

/**
 * The home's audit file (docs/protocol.md, "The audit file"): refused requests, created, used and revoked keys, and each
 * request of keys that are made for that. It has ids of keys, but never their texts, values, or anything else that a client chose. The
 * first request of a kind and key is written at once, further ones are counted and written once a second, so a client that asks forever
 * cannot fill the disk or slow down others.
 */
export class AuditLog {
  readonly #file: RotatingLog;
  readonly #clock: Clock;
  /** Requests since the last line about the same event and key, by that event and key as JSON. */
  readonly #tallies = new Map<string, Tally>();
  readonly #timers = new Set<() => void>();

  constructor(file: RotatingLog, clock: Clock) {
    this.#file = file;
    this.#clock = clock;
  }

  /** Undefined if the file cannot be written, which is logged: the daemon works without it. */
  static open(home: Home, clock: Clock, onProblem: (message: string, context: object) => void): AuditLog | undefined {
    try {
      return new AuditLog(new RotatingLog(home.auditFile, fileBytes), clock);
    } catch (error) {
      onProblem("cannot write audit.log; events are not being audited", { error: String(error) });
      return undefined;
    }
  }

  key(event: KeyEvent, key: string): void {
    this.#write({ event, key });
  }

  /** A request of a key of which each one is audited; `operation` is the name of an existing operation. */
  operationAsked({ keyId, audited }: Caller, operation: string): void {
    if (audited) this.#count({ event: "operationsAsked", key: keyId }, operation);
  }

  /** `operation` is the name of an existing operation. */
  operationRefused({ keyId }: Caller, operation: string, code: ErrorCode): void {
    this.#count({ event: "operationsRefused", key: keyId }, `${operation} ${code}`);
  }

  /** `key`: the id of the key that the client claimed, if such a key exists. */
  connectionRefused(cause: string, key?: string): void {
    this.#count({ event: "connectionsRefused", ...(key !== undefined && { key }) }, cause);
  }

  /** Writes the counts so far and closes the file. */
  close(): void {
    for (const cancel of this.#timers) cancel();
    for (const [about, tally] of this.#tallies) this.#report(about, tally);
    this.#tallies.clear();
    this.#file.close();
  }

  #count(about: { readonly event: string; readonly key?: string }, of: string): void {
    const name = JSON.stringify(about);
    const tally = this.#tallies.get(name);
    if (tally === undefined) {
      this.#write({ ...about, count: 1, of: { [of]: 1 } });
      this.#begin(name);
    } else {
      tally.count += 1;
      tally.of.set(of, (tally.of.get(of) ?? 0) + 1);
    }
  }

  #begin(name: string): void {
    const tally: Tally = { count: 0, of: new Map() };
    this.#tallies.set(name, tally);
    const cancel = this.#clock.schedule(countingTime, () => {
      this.#timers.delete(cancel);
      this.#tallies.delete(name);
      if (tally.count === 0) return;
      this.#report(name, tally);
      this.#begin(name);
    });
    this.#timers.add(cancel);
  }

  #report(name: string, { count, of }: Tally): void {
    if (count > 0) this.#write({ ...JSON.parse(name), count, of: Object.fromEntries(of) });
  }

  #write(line: object): void {
    this.#file.write(`${JSON.stringify({ time: timeText(this.#clock), ...line })}\n`);
  }
}

/**
 * Whether an error means that the caller lacks a right. Things that a key may not see are reported to it as missing; for the
 * owner's key, such an error is only a typo.
 */
export function isRefusal({ code }: RepoconfError, caller: Caller): boolean {
  switch (code) {
    case 1100:
    case 1105:
      return true;
    case 1007:
    case 1011:
    case 1102:
      return !caller.owner;
    default:
      return false;
  }
}
