import { createHash, randomBytes } from "node:crypto";
import type { Clock } from "../../clock.ts";

/** Codes that a browser changes for a session of its own: each is good once, and not for long. */
export class SessionCodes {
  /** The hash of each code, and until when it is good (milliseconds since 1970). */
  readonly #codes = new Map<string, number>();
  readonly #clock: Pick<Clock, "now">;

  constructor(clock: Pick<Clock, "now">) {
    this.#clock = clock;
  }

  /** A new code, good for so many milliseconds. */
  create(lifetime: number): string {
    const now = this.#clock.now();
    for (const [hash, end] of this.#codes) if (end <= now) this.#codes.delete(hash);
    const code = randomBytes(32).toString("base64url");
    this.#codes.set(hashOf(code), now + lifetime);
    return code;
  }

  /** Uses a code up; false if it was none, used before, or too old. */
  redeem(code: string): boolean {
    const hash = hashOf(code);
    const end = this.#codes.get(hash);
    this.#codes.delete(hash);
    return end !== undefined && end > this.#clock.now();
  }
}

function hashOf(code: string): string {
  return createHash("sha256").update(code).digest("hex");
}
