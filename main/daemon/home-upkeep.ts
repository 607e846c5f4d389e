import { basename } from "node:path";
import type { Clock } from "../clock.ts";
import type { Home } from "../home.ts";
import type { HeldHome } from "./held-home.ts";
import { inTurn } from "./in-turn.ts";

export interface HomeUpkeepOptions {
  readonly home: Home;
  readonly held: HeldHome;
  readonly clock: Clock;
  /** Milliseconds between two looks that nothing asked for. */
  readonly interval: number;
  /** Restores the files that clients need to find the daemon and to authenticate. */
  repair(): Promise<void>;
  onProblem(message: string, context: object): void;
}

/** While the daemon runs: notices that it lost the home, and that its own files were removed from it. */
export class HomeUpkeep {
  readonly #options: HomeUpkeepOptions;
  readonly #names: ReadonlySet<string>;
  readonly #repairInTurn: () => Promise<void>;
  #cancel = () => {};
  #running = false;
  #reported = "";

  constructor(options: HomeUpkeepOptions) {
    this.#options = options;
    const { folder, lockFile, endpointFile, ownerKeyFile } = options.home;
    this.#names = new Set([folder, lockFile, endpointFile, ownerKeyFile].map(path => basename(path)));
    this.#repairInTurn = inTurn(
      async () => {
        if (!this.#running || !options.held.check()) return;
        await options.repair();
        this.#reported = "";
      },
      error => {
        // If the home is being removed, its files are not a problem; and a lasting problem is logged once.
        if (this.#reported === String(error) || !options.held.check()) return;
        this.#reported = String(error);
        options.onProblem("cannot restore a file of the home", { error: this.#reported });
      },
    );
  }

  start(): void {
    this.#running = true;
    void this.#checkAndSchedule();
  }

  /** Something happened to an entry of the home; undefined if it is unknown which. */
  hint(name: string | undefined): void {
    if (name === undefined || this.#names.has(name)) void this.#check();
  }

  async close(): Promise<void> {
    this.#running = false;
    this.#cancel();
    await this.#repairInTurn();
  }

  async #check(): Promise<void> {
    if (this.#running && this.#options.held.check()) await this.#repairInTurn();
  }

  async #checkAndSchedule(): Promise<void> {
    await this.#check();
    if (!this.#running) return;
    const { clock, interval } = this.#options;
    this.#cancel = clock.schedule(interval, () => void this.#checkAndSchedule());
  }
}
