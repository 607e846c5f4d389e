/**
 * Measures how fast Repoconf is, compared with what the machine allows and with alternatives: `npm run bench`, or
 * `npm run bench -- list set` for some sections. `--json` prints figures for programs, `--short` only tests the benchmark itself.
 * If all sections ran, writes the table into docs/performance.md and draws its ratios.
 */
import { readFile, writeFile } from "node:fs/promises";
import { cpus, release, totalmem, type } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { projectFolder } from "../helpers/spawned-daemon.ts";
import { cli } from "./cli.ts";
import { cluster } from "./cluster.ts";
import type { Figure } from "./figures.ts";
import { growth } from "./growth.ts";
import { handEdit } from "./hand-edit.ts";
import { hook } from "./hook.ts";
import { list } from "./list.ts";
import { prepareMachine } from "./machine.ts";
import { memory } from "./memory.ts";
import { drawPicture } from "./picture.ts";
import { screen } from "./screen.ts";
import type { Row, Section } from "./section.ts";
import { set, setInTree, setMany, setOne } from "./set.ts";
import { sharedLog } from "./shared-log.ts";
import { start } from "./start.ts";
import { watch } from "./watch.ts";
import { worktrees } from "./worktrees.ts";

const sections: readonly Section[] = [
  list,
  set,
  setInTree,
  setOne,
  setMany,
  watch,
  handEdit,
  cli,
  hook,
  start,
  memory,
  worktrees,
  growth,
  screen,
  sharedLog,
  cluster,
];
const document = join(projectFolder, "docs/performance.md");
const [begin, end] = ["<!-- table begins -->", "<!-- table ends -->"];

const { values: options, positionals: wanted } = parseArgs({
  options: { json: { type: "boolean" }, short: { type: "boolean" } },
  allowPositionals: true,
});
const unknown = wanted.filter(name => !sections.some(section => section.name === name));
if (unknown.length > 0) {
  const names = sections.map(({ name }) => name).join(", ");
  process.stderr.write(`There is no section ${unknown.join(", ")}. Sections: ${names}.\n`);
  process.exit(2);
}

const chosen = sections.filter(({ name }) => wanted.length === 0 || wanted.includes(name));
const results: { readonly section: Section; readonly rows: readonly Row[] }[] = [];
let running = "";
const started = Date.now();
await using machine = await prepareMachine(options.short === true, text => progress(`${running}: ${text}`));
if (machine.cores === undefined) progress("processes cannot be pinned to cores here, so the figures vary more\n");
for (const section of chosen) {
  running = section.name;
  results.push({ section, rows: await section.run(machine) });
}
const minutes = ((Date.now() - started) / 60_000).toFixed(1);
progress("");

const pinned =
  machine.cores === undefined ? "processes not pinned to cores" : "clients and servers pinned to different cores";
const about = `${type()} ${release()}, ${cpus().length} cores (${cpus()[0]?.model.trim() ?? "unknown"}), ${Math.round(totalmem() / 1024 ** 3)} GiB, Node ${process.versions.node}; ${pinned}`;
if (options.json) {
  const rows = results.flatMap(({ section, rows }) => rows.map(row => ({ section: section.name, ...row })));
  process.stdout.write(`${JSON.stringify({ machine: about, minutes: Number(minutes), rows }, undefined, 2)}\n`);
} else {
  process.stdout.write(`${asTable()}\n\n${minutes} minutes on ${about}\n`);
}
if (wanted.length === 0 && !machine.short) {
  const text = await readFile(document, "utf8");
  const section = `${begin}\n\n${new Date().toISOString().slice(0, 10)}, ${minutes} minutes, ${about}.\n\n${asTable()}\n\n${end}`;
  await writeFile(document, text.slice(0, text.indexOf(begin)) + section + text.slice(text.indexOf(end) + end.length));
  await drawPicture();
  process.stderr.write(`Written to ${document}, and its picture beside it\n`);
}

/** Prints progress to standard error; on a terminal, each line replaces the one before. */
function progress(text: string): void {
  if (process.stderr.isTTY) process.stderr.write(`\r\u001B[K${text}`);
  else if (text !== "") process.stderr.write(`${text}\n`);
}

function asTable(): string {
  return results
    .map(({ section, rows }) =>
      [
        `### ${section.title} (\`${section.name}\`)`,
        "",
        "| measured | Repoconf | compared with | its figure | ratio | goal |",
        "| --- | --- | --- | --- | --- | --- |",
        ...rows.map(asLine),
      ].join("\n"),
    )
    .join("\n\n");
}

function asLine({ what, unit, ours, against, theirs, ratio, goal }: Row): string {
  const cells = [
    what,
    `${asText(ours)} ${unit}`,
    against ?? "",
    theirs === undefined ? "" : `${asText(theirs)} ${unit}`,
    ratio === undefined ? "" : `**${asNumber(ratio.median)}** (${asNumber(ratio.low)} to ${asNumber(ratio.high)})`,
    goal === undefined ? "" : `${goal.text}: ${goal.met ? "met" : "**missed**"}`,
  ];
  return `| ${cells.join(" | ")} |`;
}

function asText({ median, low, high }: Figure): string {
  if (low === high) return asNumber(median);
  return `${asNumber(median)} (${asNumber(low)} to ${asNumber(high)})`;
}

/** Rounds to three significant digits. */
function asNumber(value: number): string {
  return value.toLocaleString("en", { maximumSignificantDigits: 3 });
}
