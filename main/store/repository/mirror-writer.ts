import { sameConfig } from "../../../shared/config-diff.ts";
import { describeProblem } from "../../../shared/health.ts";
import { ForeignEditError } from "../../files/json-document.ts";
import { ConflictError } from "../log/commit-log.ts";
import type { RepositoryContext } from "../state/repository-context.ts";
import { causeOf } from "../storage-failure.ts";
import type { Mirrored } from "../types.ts";
import { type FileReader, foreignEditTime } from "./parts.ts";

/** Why a file cannot be written now: a refresh comes first. */
const beingChanged = "another program keeps changing the file";

/** Writes commits to a repository's history and file, and reports failures in `health`. */
export class MirrorWriter {
  readonly #context: RepositoryContext;
  readonly #reader: FileReader;

  constructor(context: RepositoryContext, reader: FileReader) {
    this.#context = context;
    this.#reader = reader;
  }

  /**
   * Updates history and file to what is committed. Does not throw: if that fails, it returns the reason, `health` reports it, and it
   * is retried.
   */
  async write(): Promise<Mirrored> {
    if (!this.#reader.loaded || this.#reader.isRemoved) return true;
    return this.#context.mirror.locked(async () => {
      if (this.#reader.isRemoved) return true;
      const { firstFailure } = this.#context.mirror;
      // A refresh tries again to write a file that was never there.
      if (firstFailure !== undefined) void this.#reader.requestRefresh();
      // Or the file has an edit that is not in the log yet, so it must not be replaced.
      const failure = firstFailure ?? this.#reader.unrecorded;
      if (failure instanceof ConflictError) return beingChanged;
      if (failure !== undefined) {
        // The history is still written, so that the log can release its entries.
        await this.#context.mirror.writeHistory(false, false).catch(() => {});
        return causeOf(failure);
      }
      try {
        await this.#context.turn();
        const isOutdated = this.#context.mirror.isFileOutdated;
        await this.#writeMirror();
        if (isOutdated) this.#reader.lateEdits.endLater();
        this.#context.stamps = this.#context.files.stamps;
        await this.#context.turn();
        this.#context.reportMirrorProblem(undefined);
        if (isOutdated) this.#context.findPlaces();
        if (!this.#context.mirror.isOutdated) this.#context.reports.onUpToDate();
        const { broken } = this.#context.current;
        return broken === undefined ? true : describeProblem(broken);
      } catch (error) {
        if (error instanceof ForeignEditError) {
          // First read what was changed.
          void this.#reader.requestRefresh();
          return beingChanged;
        }
        const cause = causeOf(error);
        this.#context.reportMirrorProblem({
          code: 1108,
          message: `The file cannot be written (${cause}). The values are active and safe in the log; Repoconf keeps retrying.`,
        });
        return cause;
      }
    });
  }

  #writeMirror(): Promise<void> {
    return this.#context.mirror.write(
      config => !this.#context.isCheckedByOldRules && sameConfig(config, this.#context.current.stored ?? {}),
      this.#context.store.scopes,
    );
  }

  /**
   * Writes what history and file of a removed repository lack, before the file is put aside. Call it inside the mirror's lock. Does not
   * throw: `isFileOutdated` of the mirror tells whether the file still lacks something.
   */
  async writeLast(): Promise<void> {
    if (!this.#reader.loaded || this.#reader.unrecorded !== undefined) return;
    await this.#writeMirror().catch(() => {});
  }

  /** As `write`, but waits while another program changes the file, which `refresh` reads. */
  async flush(refresh = this.#reader.requestRefresh): Promise<Mirrored> {
    const end = this.#context.store.clock.monotonic() + foreignEditTime;
    for (;;) {
      const mirrored = await this.write();
      if (mirrored !== beingChanged || this.#context.store.clock.monotonic() > end) return mirrored;
      await refresh();
    }
  }

  /** As `flush`, for a task of the queue. */
  flushInQueue(): Promise<Mirrored> {
    return this.flush(async () => {
      await this.#reader.refresh();
      await this.#reader.bringUpToDate();
    });
  }

  /**
   * Writes an in-tree file durably right after a commit, because git must see the new text when the caller gets its reply, and must not
   * lose it in a power loss. Call it inside the queue. A text that was written to the file since then becomes the next commit, as a whole: it may be another branch's.
   */
  async writeInTree(): Promise<void> {
    if (this.#context.current.inTree) await this.flushInQueue();
  }
}
