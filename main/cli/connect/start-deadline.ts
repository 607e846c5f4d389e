import type { Home } from "../../home/home.ts";
import { readStartProgress } from "../../home/start-progress.ts";
import { showProgress } from "../output/terminal.ts";

/** The deadline for a daemon that is starting: `timeout` milliseconds after the last progress of its start. */
export class StartDeadline {
  readonly #home: Home;
  readonly #timeout: number;
  #end: number;
  #seen = "";

  constructor(home: Home, timeout: number) {
    this.#home = home;
    this.#timeout = timeout;
    this.#end = Date.now() + timeout;
  }

  async hasPassed(): Promise<boolean> {
    const progress = await readStartProgress(this.#home);
    const seen = progress === undefined ? "" : JSON.stringify(progress);
    if (progress !== undefined && seen !== this.#seen) {
      this.#seen = seen;
      this.#end = Date.now() + this.#timeout;
      showProgress(`The daemon is recovering from a crash: ${progress.done} of ${progress.total} repositories checked`);
    }
    return Date.now() >= this.#end;
  }
}
