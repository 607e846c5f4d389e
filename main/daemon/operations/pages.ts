import type { Outcome } from "../dispatch.ts";

export const defaultLimit = 100;

/** One page of a long list: what comes after the entry with the id `after`. The entries are in the order of their ids. */
export function page<Entry extends { readonly id: string }>(
  entries: readonly Entry[],
  limit: number | null | undefined,
  after: string | null | undefined,
): Outcome<readonly Entry[]> {
  const start = after ? entries.findIndex(entry => entry.id > after) : 0;
  if (start === -1) return { result: [] };
  const end = start + (limit ?? defaultLimit);
  const result = entries.slice(start, end);
  const last = result.at(-1);
  return { result, ...(end < entries.length && last !== undefined && { next: last.id }) };
}
