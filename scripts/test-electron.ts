/** `npm run test:electron`: runs the desktop scenarios on Electron's real runtime, if it is installed. */
import { spawnSync } from "node:child_process";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { electronRuntime } from "./electron-runtime.ts";

if (electronRuntime() === undefined) {
  process.stdout.write(
    "skipped: Electron's runtime is not installed. The project `desktop` runs the same scenarios on a test double. To run them for real: npm run desktop, then npm run test:electron\n",
  );
} else {
  const vitest = join(dirname(createRequire(import.meta.url).resolve("vitest/package.json")), "vitest.mjs");
  const { status } = spawnSync(process.execPath, [vitest, "run", "--project", "electron"], { stdio: "inherit" });
  process.exitCode = status ?? 1;
}
