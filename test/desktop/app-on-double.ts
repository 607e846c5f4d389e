import { join } from "node:path";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, vi } from "vitest";
import { launchBrowser } from "../helpers/browser.ts";
import { type AppDouble, type ElectronDouble, prepareElectron, standInSwitches } from "../helpers/electron-double.ts";

const built = join(import.meta.dirname, "../../dist/electron");

interface AppOptions {
  readonly version?: string;
  readonly firstInstance?: boolean;
  /** The button that the person presses when asked. */
  readonly answer?: number;
  readonly args?: readonly string[];
  readonly whileStarting?: (app: AppDouble) => void;
}

/** Starts the app on the test double. `await using` quits it. */
export type StartApp = (home: string, options?: AppOptions) => Promise<ElectronDouble & AsyncDisposable>;

/** How the tests of a file start the app, in a browser that they share. */
export function appOnDouble(): StartApp {
  let browser: Browser | undefined;
  beforeAll(async () => {
    browser = await launchBrowser(standInSwitches);
  });
  afterAll(() => browser?.close());
  return async (home, { version = "0.0.0-test", answer = 0, args = [], ...rest } = {}) => {
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
  };
}
