import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { connect } from "../../main/client/client.ts";
import { launchBrowser } from "../helpers/browser.ts";
import { startTestDaemon, until } from "../helpers/daemon.ts";
import { type AppDouble, type ElectronDouble, prepareElectron, standInSwitches } from "../helpers/electron-double.ts";
import { screenFolder } from "../helpers/screen.ts";
import { temporaryFolder } from "../helpers/temporary-folder.ts";

let browser: Browser | undefined;
beforeAll(async () => {
  browser = await launchBrowser(standInSwitches);
});
afterAll(() => browser?.close());

const built = join(import.meta.dirname, "../../dist/electron");
const link = "repoconf://repo/shop";

/** The app on the double, and what the person answers. `await using` quits it. */
async function startApp(
  home: string,
  options: {
    readonly version?: string;
    readonly firstInstance?: boolean;
    readonly answer?: number;
    readonly args?: readonly string[];
    readonly whileStarting?: (app: AppDouble) => void;
  } = {},
): Promise<ElectronDouble & AsyncDisposable> {
  if (browser === undefined) throw new Error("no Chromium");
  const { version = "0.0.0-test", answer = 0, args = [], ...rest } = options;
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

test("every permission that the page could ask for is refused, but for the loopback", async () => {
  await using folder = await temporaryFolder();
  await using app = await startApp(folder.path);
  expect(app.sessions.map(({ partition }) => partition)).toEqual([undefined, "screen"]);
  for (const { permissions } of app.sessions) {
    const { request, check, device } = permissions;
    const answers: unknown[] = [];
    (request as (contents: unknown, permission: string, answer: (yes: boolean) => void) => void)({}, "media", yes =>
      answers.push(yes),
    );
    answers.push((check as () => boolean)(), (device as () => boolean)());
    expect(answers).toEqual([false, false, false]);
  }
});

test("the window loads the app's own screen by a scheme of its own, in a partition that is in memory alone", async () => {
  await using folder = await temporaryFolder();
  await using app = await startApp(folder.path);
  const [window] = app.windows;
  const [, partition] = app.sessions;
  expect(window?.options.webPreferences.session).toBe(partition);
  // One whose name begins with persist: is kept on the disk.
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
  for (const url of ["repoconf-screen://other/", "repoconf-screen://app/../../package.json", "repoconf-screen://app/x"])
    expect((await ask(url)).status).toBe(404);
  expect((await ask("repoconf-screen://app/", "POST")).status).toBe(404);
});

test("a daemon that stops and comes back on another port is found again: the window goes on, and keeps its place and its edits", async () => {
  await using t = await startTestDaemon();
  await t.addRepository("shop");
  await using app = await startApp(t.homeFolder, { args: [link] });
  const page = await pageOf(app);
  await page.getByRole("heading", { name: "shop", level: 1 }).waitFor();
  await page.getByRole("textbox", { name: "Provider" }).fill("here");
  const before = t.url;
  await t.restart();
  expect(t.url).not.toBe(before);
  await until(async () => (await t.owner.call("key/list")).result.length === 1, "the window's new session");
  await page.getByText("Connected", { exact: true }).waitFor();
  await t.owner.call("config/set", { repo: "shop", "svc.timeout": 77 });
  await until(
    async () => (await page.getByRole("spinbutton", { name: "Timeout" }).inputValue()) === "77",
    "what was set since",
  );
  expect(await page.getByRole("textbox", { name: "Provider" }).inputValue()).toBe("here");
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await until(
    async () => (await t.owner.call("config/list", { repo: "shop" })).result["svc"]?.["provider"] === "here",
    "the edit to be saved",
  );
});

test("a window whose session has ended gets another, and goes on", async () => {
  await using t = await startTestDaemon();
  await t.addRepository("shop");
  await using app = await startApp(t.homeFolder, { args: [link] });
  const page = await pageOf(app);
  await page.getByRole("heading", { name: "shop", level: 1 }).waitFor();
  const sessions = async () => (await t.owner.call("key/list")).result.map(({ id }) => id);
  const [first = ""] = await sessions();
  await t.owner.call("key/revoke", { id: first });
  await until(async () => (await sessions()).length === 1, "another session");
  await t.owner.call("config/set", { repo: "shop", "svc.timeout": 77 });
  await until(
    async () => (await page.getByRole("spinbutton", { name: "Timeout" }).inputValue()) === "77",
    "what was set since",
  );
});

test("a native call is answered to the window's own page alone", async () => {
  await using folder = await temporaryFolder();
  await using app = await startApp(folder.path);
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

test("another start that is not the first leaves at once and starts nothing", async () => {
  await using folder = await temporaryFolder();
  const home = join(folder.path, "home");
  const app = await startApp(home, { firstInstance: false });
  expect(app.calls).toEqual(["lock", "quit"]);
  expect(await app.app.exited).toBe(0);
  await expect(readFile(join(home, "daemon.json"))).rejects.toMatchObject({ code: "ENOENT" });
});

test("the app boots in its order: lock, scheme, ready, daemon, window, menu, tray", async () => {
  await using folder = await temporaryFolder();
  await using app = await startApp(folder.path);
  expect(app.calls).toEqual(["lock", "scheme", "ready", "menu", "tray", "window", "load"]);
});

test("an older daemon on the home is offered to be restarted, and is used as it is if the person wants that", async () => {
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

test("a file that breaks is told once, and a click leads to it", async () => {
  await using folder = await temporaryFolder();
  await using app = await startApp(folder.path);
  using client = await connect({ home: folder.path });
  await client.run("repo/add", { name: "shop", id: "shop" });
  const file = join(folder.path, "repos/shop.json");
  await writeFile(file, "{ broken");
  await until(() => app.notifications.length === 1, "the notification");
  expect(app.notifications[0]?.title).toBe("shop: its file is invalid");
  app.notifications[0]?.emit("click");
  await (await pageOf(app)).getByRole("heading", { name: "shop", level: 1 }).waitFor();
});

test("the window comes back where it stood, and start at login is an entry that is made and taken away", async () => {
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
      "the place to be written",
    );
  }
  if (process.platform === "linux") {
    const entry = await readFile(join(folder.path, "config/autostart/repoconf.desktop"), "utf8");
    expect(entry.split("\n")).toContain("[Desktop Entry]");
    // Uninstalling takes the program away and not this file: desktops pass over an entry whose program is gone.
    expect(entry.split("\n")).toContain(`TryExec=${process.execPath}`);
  }
  await using again = await startApp(home);
  expect(again.windows[0]?.options).toMatchObject({ x: 40, y: 30, width: 1000, height: 700 });
  await until(() => again.trays[0]?.items.some(({ checked }) => checked === true) === true, "the tray to know");
});

test.each([
  ["the link that macOS starts the app by", (app: AppDouble) => app.emit("open-url", { preventDefault() {} }, link)],
  ["the link of another start", (app: AppDouble) => app.emit("second-instance", {}, ["electron", link])],
])("%s is followed, though it comes before the daemon runs", async (_name, whileStarting) => {
  await using folder = await temporaryFolder();
  await withRepository(folder.path);
  // Started at login there would be no window: anyone who opens a link wants one.
  await using app = await startApp(folder.path, { whileStarting, args: ["--hidden"] });
  await (await pageOf(app)).getByRole("heading", { name: "shop", level: 1 }).waitFor();
});

/** Waits until the daemon keeps a draft of this value on the disk. */
async function untilDraft(home: string, value: string): Promise<void> {
  const read = () => readFile(join(home, "drafts.json"), "utf8").catch(() => "");
  await until(async () => (await read()).includes(JSON.stringify(value)), "the draft");
}

test("quitting asks about edits that would be lost: the person stays with them, or leaves without", async () => {
  await using folder = await temporaryFolder();
  await withRepository(folder.path);
  await using app = await startApp(folder.path, { args: [link] });
  const [window] = app.windows;
  const page = await pageOf(app);
  const views = page.getByRole("navigation", { name: "Views of this repository" });
  await views.getByText("JSON").click();
  // A text that is no JSON may hold anything, so it never gets to the disk.
  await page.getByRole("textbox", { name: "Text of the file" }).click();
  await page.keyboard.press("Control+End");
  await page.keyboard.type("here");
  await views.getByText("Fields").click();
  const field = page.getByRole("textbox", { name: "Provider" });
  await field.fill("there");
  // And before it the text has been sent.
  await untilDraft(folder.path, "there");
  // Closing hides the window and loses nothing.
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

test("quitting asks nothing about edits that the next start has again", async () => {
  await using folder = await temporaryFolder();
  await withRepository(folder.path);
  {
    await using app = await startApp(folder.path, { args: [link] });
    await (await pageOf(app)).getByRole("textbox", { name: "Provider" }).fill("here");
    // Sooner than the page sends an edit by itself.
    app.app.quit();
    expect(await app.app.exited).toBe(0);
    expect(app.dialogs).toEqual([]);
  }
  await using app = await startApp(folder.path, { args: [link] });
  const field = (await pageOf(app)).getByRole("textbox", { name: "Provider" });
  await until(async () => (await field.inputValue()) === "here", "the edit");
});

test("quitting asks about the one tool that is connected, also where no window was ever opened", async () => {
  await using folder = await temporaryFolder();
  await using app = await startApp(folder.path, { args: ["--hidden"] });
  expect(app.windows).toEqual([]);
  using client = await connect({ home: folder.path });
  await client.run("daemon/status", {});
  app.app.quit();
  expect(await app.app.exited).toBe(0);
  expect(app.dialogs.map(({ message }) => message)).toEqual(["A tool is connected."]);
});

test("quitting asks nothing where the daemon is another's, for its tools stay connected", async () => {
  await using t = await startTestDaemon({ screenFolder });
  await t.addRepository("shop");
  await using app = await startApp(t.homeFolder);
  await (await pageOf(app)).getByRole("treeitem", { name: "shop" }).waitFor();
  await t.connect();
  app.app.quit();
  expect(await app.app.exited).toBe(0);
  expect(app.dialogs).toEqual([]);
});

test("a tool of the owner's that asks the daemon to stop quits the app, and is not asked about itself", async () => {
  await using folder = await temporaryFolder();
  await using app = await startApp(folder.path);
  using client = await connect({ home: folder.path });
  await client.run("daemon/stop", {});
  expect(await app.app.exited).toBe(0);
  expect(app.dialogs).toEqual([]);
});

async function pageOf({ windows: [window] }: ElectronDouble): Promise<Page> {
  if (window === undefined) throw new Error("there is no window");
  return window.page;
}

/** A home with one repository, before the app runs. */
async function withRepository(home: string): Promise<void> {
  await using t = await startTestDaemon({ home });
  await t.addRepository("shop");
}
