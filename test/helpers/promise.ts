import { appendFileSync } from "node:fs";

/** Whether the full numbers are asked for (`npm run torture`) and not the short forms of `npm test`. */
export const torture = process.env["REPOCONF_TORTURE"] === "1";

/** How often to try: a few times in `npm test`, as often as the promise says in `npm run torture`. */
export function amount(short: number, full: number): number {
  return torture ? full : short;
}

/** Where random choices begin: always the same in `npm test`, a new one in `npm run torture`, or the one to be repeated. */
export const seed = Number(process.env["REPOCONF_SEED"] ?? 20_261_121);

/** What came of a promise, for the table that `npm run torture` makes. */
export interface PromiseFigures {
  /** Such as "R1". */
  readonly row: string;
  readonly tried: number;
  readonly failed: number;
  /** What else the number means, or a figure of its own: "p99 3 ms". */
  readonly note?: string;
}

/** Tells the figures of a row before anything is asserted of them, so that a failing one is in the table too. */
export function reportPromise(figures: PromiseFigures): void {
  const file = process.env["REPOCONF_TORTURE_REPORT"];
  if (file !== undefined) appendFileSync(file, `${JSON.stringify({ ...figures, seed })}\n`);
}
