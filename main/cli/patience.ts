import type { Home } from "../home.ts";
import { readStartProgress } from "../start-progress.ts";
import { showProgress } from "./terminal.ts";

/** Until when a command waits for a daemon that is starting: this many milliseconds after the last progress of its start. */
export class Patience {
  readonly #home: Home;
  readonly #time: number;
  #end: number;
  #seen = "";

  constructor(home: Home, time: number) {
    this.#home = home;
    this.#time = time;
    this.#end = Date.now() + time;
  }

  isOver(): boolean {
    const progress = readStartProgress(this.#home);
    const seen = progress === undefined ? "" : JSON.stringify(progress);
    if (progress !== undefined && seen !== this.#seen) {
      this.#seen = seen;
      this.#end = Date.now() + this.#time;
      showProgress(`The daemon is recovering from a crash: ${progress.done} of ${progress.total} repositories checked`);
    }
    return Date.now() >= this.#end;
  }
}
