import { TestClock } from "./test-clock.ts";

/** A clock that advances at every query, so that each step of long work takes its whole turn. */
export class SteppingClock extends TestClock {
  constructor() {
    super({ timers: "run" });
  }

  override monotonic(): number {
    this.advance(20);
    return super.monotonic();
  }
}
