import pLimit from "p-limit";
import type { Config } from "../../../shared/config.ts";
import { staleEditAge } from "../mirror/merge-edit.ts";
import type { Mirror } from "../mirror/mirror.ts";
import { keepAside } from "../removed-files.ts";
import type { LogNumber } from "../types.ts";
import type { ReadRepository } from "./start-report.ts";

interface EditedRepository extends ReadRepository {
  readonly mirror: Mirror;
}

/** How late edits become changes: as those that are read from the present file. */
interface EditReader {
  readonly loaded: boolean;
  readonly isRemoved: boolean;
  readonly unrecorded: unknown;
  readonly requestRefresh: () => Promise<void>;
  reconcile(target: Config, source: "merge", after: LogNumber): Promise<void>;
}

/** Milliseconds for which a replaced file is kept: an editor that had it open has finished writing by then. */
const replacedTime = 1_000;

/** Hand edits made at the moment of a write, or later into the file that the write replaced. */
export class LateEdits {
  readonly #context: EditedRepository;
  readonly #reader: EditReader;
  /** Whether the wait for edits of the replaced file is over. */
  #isEnding = false;
  /** Cancels the end of that wait. */
  #cancelEnd: (() => void) | undefined;
  /** A stop waits for what is under way. */
  readonly #turn = pLimit(1);

  constructor(context: EditedRepository, reader: EditReader) {
    this.#context = context;
    this.#reader = reader;
  }

  /** Applies an edit made at the moment of a write, or later to the replaced file. Returns whether there was one. */
  async apply(): Promise<boolean> {
    if (!this.#reader.loaded || this.#context.files.content.kind === "broken") return false;
    const after = this.#context.store.log.newest;
    const edited = await this.#context.mirror.lateEdit(this.#context.store.scopes);
    if (edited === undefined) return false;
    // While an editor writes in place, the text is not JSON for a moment.
    if (edited === null && !this.#isEnding) return false;
    if (edited === null) await this.#keepText();
    else await this.#reader.reconcile(edited, "merge", after);
    if (this.#reader.unrecorded === undefined) await this.#context.files.values.dropReplaced().catch(() => {});
    return true;
  }

  /** Keeps a text that is not JSON. */
  async #keepText(): Promise<void> {
    const { id, store, files } = this.#context;
    const path = files.values.replacedPath ?? "";
    const kept = await keepAside(store, `${id}.edit`, path).catch(() => undefined);
    const where = kept === undefined ? "could not be kept" : `is kept in ${kept}`;
    const message = `A person or program was editing the file at the moment when Repoconf replaced it, and left a text that is not valid JSON. Nothing of that text was taken into the values. It ${where}. Compare it with the file, and repeat the edit if it is missing.`;
    await store.findings.add({ repo: id, message, ...(kept !== undefined && { kept }) });
  }

  endLater(): void {
    const { clock } = this.#context.store;
    this.#cancelEnd?.();
    this.#cancelEnd = clock.schedule(replacedTime, () => {
      // Until then an edit may be based on the replaced text, which a start after a kill must know, too.
      this.#cancelEnd = clock.schedule(staleEditAge - replacedTime, () => void this.end());
      void this.#turn(() => this.#dropReplaced());
    });
  }

  /** Call a moment after the last write, when nobody is writing to the replaced file any more: the write is complete. */
  end(): Promise<void> {
    this.#cancelEnd?.();
    this.#cancelEnd = undefined;
    return this.#turn(async () => {
      if (!(await this.#dropReplaced())) return;
      const { mirror } = this.#context;
      await mirror.locked(async () => {
        // A write since then has an end of its own.
        if (this.#cancelEnd === undefined) await mirror.recordCompletion().catch(() => {});
      });
    });
  }

  /** Reads the replaced file once more, and deletes it. Returns whether it is gone. */
  async #dropReplaced(): Promise<boolean> {
    if (!this.#reader.loaded || this.#reader.isRemoved) return false;
    const { mirror, files, store } = this.#context;
    if ((await mirror.lateEdit(store.scopes)) !== undefined) {
      this.#isEnding = true;
      await this.#reader.requestRefresh();
      this.#isEnding = false;
    }
    return mirror.locked(async () => {
      if (files.content.kind !== "good" || this.#reader.unrecorded !== undefined) return false;
      await files.values.dropReplaced().catch(() => {});
      return files.values.replacedPath === undefined;
    });
  }
}
