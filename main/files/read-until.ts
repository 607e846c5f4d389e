import type { Clock } from "../time/clock.ts";

/** Pauses between reads, in milliseconds: 250 in total. */
const pauses = [5, 15, 40, 90, 100];

/**
 * Reads a file, and retries for up to 250 ms until its content is acceptable, because a person may be saving it right now: some
 * editors delete the file first, others write it in steps. Returns or throws the result of the last read.
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
