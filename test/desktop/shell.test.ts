import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Locator, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { startTestDaemon, until } from "../helpers/daemon.ts";
import type { AppDouble, ElectronDouble } from "../helpers/electron-double.ts";
import { connect } from "../helpers/patient-client.ts";
import { temporaryFolder } from "../helpers/temporary-folder.ts";
import { startApp } from "./app-on-double.ts";
import { withRepository } from "./scenarios.ts";

const link = "repoconf://repo/shop";

describe("a started app", () => {
  let app: ElectronDouble;
  const opened = new AsyncDisposableStack();
  beforeAll(async () => {
    const folder = opened.use(await temporaryFolder());
    app = opened.use(await startApp(folder.path));
  });
  afterAll(() => opened.disposeAsync());

  test("booted in order: lock, scheme, ready, menu, tray, window", async () => {
    expect(app.calls).toEqual(["lock", "scheme", "ready", "menu", "tray", "window", "load"]);
  });

  test("the window loads the app's own screen by a custom scheme, in an in-memory partition", async () => {
    const [window] = app.windows;
    const [, partition] = app.sessions;
    expect(window?.options.webPreferences.session).toBe(partition);
    // Electron keeps a partition on disk if its name begins with persist:.
    expect(partition?.partition).not.toMatch(/^persist:/);
    expect(app.schemes).toEqual([
      { scheme: "repoconf-screen", privileges: { standard: true, secure: true, supportFetchAPI: true } },
    ]);
    expect(window?.webContents.mainFrame.url).toBe("repoconf-screen://app/");
    const ask = async (url: string, method = "GET") => {
      const answer = await partition?.schemes.get("repoconf-screen")?.({ url, method });
      return { status: answer?.status, policy: answer?.headers.get("content-security-policy") };
    };
    const page = await ask("repoconf-screen://app/");
    expect(page.status).toBe(200);
    expect(page.policy).toContain("connect-src 'self' ws://127.0.0.1:*;");
    for (const url of [
      "repoconf-screen://other/",
      "repoconf-screen://app/../../package.json",
      "repoconf-screen://app/x",
    ])
      expect((await ask(url)).status).toBe(404);
    expect((await ask("repoconf-screen://app/", "POST")).status).toBe(404);
  });

  test("a native call is answered only to the window's own page", async () => {
    const own = app.windows[0]?.webContents.mainFrame;
    const handler = app.handlers.get("session");
    expect(await handler?.({ senderFrame: own })).toEqual({
      url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/),
      id: expect.any(String),
      secret: expect.stringMatching(/^[0-9a-f]{64}$/),
    });
    for (const senderFrame of [null, { url: own?.url }, { url: "http://localhost:1/" }])
      expect(() => handler?.({ senderFrame })).toThrow("is not allowed to call");
  });
});

test("a daemon that restarts on another port is found again: the window reconnects, and keeps its place and its edits", async () => {
  await using t = await startTestDaemon();
  await t.addRepository("shop");
  await using app = await startApp(t.homeFolder, { args: [link] });
  const page = await showsShop(app);
  await page.getByRole("textbox", { name: "Provider" }).fill("here");
  const before = t.url;
  await t.restart();
  expect(t.url).not.toBe(before);
  await until(async () => (await t.owner.call("key/list")).result.length === 1, "the window's new session");
  await page.getByText("Connected", { exact: true }).waitFor();
  await t.owner.call("config/set", { repo: "shop", "svc.timeout": 77 });
  await has(page.getByRole("spinbutton", { name: "Timeout" }), "77");
  expect(await page.getByRole("textbox", { name: "Provider" }).inputValue()).toBe("here");
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await until(
    async () => (await t.owner.call("config/list", { repo: "shop" })).result["svc"]?.["provider"] === "here",
    "the edit to be saved",
  );
});

test("a window whose session has ended gets a new one and continues", async () => {
  await using t = await startTestDaemon();
  await t.addRepository("shop");
  await using app = await startApp(t.homeFolder, { args: [link] });
  const page = await showsShop(app);
  const sessions = async () => (await t.owner.call("key/list")).result.map(({ id }) => id);
  const [first = ""] = await sessions();
  await t.owner.call("key/revoke", { id: first });
  await until(async () => (await sessions()).length === 1, "another session");
  await t.owner.call("config/set", { repo: "shop", "svc.timeout": 77 });
  await has(page.getByRole("spinbutton", { name: "Timeout" }), "77");
});

test("a second instance exits immediately and starts nothing", async () => {
  await using folder = await temporaryFolder();
  const home = join(folder.path, "home");
  const app = await startApp(home, { firstInstance: false });
  expect(app.calls).toEqual(["lock", "quit"]);
  expect(await app.app.exited).toBe(0);
  await expect(readFile(join(home, "daemon.json"))).rejects.toMatchObject({ code: "ENOENT" });
});

test("the app offers to restart an older daemon on the home, and uses it as it is if the person prefers", async () => {
  await using t = await startTestDaemon({ onStop: () => void t.daemon.close() });
  {
    await using app = await startApp(t.homeFolder, { version: "9.0.0", answer: 1 });
    expect(app.dialogs[0]?.message).toContain("older Repoconf");
    using client = await connect({ home: t.homeFolder });
    expect((await client.run("daemon/status", {})).version).toBe("0.0.0-test");
  }
  await using _app = await startApp(t.homeFolder, { version: "9.0.0", answer: 0 });
  using client = await connect({ home: t.homeFolder });
  expect((await client.run("daemon/status", {})).version).toBe("9.0.0");
});

test("a file that breaks is notified once, and a click opens it", async () => {
  await using folder = await temporaryFolder();
  await using app = await startApp(folder.path);
  using client = await connect({ home: folder.path });
  await client.run("repo/add", { name: "shop", id: "shop" });
  const file = join(folder.path, "repos/shop.json");
  await writeFile(file, "{ broken");
  await until(() => app.notifications.length === 1, "the notification");
  expect(app.notifications[0]?.title).toBe("shop: its file is invalid");
  app.notifications[0]?.emit("click");
  await showsShop(app);
});

test("the window comes back at its position, and start at login is an entry that the app creates and reads again", async () => {
  await using folder = await temporaryFolder();
  vi.stubEnv("XDG_CONFIG_HOME", join(folder.path, "config"));
  const home = join(folder.path, "home");
  {
    await using app = await startApp(home);
    app.windows[0]?.close();
    const item = app.trays[0]?.items.find(({ label }) => label === "Start at login");
    expect(item?.checked).toBe(false);
    item?.click?.({ checked: true });
    await until(() => app.trays[0]?.items.some(({ checked }) => checked === true) === true, "the entry");
    await until(
      async () => (await readFile(join(home, "desktop.json"), "utf8").catch(() => "")) !== "",
      "the position to be saved",
    );
  }
  if (process.platform === "linux") {
    const entry = await readFile(join(folder.path, "config/autostart/repoconf.desktop"), "utf8");
    expect(entry.split("\n")).toContain("[Desktop Entry]");
    // Uninstalling removes the program but not this file: desktops skip an entry whose TryExec does not exist.
    expect(entry.split("\n")).toContain(`TryExec=${process.execPath}`);
  }
  await using again = await startApp(home);
  expect(again.windows[0]?.options).toMatchObject({ x: 40, y: 30, width: 1000, height: 700 });
  await until(() => again.trays[0]?.items.some(({ checked }) => checked === true) === true, "the tray to show it");
});

test.each([
  ["the link with which macOS starts the app", (app: AppDouble) => app.emit("open-url", { preventDefault() {} }, link)],
  ["the link of a second instance", (app: AppDouble) => app.emit("second-instance", {}, ["electron", link])],
])("%s is opened, even if it arrives before the daemon runs", async (_name, whileStarting) => {
  await using folder = await temporaryFolder();
  await withRepository(folder.path);
  // A start at login opens no window, but anyone who opens a link wants one.
  await using app = await startApp(folder.path, { whileStarting, args: ["--hidden"] });
  await showsShop(app);
});

test("a link that arrives while the page loads is opened too, in the same window", async () => {
  await using folder = await temporaryFolder();
  await withRepository(folder.path);
  await using app = await startApp(folder.path, { args: ["--hidden"] });
  app.app.emit("second-instance", {}, ["electron"]);
  app.app.emit("second-instance", {}, ["electron", link]);
  await until(() => app.windows.length > 0, "the window");
  await showsShop(app);
  expect(app.windows).toHaveLength(1);
});

/** Waits until the daemon has stored a draft of this value on disk. */
async function untilDraft(home: string, value: string): Promise<void> {
  const read = () => readFile(join(home, "drafts.json"), "utf8").catch(() => "");
  await until(async () => (await read()).includes(JSON.stringify(value)), "the draft");
}

test("quitting asks about edits that would be lost: the person keeps the app open, or quits and discards them", async () => {
  await using folder = await temporaryFolder();
  await withRepository(folder.path);
  await using app = await startApp(folder.path, { args: [link] });
  const [window] = app.windows;
  const page = await pageOf(app);
  const views = page.getByRole("navigation", { name: "Views of this repository" });
  await views.getByText("JSON").click();
  // A text that is not valid JSON may contain a secret anywhere, so it is never stored on disk.
  await page.getByRole("textbox", { name: "Text of the file" }).click();
  await page.keyboard.press("Control+End");
  await page.keyboard.type("here");
  await views.getByText("Fields").click();
  const field = page.getByRole("textbox", { name: "Provider" });
  await field.fill("there");
  // The text was sent before this draft.
  await untilDraft(folder.path, "there");
  // Closing only hides the window.
  window?.close();
  app.answer = () => 1;
  app.app.quit();
  await until(() => app.dialogs.length > 0, "the question");
  expect(app.dialogs.map(({ message }) => message)).toEqual(["You have unsaved edits."]);
  expect(window?.visible).toBe(true);
  expect(await field.inputValue()).toBe("there");
  using client = await connect({ home: folder.path });
  expect((await client.run("daemon/status", {})).version).toBe("0.0.0-test");
  app.answer = () => 0;
  app.app.quit();
  expect(await app.app.exited).toBe(0);
});

test("quitting does not ask about edits that the next start restores", async () => {
  await using folder = await temporaryFolder();
  await withRepository(folder.path);
  {
    await using app = await startApp(folder.path, { args: [link] });
    await (await pageOf(app)).getByRole("textbox", { name: "Provider" }).fill("here");
    // Quits before the page would send the edit by itself.
    app.app.quit();
    expect(await app.app.exited).toBe(0);
    expect(app.dialogs).toEqual([]);
  }
  await using app = await startApp(folder.path, { args: [link] });
  const field = (await pageOf(app)).getByRole("textbox", { name: "Provider" });
  await has(field, "here");
});

test("quitting asks about a single connected tool, even if no window was ever opened", async () => {
  await using folder = await temporaryFolder();
  await using app = await startApp(folder.path, { args: ["--hidden"] });
  expect(app.windows).toEqual([]);
  using client = await connect({ home: folder.path });
  await client.run("daemon/status", {});
  app.app.quit();
  expect(await app.app.exited).toBe(0);
  expect(app.dialogs.map(({ message }) => message)).toEqual(["A tool is connected."]);
});

test("an owner's tool that stops the daemon quits the app, and causes no question about itself", async () => {
  await using folder = await temporaryFolder();
  await using app = await startApp(folder.path);
  using client = await connect({ home: folder.path });
  await client.run("daemon/stop", {});
  expect(await app.app.exited).toBe(0);
  expect(app.dialogs).toEqual([]);
});

/** Waits until the window shows the repository. */
async function showsShop(app: ElectronDouble): Promise<Page> {
  const page = await pageOf(app);
  await page.getByRole("heading", { name: "shop", level: 1 }).waitFor();
  return page;
}

function has(control: Locator, value: string): Promise<void> {
  return until(async () => (await control.inputValue()) === value, `the value ${value}`);
}

async function pageOf({ windows: [window] }: ElectronDouble): Promise<Page> {
  if (window === undefined) throw new Error("there is no window");
  return window.page;
}
