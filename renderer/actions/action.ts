import type { ScreenState } from "../state/store.ts";
import type { Keys } from "./keys.ts";

/** Something a person can do from anywhere on the screen. */
export interface Action {
  readonly id: string;
  readonly title: string;
  /** In a menu that says what it is about: a shorter title. */
  readonly short?: string;
  readonly group: "Edits" | "Repositories" | "Go to" | "Find" | "This window" | "This repository";
  /** Only the first is displayed. */
  readonly keys?: readonly Keys[];
  /** Whether its keys also work in a text field, where they have no other meaning. */
  readonly inText?: true;
  /** Whether it is available; if omitted, it always is. */
  applies?(state: ScreenState): boolean;
  run(): void;
}
