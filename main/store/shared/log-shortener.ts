import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import pLimit from "p-limit";
import { timeText } from "../../time/clock.ts";
import { forEachConcurrently } from "../../time/for-each-concurrently.ts";
import type { StoreContext } from "../context.ts";
import { readWidth } from "../hand-edits/repository-folder.ts";
import { SegmentMissingError } from "../history/segment.ts";
import { appendWithRetry } from "../log/append-with-retry.ts";
import type { Commit, SnapshotEnd, SnapshotPart, Snapshots } from "../log/commit-log.ts";
import type { Repositories } from "../repository/repositories.ts";
import type { LogNumber } from "../types.ts";
import { beginningOf, commitsSince, type SharedRepository } from "./kept-history.ts";
import type { SharedScopes } from "./shared-scopes.ts";

/** Milliseconds without progress after which another machine's snapshot counts as abandoned. */
const staleTime = 20_000;
/** Milliseconds between two checks whether it has ended. */
const pollInterval = 250;

/** What a snapshot consists of. */
interface SnapshotParts {
  readonly repositories: Repositories<SharedRepository>;
  readonly erasures: { carryOut(): Promise<void> };
  readonly scopes: SharedScopes;
}

/**
 * Keeps a shared log from growing without bound, and removes values that are to be forgotten: it appends the kept histories of all
 * repositories again, as a snapshot, and deletes everything before it. Only one machine does this at a time: a machine that begins a
 * snapshot after another one's overtakes it.
 */
export class LogShortener {
  readonly #context: StoreContext;
  readonly #parts: SnapshotParts;
  readonly #snapshots: Snapshots;
  /** Up to this many bytes the log is left as it is. */
  readonly #leastBytes: number;
  readonly #lock = pLimit(1);
  /** The log's size at the last check of its length. */
  #checkedBytes = 0;
  #cancel: (() => void) | undefined;
  #isClosed = false;

  constructor(context: StoreContext, parts: SnapshotParts, snapshots: Snapshots, leastBytes: number) {
    this.#context = context;
    this.#parts = parts;
    this.#snapshots = snapshots;
    this.#leastBytes = leastBytes;
  }

  close(): void {
    this.#isClosed = true;
    this.#cancel?.();
  }

  /** Call when a request to forget values was read: its machine shortens the log, and this one does if that one died. */
  watchForgetting(): void {
    if (this.#isClosed) return;
    this.#cancel ??= this.#context.clock.schedule(staleTime, () => {
      this.#cancel = undefined;
      void this.#seeToForgetting();
    });
  }

  async #seeToForgetting(): Promise<void> {
    const { forgetting, ended } = this.#snapshots;
    if (forgetting <= ended) return;
    try {
      // Retried until the log can be reached.
      if (this.#context.log.problem === undefined) await this.shorten(forgetting);
    } catch (error) {
      this.#report(error);
    }
    if (forgetting > this.#snapshots.ended) this.watchForgetting();
  }

  /** Shortens a log that is longer than `leastBytes` and more than twice as long as the kept histories. */
  async shortenIfLong(): Promise<void> {
    const { log, paths } = this.#context;
    const { bytes } = this.#snapshots;
    const behind = log.newest;
    if (bytes < this.#checkedBytes) this.#checkedBytes = 0;
    // A check counts the bytes of all histories, so it is not made for every append.
    if (bytes < this.#leastBytes || bytes < 1.1 * this.#checkedBytes || this.#isGoingOn(0)) return;
    this.#checkedBytes = bytes;
    try {
      if (bytes < this.#leastBytes + 2 * (await bytesIn(paths.journal))) return;
      await this.shorten(behind);
    } catch (error) {
      this.#report(error);
    }
  }

  /** Resolves when the log begins after an entry, whichever machine shortened it. Throws RepoconfError 1108, AppendError or the server's error. */
  shorten(behind: LogNumber): Promise<void> {
    const { log, clock } = this.#context;
    return this.#lock(async () => {
      while (this.#snapshots.ended <= behind) {
        if (this.#isGoingOn(behind)) {
          await clock.delay(pollInterval);
          continue;
        }
        await this.#writeSnapshot().catch(error => {
          if (!(error instanceof OvertakenError)) throw error;
        });
      }
      await log.erase(behind);
    });
  }

  /** Whether another machine is writing a snapshot after an entry. */
  #isGoingOn(behind: LogNumber): boolean {
    const { begun, ended, progressedAt } = this.#snapshots;
    return begun > Math.max(behind, ended) && progressedAt + staleTime >= this.#context.clock.monotonic();
  }

  #report(error: unknown): void {
    this.#context.onProblem("cannot shorten the shared log; Repoconf keeps retrying", { error: String(error) });
  }

  async #writeSnapshot(): Promise<void> {
    const { log, clock } = this.#context;
    if (this.#snapshots.hasFailedEntries) throw new Error("a change of another machine could not be applied here");
    const { begun, ended } = this.#snapshots;
    const begin = () => {
      if (this.#snapshots.begun !== begun || this.#snapshots.ended !== ended) throw new OvertakenError();
      return { kind: "snapshot", time: timeText(clock) } as const;
    };
    const { number: snapshot } = await appendWithRetry(log, begin);
    // A snapshot must not contain values that are to be forgotten.
    await this.#parts.erasures.carryOut();
    // Scopes come before the values that they describe.
    await this.#parts.scopes.repeat(() => this.#assertNewest(snapshot));
    // Repositories that are added from now on follow in the log.
    for (const id of [...this.#parts.repositories.ids()]) {
      const repository = this.#parts.repositories.get(id);
      if (repository !== undefined) await this.#writeRepository(repository, snapshot);
    }
    await appendWithRetry(log, (): SnapshotEnd => {
      this.#assertNewest(snapshot);
      return { kind: "end", snapshot };
    });
  }

  async #writeRepository(repository: SharedRepository, snapshot: LogNumber): Promise<void> {
    try {
      await repository.load();
      // Otherwise the log has no entry of it.
      if (repository.hasBegun && repository.state.revision > 0) await this.#writeHistory(repository, snapshot);
    } catch (error) {
      if (this.#parts.repositories.get(repository.id) !== repository) return;
      // The history was rewritten or compacted while it was read.
      if (error instanceof SegmentMissingError) return this.#writeRepository(repository, snapshot);
      throw error;
    }
  }

  async #writeHistory(repository: SharedRepository, snapshot: LogNumber): Promise<void> {
    const { log } = this.#context;
    const { id } = repository;
    const beginning = await beginningOf(repository);
    let commits: Commit[] = [];
    let bytes = 0;
    let isFirst = true;
    let written: number | undefined;
    const part = (isLast: boolean): SnapshotPart => {
      this.#assertNewest(snapshot);
      const erasures = isLast ? beginning.erasures : [];
      return { kind: "part", snapshot, repo: id, commits, erasures, isFirst, isLast };
    };
    const collect = async () => {
      for await (const commit of commitsSince(repository, beginning, written, log.id)) {
        const more = Buffer.byteLength(JSON.stringify(commit));
        if (commits.length > 0 && bytes + more > this.#snapshots.partBytes) {
          await appendWithRetry(log, () => part(false), repository);
          [commits, bytes, isFirst] = [[], 0, false];
        }
        commits.push(commit);
        bytes += more;
        written = commit.documents[0]?.revision;
      }
    };
    // Not only inside the turn below, because it may take long.
    await collect();
    // The last part must include every earlier commit: none is pending here then, and commits of others cause a conflict.
    const last = async () => {
      await collect();
      return part(true);
    };
    await repository.exclusive(() => appendWithRetry(log, last, repository));
  }

  #assertNewest(snapshot: LogNumber): void {
    if (this.#snapshots.begun !== snapshot) throw new OvertakenError();
  }
}

/** Another machine has begun a snapshot after this one's. */
class OvertakenError extends Error {}

/** The total size of the files in a folder. */
async function bytesIn(folder: string): Promise<number> {
  const names = await readdir(folder);
  let bytes = 0;
  await forEachConcurrently(names, readWidth, async name => {
    bytes += await stat(join(folder, name)).then(
      ({ size }) => size,
      () => 0,
    );
  });
  return bytes;
}
