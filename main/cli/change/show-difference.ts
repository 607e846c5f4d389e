import { exactText, type JsonValue } from "../../../shared/json.ts";
import { print, style } from "../output/terminal.ts";

/** The number of unchanged lines to show around the different ones. */
const context = 3;

/** Shows the value to trust next to the active one, line by line. */
export function showDifference(title: string, active: JsonValue, value: JsonValue, hash: string): void {
  print(style("bold", title));
  for (const line of differingLines(active, value)) {
    const colour = line.startsWith("-") ? "red" : line.startsWith("+") ? "green" : "dim";
    print(style(colour, line));
  }
  print(`  hash ${hash}`);
}

/** The lines of both values from the first to the last difference, with context. */
function differingLines(active: JsonValue, value: JsonValue): string[] {
  const [before, after] = [exactText(active).split("\n"), exactText(value).split("\n")];
  const shorter = Math.min(before.length, after.length);
  let start = 0;
  while (start < shorter && before[start] === after[start]) start += 1;
  let end = 0;
  while (end < shorter - start && before.at(-1 - end) === after.at(-1 - end)) end += 1;
  return [
    ...after.slice(Math.max(0, start - context), start).map(line => `  ${line}`),
    ...before.slice(start, before.length - end).map(line => `- ${line}`),
    ...after.slice(start, after.length - end).map(line => `+ ${line}`),
    ...after.slice(after.length - end, after.length - end + context).map(line => `  ${line}`),
  ];
}
