import { availableParallelism } from "node:os";
import { join } from "node:path";
import { defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";
import { homesInMemory } from "./test/helpers/homes-in-memory.ts";
import { patience } from "./test/helpers/patience.ts";

/**
 * Each worker runs its test files in one process, so the product is loaded only once. Mocks, spies and environment variables are
 * restored after each test. Projects whose tests mock modules (`vi.mock`) need isolation and do not use this.
 */
const withoutIsolation = { isolate: false, restoreMocks: true, unstubEnvs: true };

/** The setup of projects whose homes are in memory. */
const memorySetup = "test/helpers/homes-in-memory.ts";

const commandTests = { maxConcurrency: 2, ...withoutIsolation };
const commandSetup = "test/helpers/compile-cache.ts";

/** `npm run torture` runs each promise with its full numbers, which takes long. */
const isTorture = process.env["REPOCONF_TORTURE"] === "1";

const promiseTests = {
  globalSetup: "test/helpers/unpack-browser.ts",
  ...(isTorture && { testTimeout: 40 * 60_000, hookTimeout: 40 * 60_000 }),
};

/** They switch off a guard of the product by `vi.mock`. */
const mockingPromises = ["test/promises/{s2,s3,s4,s20}-*.test.ts"];

/** Tests that `npm run test:quick` skips and `npm test` runs: each file takes seconds of CPU time. */
const longTests = [
  // They crash the store at every step, or run servers.
  "test/main/store/{absent-work-tree,eviction,history-model,interleavings,large-file,many-repositories,renamed-fields,repository-index,rules-at-stop}.test.ts",
  "test/main/store/history/{crashes,forget}.test.ts",
  "test/main/store/shared/*.test.ts",
  "test/main/daemon/{copy-log,file-text,guard-settings,history-search,positions,scopes,search,starvation}.test.ts",
  "test/main/daemon/{worktree-identity,worktrees}.test.ts",
  "test/main/client/{watch,watch-positions}.test.ts",
  "test/main/home/restore.test.ts",
  "test/main/scopes/{ignored-rules,translate-schema}.test.ts",
  "test/main/files/json-text.test.ts",
  "test/scripts/mutants.test.ts",
  "test/shared/schema/compile-schema.test.ts",
];

/** Puts the quick tests last, so that no long file runs alone at the end. */
class QuickLast extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const isQuick = ({ project }: TestSpecification) => Number(project.name === "quick");
    return (await super.sort(files)).toSorted((one, other) => isQuick(one) - isQuick(other));
  }
}

export default defineConfig({
  test: {
    sequence: { sequencer: QuickLast },
    // Tests assert no durations. This only stops a test that hangs, and later than its own waits, which say what they wait for.
    testTimeout: 4 * patience,
    hookTimeout: 4 * patience,
    // Tests spend more time waiting for processes, disks and browsers than computing.
    maxWorkers: availableParallelism() * 2,
    projects: [
      {
        extends: true,
        test: {
          name: "quick",
          include: ["test/{shared,main,docs,scripts}/**/*.test.ts"],
          exclude: longTests,
          globalSetup: memorySetup,
          env: homesInMemory,
          ...withoutIsolation,
        },
      },
      { extends: true, test: { name: "long", include: longTests, ...withoutIsolation } },
      {
        extends: true,
        test: {
          name: "screen",
          include: ["test/screen/**/*.test.ts"],
          globalSetup: ["test/helpers/unpack-browser.ts", memorySetup],
          env: homesInMemory,
          ...withoutIsolation,
        },
      },
      {
        extends: true,
        // Runs the shell's real code against a test double of Electron, because many machines cannot download its runtime.
        resolve: { alias: { electron: join(import.meta.dirname, "test/helpers/electron-double.ts") } },
        test: {
          name: "desktop",
          include: ["test/desktop/{double,shell}.test.ts"],
          globalSetup: "test/helpers/unpack-browser.ts",
        },
      },
      {
        extends: true,
        // S11 reads the desktop shell's real options.
        resolve: { alias: { electron: join(import.meta.dirname, "test/helpers/electron-double.ts") } },
        test: {
          name: "promises",
          include: ["test/promises/**/*.test.ts"],
          exclude: mockingPromises,
          ...promiseTests,
          ...withoutIsolation,
          // Its figures do not depend on what ran before.
          isolate: isTorture,
        },
      },
      { extends: true, test: { name: "promises-mocking", include: mockingPromises, ...promiseTests } },
      { extends: true, test: { name: "electron", include: ["test/desktop/electron.test.ts"] } },
      { extends: true, test: { name: "packing", include: ["test/packing/**/*.test.ts"] } },
      {
        extends: true,
        test: {
          name: "e2e",
          include: ["test/e2e/**/*.test.ts"],
          globalSetup: [commandSetup, memorySetup],
          env: homesInMemory,
          ...commandTests,
        },
      },
      {
        extends: true,
        // Runs these tests again over the TCP port, as on systems without Unix sockets, and with a process for each command.
        test: {
          name: "e2e-port",
          include: [
            "test/e2e/{backup,cli-*,edit,exact-values,export-import,service,shared-log,status,value-places}.test.ts",
          ],
          globalSetup: commandSetup,
          env: { REPOCONF_TEST_CHANNEL: "port" },
          ...commandTests,
        },
      },
    ],
  },
});
