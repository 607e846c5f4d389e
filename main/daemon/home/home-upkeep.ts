import { basename } from "node:path";
import type { Clock } from "../../time/clock.ts";
import { inTurn } from "../../time/in-turn.ts";
import type { Authentication } from "../keys/authentication.ts";
import type { Connections } from "../socket/connections.ts";
import type { EndpointFile } from "./endpoint.ts";
import type { HeldHome } from "./held-home.ts";

export interface HomeUpkeepOptions {
  readonly held: HeldHome;
  readonly clock: Clock;
  /** Milliseconds between two regular checks. */
  readonly rescanInterval: number;
  readonly endpointFile: EndpointFile;
  readonly authentication: Authentication;
  readonly connections: Connections;
  onProblem(message: string, context?: object): void;
}

/** While the daemon runs, detects that it lost the home, and restores its own files if they were removed from it. */
export class HomeUpkeep {
  readonly #options: HomeUpkeepOptions;
  readonly #names: ReadonlySet<string>;
  readonly #repairInTurn: () => Promise<void>;
  #cancel = () => {};
  #running = false;
  #reported = "";

  constructor(options: HomeUpkeepOptions) {
    this.#options = options;
    const { folder, lockFile, endpointFile, ownerKeyFile } = options.held.home;
    this.#names = new Set([folder, lockFile, endpointFile, ownerKeyFile].map(path => basename(path)));
    this.#repairInTurn = inTurn(
      async () => {
        if (!this.#running || !options.held.check()) return;
        await this.#repair();
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

  /** Restores the files that clients need to find the daemon and to authenticate, and ends keys and sessions that are over. */
  async #repair(): Promise<void> {
    const { authentication, connections, endpointFile, onProblem } = this.#options;
    const { keys, sessions } = authentication;
    for (const id of sessions.endLapsed()) connections.disconnectKey(id);
    const applying = keys.applyOwnerKeyFile(ended => {
      onProblem("owner.key was removed or replaced: the old key and all sessions were revoked");
      // Removing the owner's key revokes everything that had its rights.
      for (const id of [ended, ...sessions.endAll()]) connections.disconnectKey(id);
    });
    // Each must run even if the other fails.
    const [applied, kept] = await Promise.allSettled([applying, endpointFile.keep()]);
    if (kept.status === "rejected") throw kept.reason;
    if (kept.value) onProblem("daemon.json was missing or changed, and was written again");
    if (applied.status === "rejected") throw applied.reason;
  }

  async #checkAndSchedule(): Promise<void> {
    await this.#check();
    if (!this.#running) return;
    const { clock, rescanInterval } = this.#options;
    this.#cancel = clock.schedule(rescanInterval, () => void this.#checkAndSchedule());
  }
}
