import { setTimeout as delay } from "node:timers/promises";

/** The time source of the daemon. It is passed as an argument, so that tests can control the time. */
export interface Clock {
  /** Milliseconds since 1970, for timestamps. The system clock may be set back. */
  now(): number;
  /** Milliseconds since an arbitrary moment, never set back: for durations. */
  monotonic(): number;
  /** Resolves after `milliseconds`. */
  delay(milliseconds: number): Promise<void>;
  /** Runs `task` once after `milliseconds`, without keeping the process alive. Returns a function that cancels it. */
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

/** The current time as RFC 3339 in UTC with milliseconds, the form in replies, events and the journal. */
export function timeText(clock: Pick<Clock, "now">): string {
  return new Date(clock.now()).toISOString();
}
