import type { ScreenState } from "../state/store.ts";

/** What a button says while a save is under way: `Saving 120 of 502…`. */
export function savingText({ done, total, isCancelled }: NonNullable<ScreenState["saving"]>): string {
  if (isCancelled) return "Cancelling…";
  return total === 1 ? "Saving…" : `Saving ${(done + 1).toLocaleString("en")} of ${total.toLocaleString("en")}…`;
}
