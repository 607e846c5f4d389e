/**
 * `npm run house`: measures how large the project is and what depends on what, and prints it. With the path of a report that
 * `vitest run --reporter=json --outputFile=<path>` wrote, it also prints the seconds of each test file. With --check, it prints
 * only what exceeds the limits in `scripts/house/limits.ts`, one sentence each, and then exits with code 1.
 */
import { readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { limits, problemsOf } from "./house/limits.ts";
import { type House, measureHouse, sideBySide, sum } from "./house/measure.ts";
import { allMutants } from "./mutants/all-mutants.ts";

type Row = readonly [name: string, ...numbers: number[]];

const project = join(import.meta.dirname, "..");
const house = measureHouse(project, (await allMutants()).length);
const [argument] = process.argv.slice(2);
if (argument === "--check") {
  const problems = problemsOf(house, limits);
  for (const problem of problems) process.stderr.write(`${problem}\n`);
  if (problems.length > 0) process.exitCode = 1;
} else {
  printHouse(house);
  if (argument !== undefined) print("Seconds of each test file", secondsOf(argument));
}

function printHouse(house: House): void {
  const { sources, tests, circles, storeFiles, storeRooms, sharedLogFiles, setUpObjects, promises, mutants } = house;
  print("Lines and files of each room", rows(rooms(sources)));
  print("Files side by side", largestFirst(sideBySide(sources.keys())));
  print("The longest files", largestFirst(sources).slice(0, 10));
  print("Files that import each other in a circle, types counted", circleRows(circles));
  for (const [what, { longestChain }] of Object.entries({ files: storeFiles, rooms: storeRooms }))
    print(`Floors of main/store, its longest chain of ${what} (a circle is one floor)`, [
      [longestChain.join(" < ").replaceAll("main/store/", ""), longestChain.length],
    ]);
  print("Rooms of main/store that import each other in a circle", circleRows(storeRooms.circles));
  print("Files that know of a shared log, outside of its room", [[sharedLogFiles.join(", "), sharedLogFiles.length]]);
  print("The set-up objects with the most members", largestFirst(setUpObjects).slice(0, 10));
  print("Lines and files of tests", rows(byFolder(tests)));
  print("Promises", [
    ["mutants", mutants],
    ["lines of docs/promises.md", promises],
  ]);
}

/** The files of each folder of tests; helpers and mutants count as tests. */
function byFolder(tests: ReadonlyMap<string, number>): Map<string, number[]> {
  const folders = new Map<string, number[]>();
  for (const [file, lines] of tests) add(folders, file.split("/").slice(0, 2).join("/"), lines);
  folders.set("all", [...tests.values()]);
  return folders;
}

/** The lines of the files in each room: a folder of the project, of main/, or of one of the three that have rooms of their own. */
function rooms(sources: ReadonlyMap<string, number>): Map<string, number[]> {
  const inRooms = new Map<string, number[]>();
  for (const [file, lines] of sources) {
    const [top = "", second, third] = file.split("/").slice(0, -1);
    add(inRooms, top, lines);
    if (top !== "main" || second === undefined) continue;
    add(inRooms, `${top}/${second}`, lines);
    if (third !== undefined && ["store", "daemon", "cli"].includes(second))
      add(inRooms, `${top}/${second}/${third}`, lines);
  }
  inRooms.set("all", [...sources.values()]);
  return inRooms;
}

function add(groups: Map<string, number[]>, name: string, lines: number): void {
  groups.set(name, [...(groups.get(name) ?? []), lines]);
}

function rows(groups: ReadonlyMap<string, readonly number[]>): Row[] {
  return [...groups].map(([name, lines]) => [name, sum(lines), lines.length]);
}

function largestFirst(counts: ReadonlyMap<string, number>): Row[] {
  return [...counts].sort(([, one], [, other]) => other - one);
}

function circleRows(circles: House["circles"]): Row[] {
  return circles.map(circle => [circle.join(", "), circle.length]);
}

function secondsOf(report: string): Row[] {
  const { testResults }: { readonly testResults: readonly { name: string; startTime: number; endTime: number }[] } =
    JSON.parse(readFileSync(report, "utf8"));
  const seconds = testResults.map(({ name, startTime, endTime }): [string, number] => {
    return [relative(project, name), Math.round((endTime - startTime) / 100) / 10];
  });
  return largestFirst(new Map(seconds));
}

function print(title: string, rows: readonly Row[]): void {
  process.stdout.write(`\n${title}\n`);
  for (const [name, ...numbers] of rows.length === 0 ? ([["none"]] satisfies Row[]) : rows)
    process.stdout.write(`  ${numbers.map(one => one.toLocaleString("en").padStart(7)).join(" ")}  ${name}\n`);
}
