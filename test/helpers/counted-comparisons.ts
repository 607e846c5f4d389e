/** How often keys were compared, in a test that mocks node:crypto with `countingComparisons`. */
export const compared = { times: 0 };

/** node:crypto with the real comparison in constant time, which counts. */
export function countingComparisons(crypto: typeof import("node:crypto")): typeof import("node:crypto") {
  return {
    ...crypto,
    timingSafeEqual: (one, other) => {
      compared.times++;
      return crypto.timingSafeEqual(one, other);
    },
  };
}
