import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { allMutants } from "../../scripts/mutants/all-mutants.ts";
import { mutate } from "../../scripts/mutants/apply.ts";

const project = join(import.meta.dirname, "../..");

test("every mutant applies: each of its texts occurs exactly once in its file, its test exists, and no two are the same", async () => {
  const mutants = await allMutants();
  const wrong: string[] = [];
  const rows = new Set<string>();
  for (const mutant of mutants) {
    const { promise, removed, test, name } = mutant;
    const row = [promise, removed, test, name].join(" | ");
    if (rows.has(row)) wrong.push(`${row}: there are two of it`);
    rows.add(row);
    await mutate(project, mutant).catch(error => wrong.push(`${row}: ${error}`));
    const text = await readFile(join(project, test), "utf8").catch(() => undefined);
    if (text === undefined || !test.endsWith(".test.ts")) wrong.push(`${row}: there is no such test file`);
    else if (name !== undefined && !text.includes(name)) wrong.push(`${row}: its test file has no such name`);
  }
  expect(wrong).toEqual([]);
  expect(mutants.length).toBeGreaterThan(100);
});
