import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { isJsonObject } from "../../shared/json.ts";
import type { IndexingProgress } from "../../shared/protocol.ts";
import { readHomeFile } from "../files/foreign-file.ts";
import type { Clock } from "../time/clock.ts";
import type { Home } from "./home.ts";

/** Milliseconds between two writes of the progress file. */
const reportInterval = 250;

/** The file in which a starting daemon reports its progress, as it does not answer requests yet. */
const progressFile = (home: Home) => join(home.temporary, "start-progress.json");

/** The progress of a daemon that recovers its home after a crash; undefined if none is starting. */
export async function readStartProgress(home: Home): Promise<IndexingProgress | undefined> {
  try {
    const found = await readHomeFile(progressFile(home), { maximumBytes: 1024 });
    const value: unknown = JSON.parse(found?.bytes.toString() ?? "");
    if (!isJsonObject(value)) return undefined;
    const { done, total } = value;
    return typeof done === "number" && typeof total === "number" ? { done, total } : undefined;
  } catch {
    // Usually there is no file. One that is being written is complete a moment later.
    return undefined;
  }
}

/** Reports the progress of a start to commands that wait for the daemon. */
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
    if (now < this.#reportedAt + reportInterval) return;
    this.#reportedAt = now;
    try {
      writeFileSync(progressFile(this.#home), JSON.stringify(progress), { mode: 0o600 });
    } catch {
      // On a full disk, the start continues without reports.
    }
  }

  end(): void {
    rmSync(progressFile(this.#home), { force: true });
  }
}
