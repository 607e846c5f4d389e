/**
 * Tests the promises with their full numbers: `npm run torture`, or `npm run torture -- R1 S2` for some of them. Shows progress,
 * prints a table and, if all rows ran, writes one row for each promise into docs/promises.md. To reproduce a failure, pass its seed:
 * `REPOCONF_SEED=N npm run torture -- R1`.
 */
import { spawn } from "node:child_process";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { cpus, release, tmpdir, totalmem, type } from "node:os";
import { dirname, join } from "node:path";
import type { PromiseFigures } from "../test/helpers/promise.ts";

const project = join(import.meta.dirname, "..");
const document = join(project, "docs/promises.md");
const [begin, end] = ["<!-- table begins -->", "<!-- table ends -->"];
const rows = process.argv.slice(2);
const seed = process.env["REPOCONF_SEED"] ?? String(Date.now() % 1_000_000_000);

const tests = (await readdir(join(project, "test/promises"))).filter(name => name.endsWith(".test.ts"));
/** The test files of some rows, which their names begin with. */
const filesOf = (wanted: readonly string[]) =>
  tests.filter(name => name.split("-").some(part => wanted.includes(part.toUpperCase())));
/** They measure time, so nothing else may run at the same time. */
const timed = filesOf(["R10", "S15", "S16", "S18"]);
const unknown = rows.filter(row => filesOf([row]).length === 0);
if (unknown.length > 0) {
  process.stderr.write(`There is no row ${unknown.join(", ")}. docs/promises.md lists all rows, such as R1 and S2.\n`);
  process.exit(1);
}

const folder = await mkdtemp(join(tmpdir(), "repoconf-torture-"));
const report = join(folder, "report.jsonl");
await writeFile(report, "");
const started = Date.now();
const vitest = join(dirname(createRequire(import.meta.url).resolve("vitest/package.json")), "vitest.mjs");
process.stdout.write(`Seed ${seed}. All rows together take up to an hour on two cores.\n`);
const alone = "--no-file-parallelism";
let code = 0;
if (rows.length > 0) code = await run(alone, ...filesOf(rows));
else
  for (const some of [tests.filter(name => !timed.includes(name)), [alone, ...timed]])
    code = Math.max(code, await run(...some));

function run(...options: readonly string[]): Promise<number> {
  const child = spawn(
    process.execPath,
    [vitest, "run", "--project", "promises*", "--reporter", "verbose", ...options],
    {
      cwd: project,
      stdio: "inherit",
      env: { ...process.env, REPOCONF_TORTURE: "1", REPOCONF_TORTURE_REPORT: report, REPOCONF_SEED: seed },
    },
  );
  return new Promise(resolve => child.once("exit", status => resolve(status ?? 1)));
}

const figures = (await readFile(report, "utf8"))
  .split("\n")
  .filter(line => line !== "")
  // Written by test/helpers/promise.ts.
  .map(line => JSON.parse(line) as PromiseFigures)
  .sort((one, other) => one.row.localeCompare(other.row, "en", { numeric: true }));
const minutes = Math.round((Date.now() - started) / 60_000);
const machine = `${type()} ${release()}, ${cpus().length} cores (${cpus()[0]?.model ?? "unknown"}), ${Math.round(totalmem() / 1024 ** 3)} GiB, Node ${process.versions.node}`;
process.stdout.write(`\n${tableOf(figures)}\n\n${minutes} minutes on ${machine}, seed ${seed}\n`);
if (rows.length === 0) {
  const text = await readFile(document, "utf8");
  const date = new Date().toISOString().slice(0, 10);
  const table = tableOf([...Map.groupBy(figures, ({ row }) => row).values()].map(inOneRow));
  const report = `${begin}\n\n${date}, ${minutes} minutes, ${machine}, seed ${seed}.\n\n${table}\n\n${end}`;
  await writeFile(document, text.slice(0, text.indexOf(begin)) + report + text.slice(text.indexOf(end) + end.length));
  process.stdout.write(`Written to ${document}\n`);
}
await rm(folder, { recursive: true, force: true });
process.exitCode = code;

function tableOf(rows: readonly PromiseFigures[]): string {
  const lines = rows.map(
    one => `| ${one.row} | ${one.tried.toLocaleString("en")} | ${one.failed} | ${one.note ?? ""} |`,
  );
  return ["| promise | tried | failed | figure |", "| --- | --- | --- | --- |", ...lines].join("\n");
}

/** What all trials of a promise tried, with the figure of the largest. */
function inOneRow(trials: readonly PromiseFigures[]): PromiseFigures {
  const largest = trials.reduce((one, other) => (other.tried > one.tried ? other : one));
  const sum = (member: "tried" | "failed") => trials.reduce((total, one) => total + one[member], 0);
  return { ...largest, tried: sum("tried"), failed: sum("failed") };
}
