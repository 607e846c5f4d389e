/** The causes of rejected requests, in words. */
const causes: { readonly [cause: string]: string } = {
  host: "with another host name",
  origin: "from web pages of other sites",
  page: "from browser tabs of an earlier daemon",
  key: "without a valid key",
  limit: "over a limit",
};

/** The counts of `daemon/status` in words: "2 without a valid key, 1 over a limit"; "" if nothing was rejected. */
export function describeRefusals(refusals: { readonly [cause: string]: number }): string {
  const counted = Object.entries(refusals).map(([cause, count]) => `${count} ${causes[cause] ?? `for ${cause}`}`);
  return counted.join(", ");
}
