import pLimit from "p-limit";
import type { Store } from "../../store/store.ts";
import type { Clock } from "../../time/clock.ts";
import type { Worktrees } from "./worktrees.ts";

/** Milliseconds after which worktrees whose folder does not exist are checked again: git may be told later that they were deleted. */
const interval = 60_000;

/** Settles the worktrees whose folder is missing, or another one (`settleWorktree`), at the start and when that is noticed. */
export class WorktreeUpkeep {
  readonly #store: Store;
  readonly #worktrees: Worktrees;
  readonly #clock: Clock;
  readonly #onProblem: (message: string, context: object) => void;
  readonly #lock = pLimit(1);
  #cancel: (() => void) | undefined;
  #isClosed = false;

  constructor(
    { store, worktrees }: { readonly store: Store; readonly worktrees: Worktrees },
    clock: Clock,
    onProblem: (message: string, context: object) => void,
  ) {
    this.#store = store;
    this.#worktrees = worktrees;
    this.#clock = clock;
    this.#onProblem = onProblem;
    store.events.subscribe(event => {
      const { base, health } = event.state;
      if (base !== undefined && health.some(({ noFolder }) => noFolder)) this.#settle();
    });
    void store.reconciled.then(() => this.#settle());
  }

  close(): void {
    this.#isClosed = true;
    this.#cancel?.();
  }

  /** Checks all worktrees now, one check at a time. Does not throw. */
  #settle(): void {
    void this.#lock(async () => {
      if (this.#isClosed) return;
      const { repositories } = this.#store;
      let isAnyGone = false;
      for (const id of repositories.ids())
        try {
          if (repositories.brief(id)?.base !== undefined && (await this.#worktrees.settle(id))) isAnyGone = true;
        } catch (error) {
          this.#onProblem("could not check a linked worktree", { repo: id, error: String(error) });
        }
      this.#cancel?.();
      if (isAnyGone && !this.#isClosed) this.#cancel = this.#clock.schedule(interval, () => this.#settle());
    });
  }
}
