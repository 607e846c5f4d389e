import { performance } from "node:perf_hooks";
import { setTimeout as delay } from "node:timers/promises";

/** Time as the daemon has it. An argument, so that tests can hand in one that stands still until they move it on. */
export interface Clock {
  /** Milliseconds since 1970: what is told and kept. A person or the network may set it back. */
  now(): number;
  /** Milliseconds since some moment in the past, never set back: what durations are measured with. */
  monotonic(): number;
  /** Resolves after so many milliseconds. */
  delay(milliseconds: number): Promise<void>;
  /** Runs `task` once after so many milliseconds; the process may end before. Returns what calls it off. */
  schedule(milliseconds: number, task: () => void): () => void;
}

export const systemClock: Clock = {
  now: Date.now,
  monotonic: () => performance.now(),
  delay: milliseconds => delay(milliseconds),
  schedule: (milliseconds, task) => {
    const timer = setTimeout(task, milliseconds).unref();
    return () => clearTimeout(timer);
  },
};

/** A moment as the wire and the journal have it: RFC 3339, UTC, with milliseconds. */
export function timeText(clock: Pick<Clock, "now">): string {
  return new Date(clock.now()).toISOString();
}
