import { limitExceeded, RepoconfError } from "../../../../shared/errors.ts";
import { limits } from "../../../../shared/limits.ts";
import type { Caller } from "../../keys/caller.ts";

/** What one request uses of its key's budget. */
export interface RequestCost {
  /** Size of its arguments as JSON: the memory it uses while it waits. */
  readonly bytes: number;
  /** That size multiplied by the repositories it names: the work it causes. */
  readonly work: number;
}

/** A connection that can be left unread for a while. */
export interface Readable {
  pause(): void;
  resume(): void;
}

interface Waiting {
  readonly cost: RequestCost;
  start(): void;
}

/** Too much of something runs or is open at once (1107): the same request may succeed later. */
export class BusyError extends RepoconfError {}

/** How a client connected. Any user of the machine can use up the port's connections, but not the Unix socket's. */
export type Channel = "port" | "socket";

/** The connections and requests of one key. */
class Account {
  sockets = 0;
  running = 0;
  work = 0;
  bytes = 0;
  /** Bytes that arrived in this round of the event loop. */
  arrived = 0;
  /** Bytes of replies and events queued for its clients. */
  unread = 0;
  isPaused = false;
  readonly waiting: Waiting[] = [];
  readonly readable = new Set<Readable>();
}

/** How much work of one key runs at once, in bytes times repositories. A single larger request runs alone. */
const workAtOnce = 4_000_000;
/** Bytes of one key that are read before the other keys get their turn. */
const arrivingAtOnce = 256 * 1024;
/** A smaller packet counts as this many bytes. */
const minPacketBytes = 2 * 1024;

/**
 * Limits for each key, so that one key cannot starve the others: connections, running and waiting requests, bytes received, and
 * bytes that its clients have not read. The owner's key and sessions have no limits, never wait, and have reserved connections.
 */
export class KeyBudget {
  readonly #accounts = new Map<string, Account>();
  readonly #open = { port: { all: 0, others: 0 }, socket: { all: 0, others: 0 } };

  /** Admits a connection. Throws RepoconfError 1107. */
  admit(caller: Caller, channel: Channel): ConnectionLease {
    const open = this.#open[channel];
    if (open.all >= limits.sockets) throw tooManySockets("connections", limits.sockets);
    const forOthers = limits.sockets - limits.socketsKeptForOwner;
    if (!caller.owner && open.others >= forOthers)
      throw tooManySockets("connections with keys other than the owner's", forOthers);
    const account = this.#accountOf(caller);
    if (account !== undefined && account.sockets >= limits.socketsPerKey)
      throw tooManySockets("connections with one key", limits.socketsPerKey);
    const count = (by: 1 | -1) => {
      open.all += by;
      if (account === undefined) return;
      open.others += by;
      account.sockets += by;
      this.#forgetIdle(caller, account);
    };
    count(1);
    return new ConnectionLease(account, () => count(-1));
  }

  /** Runs a request, or queues it until its key has room for it. Rejects with RepoconfError 1107 if too many are queued. */
  run<Result>(caller: Caller, cost: RequestCost, task: () => Result | Promise<Result>): Result | Promise<Result> {
    const account = this.#accountOf(caller);
    if (account === undefined) return task();
    const isFree = account.waiting.length === 0 && hasRoom(account, cost);
    if (!isFree && account.waiting.length >= limits.waitingRequestsPerKey)
      throw busy("requests of one key at once", account.waiting.length + 1, limits.waitingRequestsPerKey);
    if (account.bytes > 0 && account.bytes + cost.bytes > limits.requestBytesPerKey)
      throw busy("bytes in requests of one key at once", account.bytes + cost.bytes, limits.requestBytesPerKey);
    account.bytes += cost.bytes;
    regulate(account);
    return this.#runIn(caller, account, cost, isFree, task);
  }

  async #runIn<Result>(
    caller: Caller,
    account: Account,
    cost: RequestCost,
    isFree: boolean,
    task: () => Result | Promise<Result>,
  ): Promise<Result> {
    if (isFree) begin(account, cost);
    else {
      const started = new Promise<void>(start => account.waiting.push({ cost, start }));
      regulate(account);
      await started;
    }
    try {
      return await task();
    } finally {
      account.running -= 1;
      account.work -= cost.work;
      account.bytes -= cost.bytes;
      for (
        let next = account.waiting[0];
        next !== undefined && hasRoom(account, next.cost);
        next = account.waiting[0]
      ) {
        account.waiting.shift();
        begin(account, next.cost);
        next.start();
      }
      regulate(account);
      this.#forgetIdle(caller, account);
    }
  }

  /** Undefined for the owner, who has no limits. */
  #accountOf({ owner, keyId }: Caller): Account | undefined {
    if (owner) return undefined;
    let account = this.#accounts.get(keyId);
    if (account === undefined) {
      account = new Account();
      this.#accounts.set(keyId, account);
    }
    return account;
  }

  /** Drops the account of a key without connections and requests. */
  #forgetIdle({ keyId }: Caller, account: Account | undefined): void {
    if (account === undefined || account.sockets > 0 || account.running > 0 || account.waiting.length > 0) return;
    if (this.#accounts.get(keyId) === account) this.#accounts.delete(keyId);
  }
}

/** One connection's part of its key's budget. */
export class ConnectionLease {
  readonly #account: Account | undefined;
  readonly #onEnded: () => void;
  #readable: Readable | undefined;
  #unread = 0;
  #hasEnded = false;

  /** Without an account the connection is the owner's and has no limits. */
  constructor(account: Account | undefined, onEnded: () => void) {
    this.#account = account;
    this.#onEnded = onEnded;
  }

  /** Pauses and resumes the connection from now on, together with the others of its key. */
  attach(readable: Readable): void {
    if (this.#account === undefined || this.#hasEnded) return;
    this.#readable = readable;
    this.#account.readable.add(readable);
    if (this.#account.isPaused) readable.pause();
  }

  /** Counts bytes that arrived. Above a limit, all other keys get their turn before more of this key's are read. */
  countReceived(bytes: number): void {
    const account = this.#account;
    if (account === undefined) return;
    if (account.arrived === 0) {
      setImmediate(() => {
        account.arrived = 0;
        regulate(account);
      });
    }
    account.arrived += Math.max(minPacketBytes, bytes);
    // Move it to the end, so that the connection that sent last is resumed last.
    if (this.#readable !== undefined && account.readable.delete(this.#readable)) account.readable.add(this.#readable);
    regulate(account);
  }

  /** Records how many bytes are now queued for the client. */
  setQueued(bytes: number): void {
    if (this.#account === undefined || this.#hasEnded) return;
    this.#account.unread += bytes - this.#unread;
    this.#unread = bytes;
  }

  /** Whether too many bytes are queued for the key's clients, and more than its share for this one. */
  get isTooSlow(): boolean {
    const share = limits.waitingBytesPerKey / limits.socketsPerKey;
    return (this.#account?.unread ?? 0) > limits.waitingBytesPerKey && this.#unread > share;
  }

  /** The connection was closed. Calling it again has no effect. */
  end(): void {
    if (this.#hasEnded) return;
    this.setQueued(0);
    this.#hasEnded = true;
    if (this.#readable !== undefined) this.#account?.readable.delete(this.#readable);
    // Resume it, so that its closing message is read.
    if (this.#account?.isPaused) this.#readable?.resume();
    this.#onEnded();
  }
}

/** Pauses a key's connections while it has too much in progress. */
function regulate(account: Account): void {
  const isFull =
    account.arrived > arrivingAtOnce ||
    account.bytes > limits.requestBytesPerKey / 2 ||
    account.waiting.length > limits.waitingRequestsPerKey / 2;
  if (isFull === account.isPaused) return;
  account.isPaused = isFull;
  for (const one of account.readable) {
    if (isFull) one.pause();
    else one.resume();
  }
}

function hasRoom(account: Account, { work }: RequestCost): boolean {
  if (account.running === 0) return true;
  return account.running < limits.requestsPerKey && account.work + work <= workAtOnce;
}

function begin(account: Account, cost: RequestCost): void {
  account.running += 1;
  account.work += cost.work;
}

function busy(what: string, given: number, limit: number): BusyError {
  return new BusyError(1107, limitExceeded(what, given, limit).message, { details: { given, limit } });
}

function tooManySockets(what: string, limit: number): BusyError {
  const message = `Too many ${what}: the limit is ${limit}. Close some and retry.`;
  return new BusyError(1107, message, { details: { limit } });
}
