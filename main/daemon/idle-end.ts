import type { Logger } from "pino";
import type { Clock } from "../time/clock.ts";
import type { Sessions } from "./keys/sessions.ts";

export interface IdleEndOptions {
  /** Milliseconds; undefined: the daemon keeps running. */
  readonly timeout: number | undefined;
  readonly clock: Pick<Clock, "schedule">;
  readonly sessions: Pick<Sessions, "list">;
  readonly logger: Logger;
  /** How many clients are connected now. */
  countClients(): number;
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

  /** Call when clients connected or left: counts the time anew if there is none now. */
  check(): void {
    const { timeout, clock, sessions, logger, countClients, onStop } = this.#options;
    this.#cancel();
    if (timeout === undefined || countClients() > 0 || this.#isClosed) return;
    this.#cancel = clock.schedule(timeout, () => {
      // A window that lost its connection, for example while the machine sleeps, reconnects and needs its session.
      if (sessions.list().length > 0) return this.check();
      logger.info("stopping: no client was connected for a while");
      onStop();
    });
  }

  close(): void {
    this.#isClosed = true;
    this.#cancel();
  }
}
