import type { Logger } from "pino";
import type { Clock } from "../time/clock.ts";
import type { Sessions } from "./keys/sessions.ts";

export interface IdleEndOptions {
  /** Milliseconds; undefined: the daemon keeps running. */
  readonly timeout: number | undefined;
  readonly clock: Pick<Clock, "schedule">;
  readonly sessions: Pick<Sessions, "list">;
  readonly logger: Logger;
  onStop(): void;
}

/** Ends a daemon to which no client has been connected for a while. */
export class IdleEnd {
  readonly #options: IdleEndOptions;
  #cancel = () => {};
  #isClosed = false;

  constructor(options: IdleEndOptions) {
    this.#options = options;
  }

  /** Tells it how many clients are connected now. */
  setClients(count: number): void {
    const { timeout, clock, sessions, logger, onStop } = this.#options;
    this.#cancel();
    if (timeout === undefined || count > 0 || this.#isClosed) return;
    this.#cancel = clock.schedule(timeout, () => {
      // A window that lost its connection, for example while the machine sleeps, reconnects and needs its session.
      if (sessions.list().length > 0) return this.setClients(0);
      logger.info("stopping: no client was connected for a while");
      onStop();
    });
  }

  close(): void {
    this.#isClosed = true;
    this.#cancel();
  }
}
