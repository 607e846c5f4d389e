/**
 * Mutation testing: applies each mutant in test/mutants/ to a temporary copy of the project and runs the test that must fail.
 * `npm run mutants` tries all of them and writes the result into docs/promises.md; `npm run mutants -- R3 S6` tries those of some
 * promises; with `--list` it only lists them. Exits with code 1 unless all mutants were killed.
 */
import { readFile, writeFile } from "node:fs/promises";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { allMutants } from "./mutants/all-mutants.ts";
import { type MutantResult, runMutants } from "./mutants/run-mutants.ts";

const project = join(import.meta.dirname, "..");
const isList = process.argv.includes("--list");
const promises = process.argv.slice(2).filter(name => name !== "--list");
const all = await allMutants();
const unknown = promises.filter(name => !all.some(({ promise }) => promise === name));
if (unknown.length > 0) {
  const known = [...new Set(all.map(({ promise }) => promise))].join(", ");
  process.stderr.write(
    `There is no mutant of ${unknown.join(", ")}. Usage: npm run mutants -- [--list] [promise...]\nPromises with mutants: ${known}.\n`,
  );
  process.exit(1);
}
const mutants = all.filter(({ promise }) => promises.length === 0 || promises.includes(promise));
const print = (line: string) => process.stdout.write(`${line}\n`);
const indent = (text: string) => text.replace(/^/gm, "    ");

if (isList) list();
else await run();

function list(): void {
  const lines = mutants.map(({ promise, removed, test, name }) => {
    const killer = name === undefined ? test : `${test}: ${name}`;
    return `${promise}: ${removed}\n${indent(killer)}`;
  });
  print(lines.join("\n"));
}

async function run(): Promise<void> {
  const stopping = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM"] as const)
    process.once(signal, () => stopping.abort(new Error(`stopped by ${signal}`)));
  const started = Date.now();
  let done = 0;
  print(
    `${mutants.length} ${mutants.length === 1 ? "mutant" : "mutants"}. First, their tests run on the unmutated product.`,
  );
  const results = await runMutants({
    project,
    mutants,
    // Tests mostly wait.
    copies: 2 * availableParallelism(),
    signal: stopping.signal,
    onUnmutated: (test, outcome, seconds) => {
      print(`${outcome.kind === "passed" ? "green" : "RED"} unmutated, ${seconds} s: ${test}`);
      if ("why" in outcome) print(indent(outcome.why));
    },
    onResult: ({ mutant, status, why, seconds }) => {
      print(`${++done}/${mutants.length} ${status}, ${seconds} s: ${mutant.promise}, ${mutant.removed}`);
      if (why !== undefined) print(indent(why));
    },
  }).catch(error => {
    if (!stopping.signal.aborted) throw error;
    print("Stopped before the last mutant.");
    process.exit(130);
  });

  const minutes = Math.round((Date.now() - started) / 60_000);
  const text = summary(results);
  print(`\n${text}`);
  if (promises.length === 0) {
    const document = join(project, "docs/promises.md");
    const [begin, end] = ["<!-- mutants run begins -->", "<!-- mutants run ends -->"];
    const date = new Date().toISOString().slice(0, 10);
    const report = `${begin}\n\nThe last run of all: ${date}, ${minutes} minutes. ${text}\n\n${end}`;
    const before = await readFile(document, "utf8");
    const after = before.slice(before.indexOf(end) + end.length);
    await writeFile(document, before.slice(0, before.indexOf(begin)) + report + after);
  }
  if (!results.every(isKilled)) process.exitCode = 1;
}

function isKilled({ status }: MutantResult): boolean {
  return status === "killed" || status === "killed by timeout";
}

/** "Killed 7 of 9, 1 of them by timeout. Not killed: R3, the sync of the file (SURVIVED)." */
function summary(results: readonly MutantResult[]): string {
  const killed = results.filter(isKilled).length;
  const timedOut = results.filter(({ status }) => status === "killed by timeout").length;
  const left = results.filter(result => !isKilled(result));
  const others = left.map(({ mutant, status }) => `${mutant.promise}, ${mutant.removed} (${status})`).join("; ");
  return `Killed ${killed} of ${results.length}${timedOut > 0 ? `, ${timedOut} of them by timeout` : ""}.${others && ` Not killed: ${others}.`}`;
}
