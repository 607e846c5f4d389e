/** Bytes. The sizes of values that a key may not see are told in steps of these. */
export const hiddenStep = 4_096;

/** The bytes of a value that a key may not see, as far as it may know them. */
export function roundedUp(bytes: number): number {
  return Math.ceil(bytes / hiddenStep) * hiddenStep;
}
