import { limitExceeded, RepoconfError } from "../../shared/errors.ts";
import { limits } from "../../shared/limits.ts";
import type { Caller } from "./caller.ts";

/** What one request takes of its key's budget. */
export interface RequestCost {
  /** Of its arguments, as JSON: what it keeps in memory while it waits. */
  readonly bytes: number;
  /** Those times the repositories that it names: what it makes the daemon do. */
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

/** How a client connected. All users of the machine can fill the port, but not the Unix socket. */
export type Channel = "port" | "socket";

/** What a key has under way. */
class Account {
  sockets = 0;
  running = 0;
  work = 0;
  bytes = 0;
  /** Bytes that arrived in this round of the event loop. */
  arrived = 0;
  /** Of replies and events that wait for its clients. */
  unread = 0;
  isPaused = false;
  readonly waiting: Waiting[] = [];
  readonly readable = new Set<Readable>();
}

/** The work of one key that runs at once, in bytes times repositories, unless a single request is more than that. */
const workAtOnce = 4_000_000;
/** Bytes of one key that are read before it is the others' turn, and the least that a packet counts. */
const arrivingAtOnce = 256 * 1024;
const leastPacket = 2 * 1024;

/**
 * Limits for each key, so that one cannot starve the others: connections, running and waiting requests, bytes received and bytes not
 * read by its clients. The owner's key and sessions have no limits, never wait, and have reserved connections.
 */
export class KeyBudget {
  readonly #accounts = new Map<string, Account>();
  readonly #open = { port: { all: 0, others: 0 }, socket: { all: 0, others: 0 } };

  /** Lets a connection in. Throws RepoconfError 1107. */
  enter(caller: Caller, channel: Channel): Seat {
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
    return new Seat(account, () => count(-1));
  }

  /** Runs a request, or lets it wait until its key's others have room for it. Rejects with RepoconfError 1107 where too many wait. */
  run<Result>(caller: Caller, cost: RequestCost, task: () => Result | Promise<Result>): Result | Promise<Result> {
    const account = this.#accountOf(caller);
    if (account === undefined) return task();
    const isFree = account.waiting.length === 0 && hasRoom(account, cost);
    if (!isFree && account.waiting.length >= limits.waitingRequestsPerKey)
      throw limitExceeded("requests of one key at once", account.waiting.length + 1, limits.waitingRequestsPerKey);
    if (account.bytes > 0 && account.bytes + cost.bytes > limits.requestBytesPerKey)
      throw limitExceeded(
        "bytes in requests of one key at once",
        account.bytes + cost.bytes,
        limits.requestBytesPerKey,
      );
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

  /** Undefined: the owner's. */
  #accountOf({ owner, keyId }: Caller): Account | undefined {
    if (owner) return undefined;
    let account = this.#accounts.get(keyId);
    if (account === undefined) {
      account = new Account();
      this.#accounts.set(keyId, account);
    }
    return account;
  }

  /** A key that has nothing under way any more is forgotten. */
  #forgetIdle({ keyId }: Caller, account: Account | undefined): void {
    if (account === undefined || account.sockets > 0 || account.running > 0 || account.waiting.length > 0) return;
    if (this.#accounts.get(keyId) === account) this.#accounts.delete(keyId);
  }
}

/** A connection's share of what its key may have. */
export class Seat {
  readonly #account: Account | undefined;
  readonly #onLeft: () => void;
  #readable: Readable | undefined;
  #unread = 0;
  #hasLeft = false;

  /** Without an account it is the owner's, which is not bound. */
  constructor(account: Account | undefined, onLeft: () => void) {
    this.#account = account;
    this.#onLeft = onLeft;
  }

  /** The connection is read as far as its key's others let it. */
  read(readable: Readable): void {
    if (this.#account === undefined || this.#hasLeft) return;
    this.#readable = readable;
    this.#account.readable.add(readable);
    if (this.#account.isPaused) readable.pause();
  }

  /** Counts arrived bytes: beyond a limit, all other keys get their turn before more of this key's are read. */
  took(bytes: number): void {
    const account = this.#account;
    if (account === undefined) return;
    if (account.arrived === 0) {
      setImmediate(() => {
        account.arrived = 0;
        regulate(account);
      });
    }
    account.arrived += Math.max(leastPacket, bytes);
    // The connection that sent last is read last, once there is room again.
    if (this.#readable !== undefined && account.readable.delete(this.#readable)) account.readable.add(this.#readable);
    regulate(account);
  }

  /** So many bytes wait for the client by now. */
  wait(bytes: number): void {
    if (this.#account === undefined || this.#hasLeft) return;
    this.#account.unread += bytes - this.#unread;
    this.#unread = bytes;
  }

  /** Whether more waits for the key's clients than may, and for this one more than its share of that. */
  get isUnread(): boolean {
    const share = limits.waitingBytesPerKey / limits.socketsPerKey;
    return (this.#account?.unread ?? 0) > limits.waitingBytesPerKey && this.#unread > share;
  }

  /** The connection is gone; more than once is once. */
  leave(): void {
    if (this.#hasLeft) return;
    this.wait(0);
    this.#hasLeft = true;
    if (this.#readable !== undefined) this.#account?.readable.delete(this.#readable);
    // Its good-bye is to be read.
    if (this.#account?.isPaused) this.#readable?.resume();
    this.#onLeft();
  }
}

/** Leaves the connections of a key unread while it has too much under way. */
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

function tooManySockets(what: string, limit: number): RepoconfError {
  const message = `Too many ${what}: the limit is ${limit}. Close some and retry.`;
  return new RepoconfError(1107, message, { details: { limit } });
}
