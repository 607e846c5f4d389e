import { availableParallelism } from "node:os";
import { join } from "node:path";
import { defineConfig } from "vitest/config";

/**
 * Each worker runs its files in one process, which loads the product once; mocks, spies and variables are taken back after
 * each test. Projects without this have files that replace modules.
 */
const oneProcess = { isolate: false, restoreMocks: true, unstubEnvs: true };

const commands = { maxConcurrency: 2, globalSetup: "test/helpers/compile-cache.ts", ...oneProcess };

/**
 * What `npm run test:quick` leaves to `npm test`: the tests of bugs that were, those of the store, with crashes at every step and
 * thousands of repositories, and others that take seconds of the processor each.
 */
const long = [
  "test/regression/**/*.test.ts",
  "test/main/daemon/starvation.test.ts",
  "test/main/daemon/search.test.ts",
  "test/main/daemon/shared-log*.test.ts",
  "test/main/daemon/history-search.test.ts",
  "test/main/daemon/transport-limits.test.ts",
  "test/main/daemon/bad-arguments.property.test.ts",
  "test/main/daemon/store/**/*.test.ts",
  "test/main/files/json-text.test.ts",
  "test/scripts/mutants.test.ts",
  "test/shared/schema/compile-schema.test.ts",
];

export default defineConfig({
  test: {
    // Nothing is asserted about time: this only ends what hangs, also on a machine that has much else to do.
    testTimeout: 180_000,
    hookTimeout: 180_000,
    // Most tests wait for processes, disks and browsers more than they compute.
    maxWorkers: availableParallelism() * 2,
    projects: [
      {
        extends: true,
        test: {
          name: "quick",
          include: ["test/{shared,main,docs,scripts}/**/*.test.ts"],
          exclude: long,
          ...oneProcess,
        },
      },
      { extends: true, test: { name: "long", include: long, ...oneProcess } },
      {
        extends: true,
        test: {
          name: "screen",
          include: ["test/screen/**/*.test.ts"],
          globalSetup: "test/helpers/unpack-browser.ts",
          ...oneProcess,
        },
      },
      {
        extends: true,
        // The shell's real code on a double of Electron, whose runtime many machines cannot get.
        resolve: { alias: { electron: join(import.meta.dirname, "test/helpers/electron-double.ts") } },
        test: {
          name: "desktop",
          include: ["test/desktop/{double,shell}.test.ts"],
          globalSetup: "test/helpers/unpack-browser.ts",
        },
      },
      {
        extends: true,
        // For S11, which reads the real options of the desktop shell.
        resolve: { alias: { electron: join(import.meta.dirname, "test/helpers/electron-double.ts") } },
        test: {
          name: "promises",
          include: ["test/promises/**/*.test.ts"],
          globalSetup: "test/helpers/unpack-browser.ts",
          // The full numbers take their time.
          ...(process.env["REPOCONF_TORTURE"] === "1" && { testTimeout: 40 * 60_000, hookTimeout: 40 * 60_000 }),
        },
      },
      { extends: true, test: { name: "electron", include: ["test/desktop/electron.test.ts"] } },
      { extends: true, test: { name: "packing", include: ["test/packing/**/*.test.ts"] } },
      { extends: true, test: { name: "e2e", include: ["test/e2e/**/*.test.ts"], ...commands } },
      {
        extends: true,
        // Once more by the port, where commands have no Unix socket.
        test: {
          name: "e2e-port",
          include: ["test/e2e/{cli-*,export-import,status}.test.ts"],
          env: { REPOCONF_TEST_CHANNEL: "port" },
          ...commands,
        },
      },
    ],
  },
});
