import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Browser } from "playwright-core";
import { afterAll, describe, test, vi } from "vitest";
import { launchBrowser } from "../helpers/browser.ts";
import { prepareElectron, preventable, standInSwitches } from "../helpers/electron-double.ts";
import { judge } from "../helpers/promise.ts";
import { titleWith } from "../helpers/skips.ts";
import { projectFolder } from "../helpers/spawned-daemon.ts";
import { temporaryFolder } from "../helpers/temporary-folder.ts";

const browser: Browser | undefined = await launchBrowser(standInSwitches);
afterAll(() => browser?.close());

/** Each item of Electron's security checklist that is an option, with its required value; null: it must not be set. */
const options: readonly (readonly [point: string, name: string, value: boolean | null])[] = [
  ["2 no Node.js in the page", "nodeIntegration", false],
  ["2 no Node.js in frames", "nodeIntegrationInSubFrames", false],
  ["2 no Node.js in workers", "nodeIntegrationInWorker", false],
  ["3 context isolation", "contextIsolation", true],
  ["4 sandbox", "sandbox", true],
  ["6 web security", "webSecurity", true],
  ["8 no insecure content", "allowRunningInsecureContent", false],
  ["9 no experimental features", "experimentalFeatures", false],
  ["10 no Blink features", "enableBlinkFeatures", null],
  ["11 no webviews", "webviewTag", false],
  ["13 no navigation by dropping a file", "navigateOnDragDrop", false],
  ["no remote debugging tools of its own", "additionalArguments", null],
  ["no session of its own beside the one that denies", "partition", null],
];

/** The required fuses of the packed app (checklist, item 19). */
const fuses: readonly (readonly [name: string, value: boolean])[] = [
  ["runAsNode", false],
  ["enableNodeOptionsEnvironmentVariable", false],
  ["enableNodeCliInspectArguments", false],
  ["enableEmbeddedAsarIntegrityValidation", true],
  ["onlyLoadAppFromAsar", true],
  ["grantFileProtocolExtraPrivileges", false],
];

const title = titleWith(browser !== undefined, "Chromium", "the desktop shell, with the double of Electron");

describe.skipIf(browser === undefined)(title, () => {
  // Pages that really try to navigate away, the bridge and the boot are tested in test/desktop/: scenarios.ts and shell.test.ts.
  test("S11 Electron is locked down: the options that the shell really passes, its handlers, and the fuses", async () => {
    if (browser === undefined) throw new Error("there is no browser");
    await using folder = await temporaryFolder();
    const home = join(folder.path, "home");
    vi.stubEnv("REPOCONF_HOME", home);
    const double = prepareElectron({ browser, home });
    const { boot } = await import("../../main/electron/boot.ts");
    await boot({ version: "0.0.0-test", folder: join(projectFolder, "dist/electron") });
    const wrong: string[] = [];
    let tried = 0;
    const check = (point: string, holds: boolean) => {
      tried++;
      if (!holds) wrong.push(point);
    };
    try {
      const [window, ...more] = double.windows;
      if (window === undefined) throw new Error("there is no window");
      check("one window", more.length === 0);
      const { webPreferences } = window.options;
      for (const [point, name, value] of options)
        check(point, value === null ? !(name in webPreferences) : webPreferences[name] === value);

      const own = window.webContents.mainFrame.url;
      check("1 and 18 loaded by the app's own scheme, from its own files", own === "repoconf-screen://app/");
      for (const { privileges } of double.schemes) {
        check("18 the scheme counts as secure", privileges["secure"] === true);
        check("18 it bypasses no policy", privileges["bypassCSP"] !== true);
      }
      check("the window has the partition that denies", webPreferences.session === double.sessions[1]);

      const kinds = ["media", "geolocation", "notifications", "clipboard-read", "openExternal", "usb"];
      const partitions = double.sessions.map(({ partition }) => partition ?? "the default session");
      check("5 the partitions", partitions.join() === "the default session,screen");
      for (const { partition, permissions } of double.sessions) {
        check("5 every session denies", Object.keys(permissions).length === 3);
        const request = permissions.request as (...given: [unknown, string, (yes: boolean) => void]) => void;
        const has = permissions.check as (contents: unknown, kind: string) => unknown;
        for (const kind of kinds) {
          const answers: boolean[] = [];
          request({}, kind, yes => answers.push(yes));
          check(`5 ${kind} is refused`, answers.join() === "false");
          check(`5 ${kind} is not had`, has({}, kind) === false);
        }
        const mayReach = has({}, "loopback-network");
        check("5 the screen's partition alone reaches the loopback", mayReach === (partition === "screen"));
        check("5 no device", (permissions.device as () => unknown)() === false);
      }

      const asks = (event: string, url: string, isMainFrame: boolean) => {
        const details = Object.assign(preventable(), { url, isMainFrame });
        window.webContents.emit(event, details);
        return details.isPrevented;
      };
      const elsewhere = [
        "https://evil.example/",
        `http://127.0.0.1:1/`,
        "http://localhost:7420/",
        "http://127.0.0.1:7420/",
        "repoconf-screen://evil/",
        "repoconf-screen://app.evil.example/",
        "repoconf-screen://app@evil.example/",
        "repoconf-screen:app",
        "file:///etc/passwd",
        "data:text/html,x",
        "javascript:alert(1)",
        "blob:null/x",
        "about:blank",
        "repoconf://repo/shop",
        "chrome://gpu",
        "not an address",
      ];
      for (const url of elsewhere) {
        check(`13 no navigation to ${url}`, asks("will-navigate", url, true));
        check(`13 no redirect to ${url}`, asks("will-redirect", url, true));
        check(`13 no frame of ${url}`, asks("will-frame-navigate", url, false));
        check(`14 no window of ${url}`, window.webContents.openHandler({ url }).action === "deny");
      }
      check("14 no window of its own address", window.webContents.openHandler({ url: own }).action === "deny");
      check("12 no webview is attached", asks("will-attach-webview", "", true));

      check("17 there are native calls", double.handlers.size > 0);
      const strangers = [null, { url: own }, { url: "https://evil.example/" }, undefined];
      for (const [name, handler] of double.handlers) {
        for (const senderFrame of strangers) {
          const ask = async () => handler({ senderFrame });
          const refused = await ask().then(
            () => false,
            () => true,
          );
          check(`17 ${name} for ${JSON.stringify(senderFrame)}`, refused);
        }
      }
    } finally {
      double.app.quit();
      await double.app.exited;
    }
    const fusesNote = await checkFuses(check);
    judge("S11", tried, wrong, `on the test double of Electron; ${fusesNote}`);
  });
});

/** The fuses are set when the app is packed; until then, the missing check is reported, not hidden. */
async function checkFuses(check: (point: string, holds: boolean) => void): Promise<string> {
  const file = join(projectFolder, "electron-builder.yml");
  if (!existsSync(file)) return "fuses not checked: the app is not packed yet";
  const text = await readFile(file, "utf8");
  for (const [name, value] of fuses)
    check(`19 fuse ${name}`, new RegExp(`^\\s+${name}:\\s*${value}\\s*$`, "m").test(text));
  return `${fuses.length} fuses read from electron-builder.yml`;
}
