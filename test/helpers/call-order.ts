import { setImmediate as nextTurn } from "node:timers/promises";
import type { FileCall } from "./file-system.ts";
import type { Random } from "./random.ts";

/** Returns the index of the waiting call to make next. */
export type ChooseCall = (waiting: readonly FileCall[]) => number;

/** Makes the operation in this folder the last of two parallel ones, as far as the program allows it. */
export function last(folder: "journal" | "tmp"): ChooseCall {
  const isOther = ({ path }: FileCall) => !path.replaceAll("\\", "/").includes(`/${folder}/`);
  return waiting => Math.max(0, waiting.findIndex(isOther));
}

export function anyOrder(random: Random): ChooseCall {
  return waiting => random(waiting.length);
}

/** Turns of the event loop without a new call after which everything that does not wait for a file is assumed to be finished. */
const restTurns = 5;

/**
 * Runs file-system calls one at a time, in an order that the test chooses. No call is made while the program may still begin
 * another one, so calls that the program does not order can be tested in every order, not only in the one that this disk happens
 * to produce. A WatchedFileSystem calls it.
 */
export class CallOrder {
  readonly #choose: ChooseCall;
  readonly #waiting: { readonly call: FileCall; readonly go: () => void }[] = [];
  #running = false;
  #choosing = false;

  constructor(choose: ChooseCall) {
    this.#choose = choose;
  }

  /** Resolves when it is this call's turn. */
  turnOf(call: FileCall): Promise<void> {
    // readNow is synchronous and cannot wait, and a close has already been made.
    if (call.operation === "readNow" || call.operation === "close") return Promise.resolve();
    return new Promise(go => {
      this.#waiting.push({ call, go });
      void this.#next();
    });
  }

  /** The call whose turn it was has ended, successfully or not. */
  ended(call: FileCall): void {
    if (call.operation === "readNow" || call.operation === "close") return;
    this.#running = false;
    void this.#next();
  }

  async #next(): Promise<void> {
    if (this.#running || this.#choosing || this.#waiting.length === 0) return;
    this.#choosing = true;
    for (let known = -1, turns = 0; turns < restTurns; turns++) {
      if (known !== this.#waiting.length) turns = 0;
      known = this.#waiting.length;
      await nextTurn();
    }
    this.#choosing = false;
    const [chosen] = this.#waiting.splice(this.#choose(this.#waiting.map(({ call }) => call)), 1);
    this.#running = true;
    chosen?.go();
  }
}
