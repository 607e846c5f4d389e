import type { Clock } from "../clock.ts";

/** Pauses between the reads, in milliseconds: 250 in all. */
const pauses = [5, 15, 40, 90, 100];

/**
 * Reads a file that a person, or a tool of theirs, may be saving right now, until what it holds is acceptable, for 250 ms at most: some
 * editors delete the file first, others write it in steps. Returns or throws what the last read did.
 */
export async function readUntil<Found>(
  clock: Pick<Clock, "delay">,
  read: () => Promise<Found>,
  isAcceptable: (found: Found) => boolean,
): Promise<Found> {
  for (const pause of pauses) {
    try {
      const found = await read();
      if (isAcceptable(found)) return found;
    } catch {
      // The last read decides.
    }
    await clock.delay(pause);
  }
  return read();
}
