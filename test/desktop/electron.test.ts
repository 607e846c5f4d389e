import { join } from "node:path";
import { _electron, type ElectronApplication } from "playwright-core";
import { electronRuntime } from "../../scripts/electron-runtime.ts";
import { patience } from "../helpers/patience.ts";
import type { DesktopApp } from "./driver.ts";
import { desktopScenarios } from "./scenarios.ts";

const main = join(import.meta.dirname, "../../dist/electron/main.js");

// Run by scripts/test-electron.ts, which finds the runtime first.
const executablePath = electronRuntime();
if (executablePath === undefined) throw new Error("there is no Electron runtime; run: npm run test:electron");
desktopScenarios({ name: "on Electron", start: (home, args) => start(executablePath, home, args) });

async function start(path: string, home: string, args: readonly string[] = []): Promise<DesktopApp> {
  const env = { ...process.env, REPOCONF_HOME: home } as { [name: string]: string };
  const launch = (more: readonly string[]) =>
    _electron.launch({
      executablePath: path,
      args: [main, `--user-data-dir=${join(home, "..", "electron")}`, ...more],
      env,
      timeout: patience,
    });
  const app: ElectronApplication = await launch(args);
  // Nobody is there to press a button, so every question is answered with the first one, which quits.
  await app.evaluate(({ dialog }) => {
    const asked: string[] = [];
    Object.assign(globalThis, { asked });
    dialog.showMessageBox = (async (options: { message: string }) => {
      asked.push(options.message);
      return { response: 0, checkboxChecked: false };
    }) as typeof dialog.showMessageBox;
    dialog.showMessageBoxSync = ((_window: unknown, options: { message: string }) => {
      asked.push(options.message);
      return 0;
    }) as typeof dialog.showMessageBoxSync;
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
