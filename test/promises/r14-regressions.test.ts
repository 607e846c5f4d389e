import { readdir } from "node:fs/promises";
import { basename, join } from "node:path";
import { expect, test } from "vitest";
import { createVitest } from "vitest/node";
import { reportPromise } from "../helpers/promise.ts";
import { projectFolder } from "../helpers/spawned-daemon.ts";

// That a test fails without its fix is shown once, when it is written, and by its mutant if it has one (`npm run mutants`). The
// linter forbids skipped tests and tests that run alone.
test("R14 a fixed bug does not come back: npm test runs every file of test/regression, each contains tests, and none is a todo", async () => {
  const folder = join(projectFolder, "test/regression");
  // The files that Vitest finds with the configuration of npm test.
  const vitest = await createVitest("test", {
    root: projectFolder,
    watch: false,
    project: ["quick", "long"],
    reporters: [],
  });
  const modules = await vitest.parseSpecifications(await vitest.getRelevantTestSpecifications([`${folder}/`]));
  await vitest.close();
  const wrong: string[] = [];
  let tests = 0;
  const modes = new Map(
    modules.map(module => [
      basename(module.moduleId),
      [...module.children.allTests()].map(({ options }) => options.mode),
    ]),
  );
  const names = await readdir(folder);
  for (const name of names) {
    const found = modes.get(name);
    tests += found?.length ?? 0;
    if (found === undefined) wrong.push(`${name} is never run`);
    else if (!found.includes("run")) wrong.push(`${name} contains no test that runs on every system`);
    else if (found.includes("todo")) wrong.push(`${name} contains a todo`);
  }
  reportPromise({ row: "R14", tried: tests, failed: wrong.length, note: `${names.length} files; npm test runs them` });
  expect(names.length).toBeGreaterThan(0);
  expect(wrong).toEqual([]);
});
