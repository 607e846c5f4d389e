import type { Outcome, WaitingChange } from "./decide-batch.ts";
import type { Applied, ChangeRequest } from "./store.ts";

type Waiting = WaitingChange | { readonly kind: "exclusive"; run(): Promise<void> };

/** What the queue calls, never two of them at the same time. */
export interface QueueHost {
  /** Nobody has read the files yet. */
  readonly isToBeRead: boolean;
  /** Does not throw. */
  refresh(): Promise<void>;
  change(batch: readonly WaitingChange[]): Promise<void>;
  /** The end of a change. */
  dropPrepared(): Promise<void>;
}

/** What waits for a repository: one thing at a time, refreshes of the files first. Changes that wait together become one batch. */
export class RepositoryQueue {
  readonly #host: QueueHost;
  readonly #waiting: Waiting[] = [];
  #refreshes: (() => void)[] = [];
  #running: Promise<void> | undefined;

  constructor(host: QueueHost) {
    this.#host = host;
  }

  /** Whether anything waits or runs. */
  get isBusy(): boolean {
    return this.#running !== undefined || this.#waiting.length > 0 || this.#refreshes.length > 0;
  }

  /** Resolves after the next refresh of the files, which comes before all that waits. */
  refresh(): Promise<void> {
    const refreshed = new Promise<void>(resolve => this.#refreshes.push(resolve));
    this.#wake();
    return refreshed;
  }

  change<Answer>(request: ChangeRequest<Answer>): Promise<Applied<Answer>> {
    return new Promise((resolve, reject) => {
      const settle = (outcome: Outcome) =>
        "error" in outcome ? reject(outcome.error) : resolve(outcome.applied as Applied<Answer>);
      this.#waiting.push({ kind: "change", request, settle });
      this.#wake();
    });
  }

  /** Runs `task` when nothing else changes this repository, and keeps all else waiting until it ends. */
  exclusive<Result>(task: () => Promise<Result>): Promise<Result> {
    return new Promise((resolve, reject) => {
      const run = () => task().then(resolve, reject);
      this.#waiting.push({ kind: "exclusive", run });
      this.#wake();
    });
  }

  /** Resolves when nothing waits and nothing runs. */
  async idle(): Promise<void> {
    while (this.#running !== undefined) await this.#running;
  }

  #wake(): void {
    if (this.#running !== undefined) return;
    this.#running = this.#run().finally(() => {
      this.#running = undefined;
      if (this.#waiting.length > 0 || this.#refreshes.length > 0) this.#wake();
    });
  }

  async #run(): Promise<void> {
    // What is asked for in one turn of the event loop is one batch.
    await Promise.resolve();
    for (;;) {
      const head = this.#waiting[0];
      if (this.#host.isToBeRead || this.#refreshes.length > 0) {
        const refreshes = this.#refreshes;
        this.#refreshes = [];
        await this.#host.refresh();
        for (const resolve of refreshes) resolve();
      } else if (head === undefined) {
        return;
      } else if (head.kind === "exclusive") {
        this.#waiting.shift();
        await head.run();
      } else {
        const end = this.#waiting.findIndex(waiting => waiting.kind === "exclusive");
        const batch = this.#waiting.splice(0, end === -1 ? this.#waiting.length : end);
        const changes = batch.filter(waiting => waiting.kind === "change");
        try {
          await this.#host.change(changes);
        } catch (error) {
          // A bug must not leave its callers without an answer, nor the queue standing still.
          for (const { settle } of changes) settle({ error });
        } finally {
          await this.#host.dropPrepared();
        }
      }
    }
  }
}
