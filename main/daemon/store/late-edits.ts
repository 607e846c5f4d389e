import type { FileIntake } from "./file-intake.ts";
import type { ServedState } from "./repository-state.ts";

/** How long, in milliseconds, what a write replaced is kept: an editor that had it open has ended by then. */
const replacedTime = 1_000;

/** Hand edits made at the moment of a write, or later into the file that the write replaced. */
export class LateEdits {
  readonly #served: ServedState;
  readonly #intake: FileIntake;
  /** What the last write replaced is not waited for any longer. */
  #isEnding = false;
  /** Calls the end of what the last write replaced off. */
  #cancelEnd: (() => void) | undefined;

  constructor(served: ServedState, intake: FileIntake) {
    this.#served = served;
    this.#intake = intake;
  }

  /** Whether there was an edit at the moment of a write, or later into the file that it replaced. */
  async apply(): Promise<boolean> {
    if (!this.#intake.loaded || this.#served.files.content.kind === "broken") return false;
    const after = this.#served.options.log.newest;
    const edited = await this.#served.mirror.lateEdit(this.#served.options.scopes);
    if (edited === undefined) return false;
    // An editor that writes in place has no JSON there for a moment.
    if (edited === null && !this.#isEnding) return false;
    if (edited === null)
      await this.#served.options.keepText(this.#served.id, this.#served.files.values.replacedPath ?? "");
    else await this.#intake.reconcile(edited, "merge", after);
    if (this.#intake.unrecorded === undefined) await this.#served.mirror.dropReplaced().catch(() => {});
    return true;
  }

  endLater(): void {
    this.#cancelEnd?.();
    this.#cancelEnd = this.#served.options.clock.schedule(replacedTime, () => void this.end());
  }

  /** A moment after the last write: who was still writing to the file that it replaced has ended by now. */
  async end(): Promise<void> {
    this.#cancelEnd?.();
    if (!this.#intake.loaded || this.#intake.isRemoved) return;
    if ((await this.#served.mirror.lateEdit(this.#served.options.scopes)) !== undefined) {
      this.#isEnding = true;
      await this.#intake.requestRefresh();
      this.#isEnding = false;
    }
    await this.#served.mirror.inTurn(async () => {
      if (this.#served.files.content.kind === "good" && this.#intake.unrecorded === undefined)
        await this.#served.mirror.dropReplaced().catch(() => {});
    });
  }
}
