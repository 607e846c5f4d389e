import { useState } from "react";

/** Keys of the entries of a list. An entry keeps its key when it moves, so what its control shows moves along. */
export function useEntryKeys(count: number): {
  readonly keys: readonly number[];
  /** Those that were there when the list was first shown have a lower key. */
  readonly firstAdded: number;
  /** Call it with a change of the entries: where each comes from. */
  arrange(order: readonly number[]): void;
} {
  const [firstAdded] = useState(count);
  const [known, setKeys] = useState<readonly number[]>(() => Array.from({ length: count }, (_, index) => index));
  let keys = known;
  if (keys.length !== count) {
    // Changed elsewhere: those at the end are new, or gone.
    const next = Math.max(firstAdded - 1, ...known) + 1;
    keys = Array.from({ length: count }, (_, index) => known[index] ?? next + index - known.length);
    setKeys(keys);
  }
  return { keys, firstAdded, arrange: order => setKeys(order.map(index => keys[index] ?? index)) };
}
