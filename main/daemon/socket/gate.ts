import type { Caller } from "./caller.ts";

/** How many requests of one key that read histories or search all repositories run at once. */
const perKey = 2;
/** The same for all keys together, except the owner's. */
const ofOthers = 4;
/** The same for the owner's key and sessions, which never wait for other keys. */
const ofOwner = 8;

interface Waiting {
  readonly keyId: string;
  start(): void;
}

/** Limits how many expensive requests run at the same time. */
export class Gate {
  readonly #owner = new Lane(ofOwner, ofOwner);
  readonly #others = new Lane(ofOthers, perKey);

  /** Resolves when there is room; call the returned function to leave. */
  enter({ owner, keyId }: Caller): Promise<() => void> {
    return owner ? this.#owner.enter("") : this.#others.enter(keyId);
  }
}

class Lane {
  readonly #most: number;
  readonly #mostOfKey: number;
  /** The number of running requests by key. */
  readonly #inside = new Map<string, number>();
  #count = 0;
  /** In the order of arrival. */
  readonly #waiting: Waiting[] = [];

  constructor(most: number, mostOfKey: number) {
    this.#most = most;
    this.#mostOfKey = mostOfKey;
  }

  async enter(keyId: string): Promise<() => void> {
    if (this.#hasRoom(keyId)) this.#begin(keyId);
    else await new Promise<void>(start => this.#waiting.push({ keyId, start }));
    return () => this.#end(keyId);
  }

  #hasRoom(keyId: string): boolean {
    return this.#count < this.#most && (this.#inside.get(keyId) ?? 0) < this.#mostOfKey;
  }

  #begin(keyId: string): void {
    this.#count += 1;
    this.#inside.set(keyId, (this.#inside.get(keyId) ?? 0) + 1);
  }

  #end(keyId: string): void {
    this.#count -= 1;
    const left = (this.#inside.get(keyId) ?? 1) - 1;
    if (left > 0) this.#inside.set(keyId, left);
    else this.#inside.delete(keyId);
    const next = this.#waiting.findIndex(waiting => this.#hasRoom(waiting.keyId));
    const [waiting] = next === -1 ? [] : this.#waiting.splice(next, 1);
    if (waiting === undefined) return;
    this.#begin(waiting.keyId);
    waiting.start();
  }
}
