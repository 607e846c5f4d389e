import pLimit from "p-limit";
import type { StoreContext } from "../context.ts";
import type { Mirror } from "../mirror/mirror.ts";
import type { LogNumber, Mirrored } from "../types.ts";

/** The minimum of milliseconds between two writes of one repository, and the pause after a write as a multiple of its duration. */
const shortestPause = 50;
const restFactor = 10;
/** Milliseconds before a failed write is retried. */
const retryPause = 1_000;
/** The maximum of milliseconds by which many waiting repositories extend the pause. */
const longestCrowdedPause = 2_000;
/** The maximum of repositories written at the same time, so that the log's syncs are not delayed. */
const width = 8;
/** Milliseconds from a write of history and file to the release of its log entries. */
const releaseDelay = 100;

/** A repository whose history and file follow the log. */
export interface MirroredRepository {
  /** The first entry that the log must keep for its history; undefined if none. */
  readonly keptFrom: LogNumber | undefined;
  readonly mirror: Pick<Mirror, "isOutdated">;
  readonly writer: { write(): Promise<Mirrored> };
}

export interface MirrorScheduleOptions {
  /** Those that are open: a repository that lacks entries is. */
  repositories(): Iterable<MirroredRepository>;
  /** The numbers of entries to keep that are of no repository's history. */
  others(): Iterable<LogNumber>;
  /** Called with each delayed release. */
  onRelease(): void;
}

/**
 * Schedules the writes of histories and files, within a budget: the repository that has waited longest comes first. Then the log releases
 * the entries that no history lacks any more.
 */
export class MirrorSchedule {
  readonly #context: StoreContext;
  readonly #options: MirrorScheduleOptions;
  readonly #lock = pLimit(width);
  /** The earliest time of a repository's next write, by the clock's `monotonic()`. */
  readonly #notBefore = new WeakMap<MirroredRepository, number>();
  /** Repositories that lack a commit, and the function that cancels their next write. */
  readonly #behind = new Map<MirroredRepository, (() => void) | undefined>();
  #cancelRelease: (() => void) | undefined;
  #closed = false;

  constructor(context: StoreContext, options: MirrorScheduleOptions) {
    this.#context = context;
    this.#options = options;
  }

  want(repository: MirroredRepository): void {
    if (this.#closed || this.#behind.has(repository)) return;
    const notBefore = this.#notBefore.get(repository) ?? 0;
    this.#schedule(repository, Math.max(0, notBefore - this.#context.clock.monotonic()));
  }

  /** Call when a repository lacks nothing any more, or has been removed. */
  drop(repository: MirroredRepository): void {
    this.#behind.get(repository)?.();
    this.#behind.delete(repository);
  }

  /** Writes every repository that lacks a commit, as far as the disk allows. */
  async drain(): Promise<void> {
    // Waits for those that are being written, too.
    const all = [...this.#options.repositories()];
    const outdated = all.filter(one => one.mirror.isOutdated || this.#behind.has(one));
    await Promise.all(outdated.map(({ writer }) => writer.write()));
  }

  /** Releases the entries that nothing needs any more. */
  async release(): Promise<void> {
    const { log, onProblem } = this.#context;
    if (!log.hasSealed) return;
    const kept = [...this.#options.repositories()].flatMap(({ keptFrom }) => keptFrom ?? []);
    const through = [...kept, ...this.#options.others()].reduce((last, one) => Math.min(last, one - 1), log.newest);
    await log
      .release(through)
      .catch(error => onProblem("a file of the log cannot be removed", { error: String(error) }));
  }

  /** Schedules nothing any more. */
  close(): void {
    this.#closed = true;
    this.#cancelRelease?.();
    for (const cancel of this.#behind.values()) cancel?.();
  }

  #schedule(repository: MirroredRepository, milliseconds: number): void {
    const run = () => {
      this.#behind.set(repository, undefined);
      void this.#lock(() => this.#write(repository));
    };
    this.#behind.set(repository, this.#context.clock.schedule(milliseconds, run));
  }

  async #write(repository: MirroredRepository): Promise<void> {
    if (this.#closed || !this.#behind.has(repository)) return;
    const { clock } = this.#context;
    const began = clock.monotonic();
    const written = await repository.writer.write();
    const ended = clock.monotonic();
    const duration = ended - began;
    // The more repositories are waiting, the longer each one pauses.
    const rest = restFactor * duration;
    const crowded = Math.min((rest * this.#behind.size) / width, longestCrowdedPause);
    const pause = written === true ? Math.max(shortestPause, rest, crowded) : Math.max(retryPause, duration);
    this.#notBefore.set(repository, ended + pause);
    if (this.#closed) return;
    if (this.#behind.has(repository)) {
      if (repository.mirror.isOutdated) this.#schedule(repository, pause);
      else this.#behind.delete(repository);
    }
    // Delayed, so that many writes cause one release, which checks every open repository.
    this.#cancelRelease ??= clock.schedule(releaseDelay, () => {
      this.#cancelRelease = undefined;
      void this.release();
      this.#options.onRelease();
    });
  }
}
