import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { _electron, type ElectronApplication } from "playwright-core";
import { test } from "vitest";
import type { DesktopApp } from "./driver.ts";
import { desktopScenarios } from "./scenarios.ts";

/** Electron's own runtime: where ELECTRON_OVERRIDE_DIST_PATH says, else where `npm run desktop` puts it. */
function electronPath(): string | undefined {
  const folder = process.env["ELECTRON_OVERRIDE_DIST_PATH"];
  const name = process.platform === "win32" ? "electron.exe" : "electron";
  if (folder) return existsSync(join(folder, name)) ? join(folder, name) : undefined;
  try {
    const path: unknown = createRequire(import.meta.url)("electron");
    return typeof path === "string" && existsSync(path) ? path : undefined;
  } catch {
    return undefined;
  }
}

const executablePath = electronPath();
const main = join(import.meta.dirname, "../../dist/electron/main.js");

if (executablePath === undefined) {
  test.skip("skipped: no Electron runtime (get it with: npm run desktop, then: npm run test:electron)", () => {});
} else {
  desktopScenarios({ name: "on Electron", start: home => start(executablePath, home) });
}

async function start(path: string, home: string, args: readonly string[] = []): Promise<DesktopApp> {
  const env = { ...process.env, REPOCONF_HOME: home } as { [name: string]: string };
  const launch = (more: readonly string[]) =>
    _electron.launch({
      executablePath: path,
      args: [main, `--user-data-dir=${join(home, "..", "electron")}`, ...more],
      env,
    });
  const app: ElectronApplication = await launch(args);
  // Nobody is there to press a button: quit is what is asked for.
  await app.evaluate(({ dialog }) => {
    const asked: string[] = [];
    Object.assign(globalThis, { asked });
    dialog.showMessageBox = (async (options: { message: string }) => {
      asked.push(options.message);
      return { response: 0, checkboxChecked: false };
    }) as typeof dialog.showMessageBox;
  });
  const { promise: exited, resolve } = Promise.withResolvers<number>();
  let questions: string[] = [];
  app.process().once("exit", code => resolve(code ?? 1));
  const readQuestions = async () => {
    questions = await app.evaluate(() => [...(Reflect.get(globalThis, "asked") as string[])]).catch(() => questions);
    return questions;
  };
  return {
    page: () => app.firstWindow(),
    windowIsVisible: () =>
      app.evaluate(({ BrowserWindow }) => BrowserWindow.getAllWindows().some(window => window.isVisible())),
    closeWindow: () => app.evaluate(({ BrowserWindow }) => BrowserWindow.getAllWindows()[0]?.close()),
    startAgain: async more => {
      const second = await launch(more).catch(() => undefined);
      await second?.close().catch(() => {});
    },
    quit: async () => {
      await app.evaluate(({ app: electronApp }) => electronApp.quit()).catch(() => {});
      await readQuestions();
    },
    exited,
    webPreferences: () =>
      app.evaluate(({ BrowserWindow }) => {
        const [window] = BrowserWindow.getAllWindows();
        const contents = window?.webContents as unknown as { getLastWebPreferences(): { [name: string]: unknown } };
        return contents.getLastWebPreferences();
      }),
    questions: readQuestions,
    [Symbol.asyncDispose]: async () => {
      await app.close().catch(() => {});
    },
  };
}
