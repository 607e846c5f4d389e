import type { EventMessage } from "../../shared/protocol.ts";
import type { Caller } from "./caller.ts";

/** One connected client: who it is and what it watches. */
export class Connection {
  readonly caller: Caller;
  readonly #send: (...message: EventMessage) => void;
  readonly #disconnect: () => void;
  readonly #repositories = new Set<string>();
  #everything = false;

  constructor(caller: Caller, send: (...message: EventMessage) => void, disconnect: () => void) {
    this.caller = caller;
    this.#send = send;
    this.#disconnect = disconnect;
  }

  /** No ids: everything. */
  watch(ids: readonly string[] | undefined): void {
    if (ids === undefined) this.#everything = true;
    else for (const id of ids) this.#repositories.add(id);
  }

  /** No ids: whatever was watched. */
  unwatch(ids: readonly string[] | undefined): void {
    if (ids !== undefined) {
      for (const id of ids) this.#repositories.delete(id);
      return;
    }
    this.#everything = false;
    this.#repositories.clear();
  }

  get watchesEverything(): boolean {
    return this.#everything;
  }

  watches(repo: string): boolean {
    return this.#everything || this.#repositories.has(repo);
  }

  send(...message: EventMessage): void {
    this.#send(...message);
  }

  disconnect(): void {
    this.#disconnect();
  }
}
