import type { Caller } from "../../keys/caller.ts";

/** How many requests of one key that read histories or search all repositories run at once. */
const perKey = 2;
/** The same for all keys together, except the owner's. */
const ofOthers = 4;
/** The same for the owner's key and sessions, which never wait for other keys. */
const ofOwner = 8;

/** Limits how many expensive requests run at the same time. */
export class ConcurrencyLimit {
  readonly #owner = new Semaphore(ofOwner, ofOwner);
  readonly #others = new Semaphore(ofOthers, perKey);

  /** Resolves when the request may run; call the returned function when it has ended. */
  acquire({ owner, keyId }: Caller): Promise<() => void> {
    return owner ? this.#owner.acquire("") : this.#others.acquire(keyId);
  }
}

interface Waiting {
  readonly keyId: string;
  start(): void;
}

/** Allows a number of requests at once, of which each key may have some. */
class Semaphore {
  readonly #max: number;
  readonly #maxOfKey: number;
  /** The number of running requests by key. */
  readonly #running = new Map<string, number>();
  #count = 0;
  /** In the order of arrival. */
  readonly #waiting: Waiting[] = [];

  constructor(max: number, maxOfKey: number) {
    this.#max = max;
    this.#maxOfKey = maxOfKey;
  }

  async acquire(keyId: string): Promise<() => void> {
    if (this.#hasRoom(keyId)) this.#begin(keyId);
    else await new Promise<void>(start => this.#waiting.push({ keyId, start }));
    return () => this.#end(keyId);
  }

  #hasRoom(keyId: string): boolean {
    return this.#count < this.#max && (this.#running.get(keyId) ?? 0) < this.#maxOfKey;
  }

  #begin(keyId: string): void {
    this.#count += 1;
    this.#running.set(keyId, (this.#running.get(keyId) ?? 0) + 1);
  }

  #end(keyId: string): void {
    this.#count -= 1;
    const left = (this.#running.get(keyId) ?? 1) - 1;
    if (left > 0) this.#running.set(keyId, left);
    else this.#running.delete(keyId);
    const next = this.#waiting.findIndex(waiting => this.#hasRoom(waiting.keyId));
    const [waiting] = next === -1 ? [] : this.#waiting.splice(next, 1);
    if (waiting === undefined) return;
    this.#begin(waiting.keyId);
    waiting.start();
  }
}
