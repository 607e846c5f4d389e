import { basename } from "node:path";
import type { Home } from "../../home/home.ts";
import type { Clock } from "../../time/clock.ts";
import { inTurn } from "../../time/in-turn.ts";
import type { HeldHome } from "./held-home.ts";

export interface HomeUpkeepOptions {
  readonly home: Home;
  readonly held: HeldHome;
  readonly clock: Clock;
  /** Milliseconds between two regular checks. */
  readonly interval: number;
  /** Restores the files that clients need to find the daemon and to authenticate. */
  repair(): Promise<void>;
  onProblem(message: string, context: object): void;
}

/** While the daemon runs, detects that it lost the home, or that its own files were removed from it. */
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
        // Missing files are no problem while the home is being removed; and a lasting problem is logged once.
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

  /** An entry of the home changed; undefined if it is not known which. */
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
