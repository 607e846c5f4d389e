import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { startTestDaemon, until } from "../helpers/daemon.ts";
import { connect } from "../helpers/patient-client.ts";
import { screenFolder } from "../helpers/screen.ts";
import { temporaryFolder } from "../helpers/temporary-folder.ts";
import type { DesktopDriver } from "./driver.ts";

/** The address of the screen: by the app's own scheme, or by its substitute on the test double. */
const ownScreen = /^(repoconf-screen:\/\/app|http:\/\/app\.repoconf-screen\.localhost)\/$/;

/** The six scenarios of the desktop app, shared by the test double and the real runtime so that these cannot drift apart. */
export function desktopScenarios(driver: DesktopDriver): void {
  test(`${driver.name}: boot order: the daemon starts and proves its identity before the window connects to it, with the app's own screen, isolated from everything else`, async () => {
    await using folder = await temporaryFolder();
    const home = join(folder.path, "home");
    await using app = await driver.start(home);
    const page = await app.page();
    await page.getByRole("heading", { name: "No repository yet" }).waitFor();
    expect(page.url()).toMatch(ownScreen);
    expect(await app.webPreferences()).toMatchObject({
      contextIsolation: true,
      sandbox: true,
      nodeIntegration: false,
      nodeIntegrationInSubFrames: false,
      webSecurity: true,
      webviewTag: false,
    });
    // The page has a session, but no access to the owner's key or to Node.
    const ownerKey = (await readFile(join(home, "owner.key"), "utf8")).trim();
    const seen = await page.evaluate<{ node: string; bridge: string[]; stored: string }>(`({
      node: typeof window.require + " " + typeof window.process,
      bridge: Object.keys(window.repoconf ?? {}),
      stored: JSON.stringify(sessionStorage) + document.documentElement.outerHTML,
    })`);
    expect(seen.node).toBe("undefined undefined");
    expect(seen.bridge).toEqual(["session", "chooseFolder", "firstLink", "onNavigate", "onCommand", "onLeave"]);
    expect(seen.stored).not.toContain(ownerKey);
    // It cannot navigate away either.
    await page.evaluate(
      `location.href = "http://localhost:1/elsewhere"; window.open("http://localhost:1/window"); undefined`,
    );
    await page.getByRole("heading", { name: "No repository yet" }).waitFor();
    expect(page.url()).toMatch(ownScreen);
    await until(() => page.context().pages().length === 1, "the other window to close");
  });

  test(`${driver.name}: attach: a daemon already running on the home is used, and keeps running with its tools when the app quits, which asks nothing`, async () => {
    await using t = await startTestDaemon({ screenFolder });
    await t.addRepository("shop");
    await using app = await driver.start(t.homeFolder);
    const page = await app.page();
    await page.getByRole("treeitem", { name: "shop" }).waitFor();
    expect(page.url()).toMatch(ownScreen);
    await app.quit();
    expect(await app.exited).toBe(0);
    expect(await app.questions()).toEqual([]);
    expect((await t.owner.call("config/list", { repo: "shop" })).errors).toEqual([]);
    // The app's session ended with it.
    expect((await t.owner.call("key/list")).result).toEqual([]);
  });

  test(`${driver.name}: second instance: another start shows the window, passes on its link, and starts nothing`, async () => {
    await using folder = await temporaryFolder();
    await using app = await driver.start(folder.path);
    const page = await app.page();
    using client = await connect({ home: folder.path });
    await client.run("repo/add", { name: "shop", id: "shop" });
    await page.getByRole("treeitem", { name: "shop" }).waitFor();
    await app.closeWindow();
    await app.startAgain(["repoconf://repo/shop"]);
    await until(() => app.windowIsVisible(), "the window");
    await page.getByRole("heading", { name: "shop", level: 1 }).waitFor();
  });

  test(`${driver.name}: close to tray: the window closes, the daemon keeps running, and the window comes back unchanged`, async () => {
    await using folder = await temporaryFolder();
    await using app = await driver.start(folder.path);
    const page = await app.page();
    await page.getByRole("heading", { name: "No repository yet" }).waitFor();
    await app.closeWindow();
    await until(async () => !(await app.windowIsVisible()), "the window to close");
    using client = await connect({ home: folder.path });
    await client.run("repo/add", { name: "shop", id: "shop" });
    expect((await client.set("shop", { "svc.timeout": 5 }))?.revision).toBe(2);
    await app.startAgain([]);
    await until(() => app.windowIsVisible(), "the window");
    await page.getByRole("treeitem", { name: "shop" }).waitFor();
  });

  test(`${driver.name}: deep link: opens a repository and a field, and writes nothing; invalid links are ignored`, async () => {
    await using folder = await temporaryFolder();
    await withRepository(folder.path);
    await using app = await driver.start(folder.path, ["repoconf://repo/shop/svc.timeout"]);
    const page = await app.page();
    await page.getByRole("heading", { level: 3, name: "Timeout" }).waitFor();
    using client = await connect({ home: folder.path });
    await app.startAgain(["repoconf://repo/shop/svc.domain"]);
    await until(
      async () =>
        (await page.getByRole("region", { name: "Domain", exact: true }).getAttribute("aria-current")) === "true",
      "the field to be chosen",
    );
    const revision = async () => (await client.request("config/list", { repo: "shop" })).revision;
    for (const link of ["repoconf://set/shop/svc.timeout/5", "repoconf://repo/shop/svc.timeout/5"])
      await app.startAgain([link]);
    expect(await revision()).toBe(1);
    await page.getByRole("heading", { level: 3, name: "Timeout" }).waitFor();
    await app.startAgain(["repoconf://repo/../x"]);
    await page.getByText("There is no repository x.").waitFor();
  });

  test(`${driver.name}: quit during a write: acknowledged sets are kept, and a question mentions connected tools`, async () => {
    await using folder = await temporaryFolder();
    await using app = await driver.start(folder.path);
    await (await app.page()).getByRole("heading", { name: "No repository yet" }).waitFor();
    const client = await connect({ home: folder.path });
    await client.run("repo/add", { name: "shop", id: "shop" });
    const sets = Array.from({ length: 20 }, (_, index) =>
      client.set("shop", { "svc.timeout": index + 1 }).then(
        changed => changed?.revision ?? 0,
        () => 0,
      ),
    );
    await app.quit();
    const acknowledged = Math.max(...(await Promise.all(sets)));
    expect(await app.exited).toBe(0);
    client.close();
    expect(await app.questions()).toContain("A tool is connected.");
    await using t = await startTestDaemon({ home: folder.path });
    const { revision } = await t.owner.call("config/list", { repo: "shop" });
    expect(revision).toBeGreaterThanOrEqual(acknowledged);
  });
}

/** Adds a repository to the home before the app starts. */
export async function withRepository(home: string): Promise<void> {
  await using t = await startTestDaemon({ home });
  await t.addRepository("shop");
}
