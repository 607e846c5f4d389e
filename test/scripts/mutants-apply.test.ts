import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { allMutants } from "../../scripts/mutants/all-mutants.ts";
import { mutate } from "../../scripts/mutants/apply.ts";

const project = join(import.meta.dirname, "../..");
const mutants = await allMutants();

describe.each(mutants)("the mutant of $promise, $removed", mutant => {
  test("applies: each text occurs exactly once in its file", async () => {
    await mutate(project, mutant);
  });

  test("names a test that exists", async () => {
    const text = await readFile(join(project, mutant.test), "utf8");
    expect(mutant.test).toMatch(/\.test\.ts$/);
    if (mutant.name !== undefined) expect(text).toContain(mutant.name);
  });
});

test("no two mutants are the same", () => {
  const rows = mutants.map(({ promise, removed, test, name }) => [promise, removed, test, name].join(" | "));
  expect(rows).toEqual([...new Set(rows)]);
});
