import type { Outcome, WaitingChange } from "../state/decide-batch.ts";
import type { Applied, ChangeRequest } from "../types.ts";

/** A change, or a task to run alone. */
type Waiting = WaitingChange | (() => Promise<void>);

/** Callbacks of the queue, never two at the same time. */
export interface QueueHost {
  /** Whether the files were not read yet. */
  isToBeRead(): boolean;
  /** Does not throw. */
  refresh(): Promise<void>;
  /** Settles the changes. If it throws, all others of the batch get the error. */
  change(batch: readonly WaitingChange[]): Promise<void>;
}

/** A repository's queue: runs one task at a time, refreshes of the files first. Waiting changes are combined into one batch. */
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

  /** Requests a refresh of the files, which runs before other waiting tasks. Resolves after it. */
  refresh(): Promise<void> {
    const refreshed = new Promise<void>(resolve => this.#refreshes.push(resolve));
    this.#wake();
    return refreshed;
  }

  change<Answer>(request: ChangeRequest<Answer>): Promise<Applied<Answer>> {
    return new Promise((resolve, reject) => {
      const settle = (outcome: Outcome) =>
        "error" in outcome ? reject(outcome.error) : resolve(outcome.applied as Applied<Answer>);
      this.#waiting.push({ request, settle });
      this.#wake();
    });
  }

  /** Runs `task` while nothing else changes this repository. */
  exclusive<Result>(task: () => Promise<Result>): Promise<Result> {
    return new Promise((resolve, reject) => {
      this.#waiting.push(() => task().then(resolve, reject));
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
    // Requests of one turn of the event loop become one batch.
    await Promise.resolve();
    for (;;) {
      const [head] = this.#waiting;
      if (this.#host.isToBeRead() || this.#refreshes.length > 0) {
        const refreshes = this.#refreshes;
        this.#refreshes = [];
        await this.#host.refresh();
        for (const resolve of refreshes) resolve();
      } else if (head === undefined) {
        return;
      } else if (typeof head === "function") {
        this.#waiting.shift();
        await head();
      } else {
        const end = this.#waiting.findIndex(waiting => typeof waiting === "function");
        const batch = this.#waiting.splice(0, end === -1 ? this.#waiting.length : end);
        const changes = batch.filter(waiting => typeof waiting !== "function");
        await this.#host.change(changes).catch(error => {
          for (const { settle } of changes) settle({ error });
        });
      }
    }
  }
}
