import { type Clock, systemClock } from "../../main/time/clock.ts";

/** The system's clock. While it is hurried, what would take a second or more takes a twentieth of that: for what ends only by a timeout. */
export class HurriedClock implements Clock {
  isHurried = false;

  now = systemClock.now;
  monotonic = systemClock.monotonic;

  delay(milliseconds: number): Promise<void> {
    return systemClock.delay(this.#shorten(milliseconds));
  }

  schedule(milliseconds: number, task: () => void): () => void {
    return systemClock.schedule(this.#shorten(milliseconds), task);
  }

  #shorten(milliseconds: number): number {
    return this.isHurried && milliseconds >= 1_000 ? milliseconds / 20 : milliseconds;
  }
}
