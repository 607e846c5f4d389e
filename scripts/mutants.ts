/**
 * Takes parts of the product out, one at a time, and runs the test that has to notice: `npm run mutants`, or
 * `npm run mutants -- R3 S6` for some promises. The mutants are in test/mutants/. Works on copies in a temporary folder. If
 * all were tried, writes how many were killed into docs/promises.md. Leaves with 1 unless all were.
 */
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { allMutants } from "./mutants/all-mutants.ts";
import { writeLastRun } from "./mutants/document.ts";
import { type MutantResult, runMutants } from "./mutants/run-mutants.ts";

const promises = process.argv.slice(2);
const all = await allMutants();
const unknown = promises.filter(name => !all.some(({ promise }) => promise === name));
if (unknown.length > 0) {
  const known = [...new Set(all.map(({ promise }) => promise))].join(", ");
  process.stderr.write(`There is no mutant of ${unknown.join(", ")}. Those there are: ${known}.\n`);
  process.exit(1);
}
const mutants = all.filter(({ promise }) => promises.length === 0 || promises.includes(promise));
const print = (line: string) => process.stdout.write(`${line}\n`);
const indent = (text: string) => text.replace(/^/gm, "    ");

const ending = new AbortController();
for (const signal of ["SIGINT", "SIGTERM"] as const)
  process.once(signal, () => ending.abort(new Error(`ended by ${signal}`)));
const started = Date.now();
let done = 0;
print(
  `${mutants.length} ${mutants.length === 1 ? "mutant" : "mutants"}. First the tests named run on the product as it is.`,
);
const results = await runMutants({
  project: join(import.meta.dirname, ".."),
  mutants,
  // Most of a test is waiting.
  copies: 2 * availableParallelism(),
  signal: ending.signal,
  onUnmutated: (test, outcome, seconds) => {
    print(`${outcome.kind === "passed" ? "green" : "RED"} unmutated, ${seconds} s: ${test}`);
    if ("why" in outcome) print(indent(outcome.why));
  },
  onResult: ({ mutant, fate, why, seconds }) => {
    print(`${++done}/${mutants.length} ${fate}, ${seconds} s: ${mutant.promise}, ${mutant.removed}`);
    if (why !== undefined) print(indent(why));
  },
}).catch(error => {
  if (!ending.signal.aborted) throw error;
  print("Ended before the last mutant.");
  process.exit(130);
});

const minutes = Math.max(1, Math.round((Date.now() - started) / 60_000));
const text = summary(results);
print(`\n${text}`);
if (promises.length === 0) {
  const date = new Date().toISOString().slice(0, 10);
  await writeLastRun(`${text} ${date}, ${minutes} ${minutes === 1 ? "minute" : "minutes"}, in the short forms.`);
}
if (!results.every(isKilled)) process.exitCode = 1;

function isKilled({ fate }: MutantResult): boolean {
  return fate === "killed" || fate === "killed by timeout";
}

/** "Killed 7 of 9, 1 of them by timeout. Not killed: R3, the sync of the file (SURVIVED)." */
function summary(results: readonly MutantResult[]): string {
  const killed = results.filter(isKilled).length;
  const timedOut = results.filter(({ fate }) => fate === "killed by timeout").length;
  const left = results.filter(result => !isKilled(result));
  const others = left.map(({ mutant, fate }) => `${mutant.promise}, ${mutant.removed} (${fate})`).join("; ");
  return `Killed ${killed} of ${results.length}${timedOut > 0 ? `, ${timedOut} of them by timeout` : ""}.${others && ` Not killed: ${others}.`}`;
}
