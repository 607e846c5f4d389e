import type { Figure } from "./figures.ts";
import type { Machine } from "./machine.ts";

/** A row of the table. */
export interface Row {
  readonly what: string;
  /** The unit of the figures, such as "calls/s" or "ms". */
  readonly unit: string;
  readonly ours: Figure;
  /** What Repoconf is compared with. */
  readonly against?: string;
  readonly theirs?: Figure;
  /** The ratio of `ours` to `theirs` in each round. */
  readonly ratio?: Figure;
  /** The goal, and whether the median meets it. */
  readonly goal?: { readonly text: string; readonly met: boolean };
}

/** A part of the benchmark. `npm run bench -- NAME` runs it by its name. */
export interface Section {
  readonly name: string;
  readonly title: string;
  run(machine: Machine): Promise<readonly Row[]>;
}
