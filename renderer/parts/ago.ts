const steps: readonly (readonly [Intl.RelativeTimeFormatUnit, number])[] = [
  ["year", 365 * 24 * 3_600],
  ["month", 30 * 24 * 3_600],
  ["day", 24 * 3_600],
  ["hour", 3_600],
  ["minute", 60],
];
const words = new Intl.RelativeTimeFormat("en", { numeric: "auto" });

/** How long ago an RFC 3339 time was, in words. */
export function ago(time: string, now = Date.now()): string {
  const seconds = (Date.parse(time) - now) / 1_000;
  for (const [unit, length] of steps)
    if (Math.abs(seconds) >= length) return words.format(Math.round(seconds / length), unit);
  return "just now";
}
