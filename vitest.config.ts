import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    // Nothing is asserted about time: this only ends what hangs, also on a machine that has much else to do.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    // Vitest leaves a core free, which of two is half.
    maxWorkers: "100%",
    projects: [
      {
        extends: true,
        test: { name: "quick", include: ["test/{shared,main,regression}/**/*.test.ts"], typecheck: { enabled: false } },
      },
      { extends: true, test: { name: "screen", include: ["test/screen/**/*.test.ts"] } },
      { extends: true, test: { name: "e2e", include: ["test/e2e/**/*.test.ts"], testTimeout: 60_000 } },
    ],
  },
});
