import { appendFileSync } from "node:fs";
import { expect } from "vitest";

/** Whether the full amounts are requested (`npm run torture`) instead of the short ones of `npm test`. */
export const torture = process.env["REPOCONF_TORTURE"] === "1";

/** The number of tries: a few in `npm test`, the number that the promise states in `npm run torture`. */
export function amount(short: number, full: number): number {
  return torture ? full : short;
}

/** The random seed: fixed in `npm test`, new in `npm run torture`, or the one to repeat. */
export const seed = Number(process.env["REPOCONF_SEED"] ?? 20_261_121);

/** The result of a promise, for the table of `npm run torture`. */
export interface PromiseFigures {
  /** Such as "R1". */
  readonly row: string;
  readonly tried: number;
  readonly failed: number;
  /** What the number means, or a further figure: "p99 3 ms". */
  readonly note?: string;
}

/** Reports the figures of a row before anything is asserted about them, so that the table includes failing rows. */
export function reportPromise(figures: PromiseFigures): void {
  const file = process.env["REPOCONF_TORTURE_REPORT"];
  if (file !== undefined) appendFileSync(file, `${JSON.stringify(figures)}\n`);
}

/** Reports a row, of which each of these lines is a failure, and fails if there is one. */
export function judge(row: string, tried: number, wrong: readonly unknown[], note?: string): void {
  reportPromise({ row, tried, failed: wrong.length, ...(note !== undefined && { note }) });
  expect(wrong).toEqual([]);
}
