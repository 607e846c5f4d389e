import { join } from "node:path";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, vi } from "vitest";
import { launchBrowser } from "../helpers/browser.ts";
import { prepareElectron, standInSwitches } from "../helpers/electron-double.ts";
import type { DesktopApp } from "./driver.ts";
import { desktopScenarios } from "./scenarios.ts";

let browser: Browser | undefined;
beforeAll(async () => {
  browser = await launchBrowser(standInSwitches);
});
afterAll(() => browser?.close());

const built = join(import.meta.dirname, "../../dist/electron");

async function start(home: string, args: readonly string[] = []): Promise<DesktopApp> {
  if (browser === undefined) throw new Error("no Chromium");
  const double = prepareElectron({ browser, home });
  vi.stubEnv("REPOCONF_HOME", home);
  const { boot } = await import("../../main/electron/boot.ts");
  const argv = process.argv;
  process.argv = [...argv.slice(0, 2), ...args];
  await boot({ version: "0.0.0-test", folder: built }).finally(() => {
    process.argv = argv;
  });
  const window = () => {
    const [first] = double.windows;
    if (first === undefined) throw new Error("there is no window");
    return first;
  };
  return {
    page: () => window().page,
    windowIsVisible: async () => window().visible,
    closeWindow: async () => window().close(),
    startAgain: async more => void double.app.emit("second-instance", {}, ["electron", ...more]),
    quit: async () => double.app.quit(),
    exited: double.app.exited,
    webPreferences: async () => window().options.webPreferences,
    questions: async () => double.dialogs.map(({ message }) => message),
    [Symbol.asyncDispose]: async () => {
      double.app.quit();
      await double.app.exited;
    },
  };
}

desktopScenarios({ name: "on the double", start });
