import { execFileSync, spawnSync } from "node:child_process";
import { mkdir, readFile, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { type MutantsRun, runMutants } from "../../scripts/mutants/run-mutants.ts";
import { usesBuild } from "../../scripts/mutants/uses-build.ts";
import { temporaryFolder } from "../helpers/temporary-folder.ts";
import type { Edit, Mutant } from "../mutants/mutant.ts";

const files = {
  ".gitignore": "node_modules\n",
  "package.json": `{ "type": "module", "scripts": { "build": "node build.js" } }`,
  // Copies the file instead of bundling it.
  "build.js": `import { cpSync } from "node:fs"; cpSync("main/sum.js", "dist/repoconf.js");`,
  "main/sum.js": "export const sum = (one, other) => one + other;\nexport const unused = 1;\n",
  "test/sum.test.js": `import { expect, test } from "vitest";
import { sum } from "../main/sum.js";
test("adds (two)", () => expect(sum(1, 2)).toBe(3));
test("is red anyway", () => expect(sum(1, 2)).toBe(4));`,
  "test/built.test.js": `import { expect, test } from "vitest";
test("adds when built", async () => expect((await import("../dist/repoconf.js")).sum(1, 2)).toBe(3));
test("runs when it adds", async () => { while ((await import("../dist/repoconf.js")).sum(1, 2) !== 3); });`,
};

/** A project with one function, for which the tests have mutants. */
async function sampleProject(): Promise<AsyncDisposable & { readonly path: string }> {
  const folder = await temporaryFolder();
  for (const [file, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder.path, file)), { recursive: true });
    await writeFile(join(folder.path, file), text);
  }
  execFileSync("git", ["init", "-q", folder.path]);
  await symlink(join(import.meta.dirname, "../../node_modules"), join(folder.path, "node_modules"), "junction");
  return folder;
}

function mutant(removed: string, edit: Partial<Edit>, kill: Partial<Pick<Mutant, "test" | "name">> = {}): Mutant {
  const [file, test, name] = ["main/sum.js", "test/sum.test.js", "adds (two)"];
  return { promise: "R1", removed, file, find: "one + other", replace: "one - other", test, name, ...edit, ...kill };
}

async function statuses(run: Omit<MutantsRun, "copies">): Promise<Record<string, string>> {
  const results = await runMutants({ copies: 2, ...run });
  return Object.fromEntries(results.map(({ mutant, status }) => [mutant.removed, status]));
}

test("a mutant is killed only by its own test, which must pass without it", async () => {
  await using project = await sampleProject();
  const unmutated: string[] = [];
  const mutants = [
    mutant("the sum", {}),
    mutant("nothing that counts", { find: "unused = 1", replace: "unused = 2" }),
    mutant("what is not there", { find: "one * other" }),
    mutant("what is there twice", { find: "export const" }),
    mutant("what a red test checks", {}, { name: "is red anyway" }),
    mutant("what no test checks", {}, { name: "subtracts" }),
    mutant("what lets it load", { replace: "one +" }),
    mutant("the built sum", {}, { test: "test/built.test.js", name: "when" }),
  ];
  const onUnmutated = (name: string, { kind }: { readonly kind: string }) => unmutated.push(`${name}: ${kind}`);
  expect(await statuses({ project: project.path, mutants, onUnmutated })).toEqual({
    "the sum": "killed",
    "nothing that counts": "SURVIVED",
    "what is not there": "does not apply",
    "what is there twice": "does not apply",
    "what a red test checks": "red unmutated",
    "what no test checks": "red unmutated",
    "what lets it load": "error",
    "the built sum": "killed",
  });
  // Each test runs once unmutated, however many mutants name it.
  expect(unmutated.sort()).toEqual([
    "test/built.test.js: when: passed",
    "test/sum.test.js: adds (two): passed",
    "test/sum.test.js: is red anyway: failed",
    "test/sum.test.js: subtracts: error",
  ]);
  expect(await readFile(join(project.path, "main/sum.js"), "utf8")).toBe(files["main/sum.js"]);
});

test("a mutant that hangs is killed, and reported differently from a failed test", async () => {
  await using project = await sampleProject();
  const mutants = [mutant("the end", { find: "=> one + other", replace: "=> { for (;;); }" })];
  expect(await statuses({ project: project.path, mutants, timeout: () => 1_000 })).toEqual({
    "the end": "killed by timeout",
  });
});

test("mutants are listed without a run: their promise, what they remove, and the test that must fail", () => {
  const list = (...promises: readonly string[]) => {
    const { status, stdout, stderr } = spawnSync(process.execPath, ["scripts/mutants.ts", "--list", ...promises], {
      cwd: join(import.meta.dirname, "../.."),
      encoding: "utf8",
    });
    return { status, stdout, stderr };
  };
  const listed = list("R3");
  expect(listed).toMatchObject({ status: 0, stderr: "" });
  expect(listed.stdout).toContain("R3: the sync of the file\n    test/promises/r3-power-loss.test.ts\n");
  expect(listed.stdout).not.toContain("S6");
  expect(list("R3", "R99")).toEqual({
    status: 1,
    stdout: "",
    stderr: expect.stringMatching(/^There is no mutant of R99\. Usage: .*\nPromises with mutants: .*R3.*\.\n$/),
  });
});

test.each([
  ["test/e2e/status.test.ts", true],
  ["test/screen/edits.test.ts", true],
  ["test/promises/s3-foreign-pages.test.ts", true],
  ["test/promises/s11-desktop-shell.test.ts", true],
  ["test/promises/r3-power-loss.test.ts", false],
  ["test/main/daemon/set.test.ts", false],
])("whether a test needs dist/ is read from what it imports: %s, %s", async (file, wanted) => {
  expect(await usesBuild(join(import.meta.dirname, "../.."), file)).toBe(wanted);
});
