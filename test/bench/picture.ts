/** Draws the ratios of the table in docs/performance.md. `node test/bench/picture.ts` draws them again from the current table. */
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { projectFolder } from "../helpers/spawned-daemon.ts";

const [rowHeight, left, width, right] = [22, 430, 460, 70];
/** The ends of the logarithmic scale. */
const [least, most] = [0.1, 10];
const ticks = [0.1, 0.2, 0.5, 1, 2, 5, 10];
// Readable on white and on black backgrounds.
const colors = { text: "#768390", grid: "#76839040", met: "#2da44e", missed: "#cf222e", plain: "#539bf5" };

/** The rows with a ratio in a table that run.ts printed. */
function barsOf(table: string) {
  const bars = [];
  let section = "";
  for (const line of table.split("\n")) {
    section = /^### .*\(`(?<name>[a-z-]+)`\)$/.exec(line)?.groups?.["name"] ?? section;
    const cells = line.split("|").map(cell => cell.trim());
    const [, what = "", ours = "", against = "", , ratio = "", goal = ""] = cells;
    const found = /^\*\*(?<median>[\d.,]+)\*\* \((?<low>[\d.,]+) to (?<high>[\d.,]+)\)$/.exec(ratio)?.groups;
    if (found === undefined) continue;
    const numberOf = (text = "") => Number(text.replaceAll(",", ""));
    const wanted = /at (?:least|most) (?<ratio>[\d.]+)|under (?<under>[\d.]+):/.exec(goal)?.groups;
    bars.push({
      label: `${section} (${ours.split(" ").at(-1)}): ${what} vs. ${against}`,
      median: numberOf(found["median"]),
      low: numberOf(found["low"]),
      high: numberOf(found["high"]),
      goal: wanted === undefined ? undefined : Number(wanted["ratio"] ?? wanted["under"]),
      isMet: goal === "" ? undefined : goal.endsWith("met") && !goal.includes("missed"),
    });
  }
  return bars;
}

/** An SVG: for each row a line from the lowest to the highest ratio of all rounds, a dot for the median, and a mark for the goal. */
function drawBars(bars: ReturnType<typeof barsOf>): string {
  const height = bars.length * rowHeight + 60;
  const x = (ratio: number) =>
    left + (Math.log(Math.min(most, Math.max(least, ratio)) / least) / Math.log(most / least)) * width;
  const text = (at: number, y: number, content: string, anchor: string, color = colors.text) =>
    `<text x="${at.toFixed(1)}" y="${y}" text-anchor="${anchor}" fill="${color}">${escaped(content)}</text>`;
  const line = (from: readonly [number, number], to: readonly [number, number], color: string, thickness: number) =>
    `<line x1="${from[0].toFixed(1)}" y1="${from[1]}" x2="${to[0].toFixed(1)}" y2="${to[1]}" stroke="${color}" stroke-width="${thickness}"/>`;
  const grid = ticks.flatMap(tick => [
    line([x(tick), 30], [x(tick), height - 20], tick === 1 ? colors.text : colors.grid, 1),
    text(x(tick), 20, String(tick), "middle"),
  ]);
  const rows = bars.flatMap(({ label, median, low, high, goal, isMet }, index) => {
    const y = 30 + index * rowHeight + rowHeight / 2;
    const color = isMet === undefined ? colors.plain : isMet ? colors.met : colors.missed;
    return [
      text(left - 12, y + 4, label.length > 68 ? `${label.slice(0, 66)}…` : label, "end"),
      line([x(low), y], [x(high), y], color, 2),
      `<circle cx="${x(median).toFixed(1)}" cy="${y}" r="4.5" fill="${color}"/>`,
      ...(goal === undefined ? [] : [line([x(goal), y - 8], [x(goal), y + 8], color, 2)]),
      text(left + width + 10, y + 4, String(median), "start", color),
    ];
  });
  const legend = text(
    left + width / 2,
    height - 4,
    "Repoconf divided by the other figure: for rates, more is better; for times, less. Green: meets the goal (stroke); red: misses it",
    "middle",
  );
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${left + width + right}" height="${height}" font-family="sans-serif" font-size="12">`,
    "<title>Ratios and goals</title>",
    ...grid,
    ...rows,
    legend,
    "</svg>\n",
  ].join("\n");
}

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
}

/** Draws the current table of docs/performance.md. */
export async function drawPicture(): Promise<void> {
  const table = await readFile(join(projectFolder, "docs/performance.md"), "utf8");
  await writeFile(join(projectFolder, "docs/performance.svg"), drawBars(barsOf(table)));
}

if (import.meta.main) await drawPicture();
