import { limits } from "../../../shared/limits.ts";
import type { Outcome } from "../socket/dispatch.ts";
import { jsonBytes } from "../socket/measure.ts";

const defaultLimit = 100;

/** One page of a long list: the entries after the one with the id `after`, in the order of their ids. */
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

/** A page that is filled entry by entry, until it has the requested number of entries, or the maximum bytes of a reply. */
export class Page<Entry> {
  readonly entries: Entry[] = [];
  readonly #limit: number;
  #bytes = 0;

  constructor(limit: number | null | undefined) {
    this.#limit = limit ?? defaultLimit;
  }

  get isFull(): boolean {
    return this.entries.length >= this.#limit || this.#bytes >= limits.pageBytes;
  }

  add(entry: Entry): void {
    this.entries.push(entry);
    this.#bytes += jsonBytes(entry);
  }
}
