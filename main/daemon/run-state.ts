import { RepoconfError } from "../../shared/errors.ts";
import type { HeldHome } from "./home/held-home.ts";
import type { Dispatch } from "./socket/dispatch.ts";

/** Whether the daemon takes requests, and the running ones, which a stop waits for. */
export class RunState {
  readonly #held: HeldHome;
  readonly #requests = new Set<Promise<unknown>>();
  readonly #firstAnswer = Promise.withResolvers<void>();
  #state: "starting" | "running" | "stopping" = "starting";

  constructor(held: HeldHome) {
    this.#held = held;
  }

  /** Resolves when the first request has been answered. */
  get firstAnswer(): Promise<void> {
    return this.#firstAnswer.promise;
  }

  get isRunning(): boolean {
    return this.#state === "running";
  }

  begin(): void {
    this.#state = "running";
  }

  /** Throws RepoconfError 1113 if the daemon is stopping, or has lost its home. */
  assertRunning(): void {
    this.#held.assertNotLost();
    if (this.#state === "stopping")
      throw new RepoconfError(1113, "The daemon is stopping. Reconnect when it is running again.");
  }

  /** The same function, except that a stop waits for its requests. */
  track(dispatch: Dispatch): Dispatch {
    return (message, from) => {
      const request = dispatch(message, from).finally(() => {
        this.#requests.delete(request);
        this.#firstAnswer.resolve();
      });
      this.#requests.add(request);
      return request;
    };
  }

  /** Refuses new requests from now on, and resolves when the running ones have ended. */
  async stop(): Promise<void> {
    this.#state = "stopping";
    while (this.#requests.size > 0) await Promise.allSettled(this.#requests);
  }
}
