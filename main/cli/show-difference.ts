import { exactText, type JsonValue } from "../../shared/json.ts";
import { print, style } from "./terminal.ts";

/** So many lines that stay are shown on either side of those that differ. */
const context = 3;

/** What is to be trusted beside what serves now, each line of it that differs. */
export function showDifference(title: string, serving: JsonValue, value: JsonValue, hash: string): void {
  print(style("bold", title));
  for (const line of differingLines(serving, value)) {
    const colour = line.startsWith("-") ? "red" : line.startsWith("+") ? "green" : "dim";
    print(style(colour, line));
  }
  print(`  hash ${hash}`);
}

/** From the first line that differs to the last, what serves now and what is to be trusted, with some lines around. */
function differingLines(serving: JsonValue, value: JsonValue): string[] {
  const [before, after] = [exactText(serving).split("\n"), exactText(value).split("\n")];
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
