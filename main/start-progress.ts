import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { isJsonObject } from "../shared/json.ts";
import type { IndexingProgress } from "../shared/protocol.ts";
import type { Clock } from "./clock.ts";
import type { Home } from "./home.ts";

/** Milliseconds between two times that it is written down how far a start has come. */
const reportPause = 250;

/** Where a daemon that is starting says how far it is. Nobody can ask it yet. */
const fileIn = (home: Home) => join(home.temporary, "start-progress.json");

/** How far the start has come by which a daemon puts its home in order after a crash; undefined if none says so. */
export function readStartProgress(home: Home): IndexingProgress | undefined {
  try {
    const value: unknown = JSON.parse(readFileSync(fileIn(home), "utf8"));
    if (!isJsonObject(value)) return undefined;
    const { done, total } = value;
    return typeof done === "number" && typeof total === "number" ? { done, total } : undefined;
  } catch {
    // Mostly there is none. One that is being written is whole in a moment.
    return undefined;
  }
}

/** Tells those who wait for a starting daemon how far it has come. */
export class StartProgress {
  readonly #home: Home;
  readonly #clock: Clock;
  #reportedAt = Number.NEGATIVE_INFINITY;

  constructor(home: Home, clock: Clock) {
    this.#home = home;
    this.#clock = clock;
  }

  report(progress: IndexingProgress): void {
    const now = this.#clock.monotonic();
    if (now < this.#reportedAt + reportPause) return;
    this.#reportedAt = now;
    try {
      writeFileSync(fileIn(this.#home), JSON.stringify(progress), { mode: 0o600 });
    } catch {
      // A start on a full disk goes on without.
    }
  }

  end(): void {
    rmSync(fileIn(this.#home), { force: true });
  }
}
