import { isJsonObject } from "../../../shared/json.ts";
import type { LinkedName, RepositoryInfo } from "../types.ts";

/** What a linked worktree's entry has beside what any repository's has; nothing of another one. */
export function ofBase(entry: Pick<RepositoryInfo, "base" | "linked"> = {}): Pick<RepositoryInfo, "base" | "linked"> {
  const { base, linked } = entry;
  return base === undefined || linked === undefined ? {} : { base, linked };
}

/** As the file has it; what is missing or of the wrong type falls back. */
export function readLinked(id: string, value: unknown): LinkedName {
  const { name, slot } = isJsonObject(value) ? value : {};
  return {
    name: typeof name === "string" && name !== "" ? name : id,
    slot: typeof slot === "number" && Number.isSafeInteger(slot) && slot > 0 ? slot : 0,
  };
}
