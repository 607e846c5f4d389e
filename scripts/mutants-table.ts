/** Generates the table of mutants in docs/promises.md; with --check, only compares and exits with code 1 if it is out of date. */
import { allMutants } from "./mutants/all-mutants.ts";
import { tableIsStale, writeTable } from "./mutants/document.ts";

const mutants = await allMutants();
if (!process.argv.includes("--check")) {
  await writeTable(mutants);
} else if (await tableIsStale(mutants)) {
  process.stderr.write("docs/promises.md does not have the mutants of test/mutants. Run: npm run docs\n");
  process.exitCode = 1;
}
