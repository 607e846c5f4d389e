import type { ScreenState } from "../state/store.ts";

/** Keys pressed at once, as `Mod+Shift+Z`, `F6`, `?`: Mod is Ctrl, and Command on a Mac. Letters are capital. */
export type Keys = string;

/** Something a person can do from anywhere on the screen. */
export interface Action {
  readonly id: string;
  readonly title: string;
  readonly group: "Edits" | "Repositories" | "Go to" | "Find" | "This window";
  /** The first are shown. */
  readonly keys?: readonly Keys[];
  /** Its keys work in a text too, where they mean nothing else. */
  readonly inText?: true;
  /** Whether there is anything to do it with; without, there always is. */
  applies?(state: ScreenState): boolean;
  run(): void;
}
