import { join } from "node:path";
import { afterAll, vi } from "vitest";
import { launchBrowser } from "../helpers/browser.ts";
import {
  type AppDoubleOptions,
  type ElectronDouble,
  prepareElectron,
  standInSwitches,
} from "../helpers/electron-double.ts";

const built = join(import.meta.dirname, "../../dist/electron");

interface AppOptions extends AppDoubleOptions {
  readonly version?: string;
  /** The button that the person presses when asked. */
  readonly answer?: number;
  readonly args?: readonly string[];
}

const browser = await launchBrowser(standInSwitches);
afterAll(() => browser?.close());

/** Starts the app on the test double. `await using` quits it. */
export async function startApp(home: string, options: AppOptions = {}): Promise<ElectronDouble & AsyncDisposable> {
  const { version = "0.0.0-test", answer = 0, args = [], ...rest } = options;
  if (browser === undefined) throw new Error("no Chromium");
  const double = prepareElectron({ browser, home, ...rest });
  double.answer = () => answer;
  vi.stubEnv("REPOCONF_HOME", home);
  const { boot } = await import("../../main/electron/boot.ts");
  const { argv } = process;
  process.argv = [...argv.slice(0, 2), ...args];
  await boot({ version, folder: built }).finally(() => {
    process.argv = argv;
  });
  return Object.assign(double, {
    [Symbol.asyncDispose]: async () => {
      double.answer = () => 0;
      double.app.quit();
      await double.app.exited;
    },
  });
}
