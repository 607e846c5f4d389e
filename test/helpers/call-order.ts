import { setImmediate as nextTurn } from "node:timers/promises";
import type { FileCall } from "./file-system.ts";
import type { Random } from "./random.ts";

/** Which of the calls that wait is made next, by its place among them. */
export type ChooseCall = (waiting: readonly FileCall[]) => number;

/** Of two things done side by side the one in these folders comes last, as far as the program leaves that open. */
export function last(folder: "journal" | "tmp"): ChooseCall {
  const isOther = ({ path }: FileCall) => !path.replaceAll("\\", "/").includes(`/${folder}/`);
  return waiting => Math.max(0, waiting.findIndex(isOther));
}

export function anyOrder(random: Random): ChooseCall {
  return waiting => random(waiting.length);
}

/** Turns of the event loop without a new call after which all that does not wait for a file has come as far as it can. */
const restTurns = 5;

/**
 * Lets file-system calls happen one at a time, in an order of the test's choosing. None is made while another one could
 * still be begun, so calls that nothing in the program puts in order can be had in every order, and not only in the one
 * that this disk happens to give them. To be called by a WatchedFileSystem.
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
    // It waits for nothing, and a close is made already.
    if (call.operation === "readNow" || call.operation === "close") return Promise.resolve();
    return new Promise(go => {
      this.#waiting.push({ call, go });
      void this.#next();
    });
  }

  /** The call whose turn it was has ended, one way or the other. */
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
