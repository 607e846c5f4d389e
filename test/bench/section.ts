import type { Figure } from "./figures.ts";
import type { Machine } from "./machine.ts";

/** A line of the table. */
export interface Row {
  readonly what: string;
  /** What the figures count, such as "calls/s" or "ms". */
  readonly unit: string;
  readonly ours: Figure;
  /** What ours is compared with, and its figure. */
  readonly against?: string;
  readonly theirs?: Figure;
  /** Ours to theirs, round by round. */
  readonly ratio?: Figure;
  /** What is wanted, and whether the median is that. */
  readonly goal?: { readonly text: string; readonly met: boolean };
}

/** A part of the benchmark that can be run by its name. */
export interface Section {
  readonly name: string;
  readonly title: string;
  run(machine: Machine): Promise<readonly Row[]>;
}
