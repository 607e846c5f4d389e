import type { HistoryEntry } from "./protocol.ts";

/** Whether a change came with the file, by a person, an editor or git; a part of it if it was merged with sets. */
export function isFromFile({ source }: Pick<HistoryEntry, "source">): boolean {
  return source === "file" || source === "merge";
}

/** Why a field is not taken back: it has another value by now. */
export const changedSince = "It has changed since.";
