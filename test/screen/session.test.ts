import { expect, test } from "vitest";
import { freePort } from "../helpers/free-port.ts";
import {
  connectionLost,
  describeScreen,
  fillDrafts,
  type OpenScreen,
  openPage,
  openScreen,
  openShop,
  poll,
  press,
  reads,
  type ScreenPage,
  startScreen,
} from "../helpers/screen.ts";
import { runRepoconf, spawnDaemon } from "../helpers/spawned-daemon.ts";

async function endSessions({ screen, page }: OpenScreen): Promise<void> {
  const { result } = await screen.t.owner.call("key/list");
  for (const { id, kind } of result) if (kind === "session") await screen.t.owner.call("key/revoke", { id });
  await reads(page.getByRole("alert"), "This session has ended.");
}

describeScreen("session and frame", () => {
  test("a link opens the screen once; the second time, the page says how to get another", async () => {
    await using screen = await startScreen({ repositories: { shop: {} } });
    const link = screen.t.daemon.createLink(60_000);
    await using first = await openPage(link);
    await first.row("shop").waitFor();
    // The code has been removed from the address, and thus from the browser's history.
    expect(first.page.url()).not.toContain("code");
    await using second = await openPage(link, {});
    await reads(second.page.getByRole("alert"), "has ended");
    await second.page.getByText("repoconf ui", { exact: true }).waitFor();
    expect(await second.page.getByRole("tree").count()).toBe(0);
  });

  test("the session survives a reload, and belongs only to its window; another says how to get one", async () => {
    const { screen, row, page } = await openScreen({ shop: {} });
    await row("shop").waitFor();
    await page.reload();
    await row("shop").waitFor();
    expect(await page.context().cookies()).toEqual([]);
    const another = await page.context().newPage();
    await another.goto(`http://${screen.t.screenHost}`);
    await another.getByText("repoconf ui", { exact: true }).waitFor();
    expect(await another.content()).not.toContain("shop");
  });

  test("a row of the tree and a link that are opened in a tab of their own have the session there, and this tab stays", async () => {
    const { page, row, hash } = await openShop({}, { others: { store: {} } });
    const before = hash();
    const opened = async (open: () => Promise<void>, title: string) => {
      const tab = page.context().waitForEvent("page");
      await open();
      const other = await tab;
      await other.getByRole("heading", { level: 1, name: title }).waitFor();
      await other.close();
    };
    await opened(() => row("store").click({ modifiers: ["ControlOrMeta"] }), "store");
    await opened(() => page.getByRole("link", { name: "Activity" }).click({ button: "middle" }), "Activity");
    await opened(() => page.getByRole("link", { name: "History" }).click({ modifiers: ["Shift"] }), "shop");
    expect(hash()).toBe(before);
  });

  test("signing out ends the session in the daemon too, which keeps the edits, and leaves nothing in the window", async () => {
    const { screen, timeout, page, edits } = await openShop();
    const sessions = async () =>
      (await screen.t.owner.call("key/list")).result.filter(({ kind }) => kind === "session").length;
    await poll(sessions).toBe(1);
    await timeout.fill("55");
    await page.getByRole("button", { name: "Sign out" }).click();
    await reads(page.getByRole("alert"), "This session has ended.");
    await poll(sessions).toBe(0);
    expect(await edits.count()).toBe(0);
    expect(await page.evaluate<number>("sessionStorage.length")).toBe(0);
    await page.reload();
    await page.getByText("repoconf ui", { exact: true }).waitFor();
    expect(await screen.drafts()).toMatchObject([{ field: "svc.timeout", value: 55 }]);
  });

  test("signing out asks first if the daemon does not keep the edits", async () => {
    const window = await openShop({}, { others: { store: {} } });
    await fillDrafts(window.screen.t, "store");
    await window.timeout.fill("55");
    await window.page.getByRole("button", { name: "Sign out" }).click();
    const question = window.page.getByRole("dialog", { name: "Sign out?" });
    await question.getByRole("button", { name: "Cancel" }).click();
    expect(await window.timeout.inputValue()).toBe("55");
    await window.page.getByRole("button", { name: "Sign out" }).click();
    await question.getByRole("button", { name: "Sign out and discard them" }).click();
    await reads(window.page.getByRole("alert"), "This session has ended.");
    expect(await window.edits.count()).toBe(0);
  });

  test("a new link in a tab whose session has ended continues there, with its edits", async () => {
    const window = await openShop();
    const { screen } = window;
    await window.timeout.fill("55");
    await endSessions(window);
    await window.edits.getByText("svc.timeout").first().waitFor();
    const { hash } = new URL(screen.t.daemon.createLink(60_000));
    await window.page.evaluate(`location.hash = ${JSON.stringify(hash)}`);
    await reads(window.page.getByRole("banner").getByRole("status"), "Connected");
    expect(window.page.url()).not.toContain("code");
    await window.startSaving();
    await poll(() => screen.stored("shop", "svc.timeout")).toBe(55);
  });

  test("a text that was being edited when the session ended can be copied", async () => {
    const window = await openShop({ "svc.timeout": 30 });
    await window.view("JSON");
    await window.typeAfter("timeout", " // half a minute");
    await reads(window.text, "// half a minute");
    await endSessions(window);
    await window.field("Edited text").getByRole("button", { name: "Copy the text" }).click();
    await poll(() => window.page.evaluate<string>("navigator.clipboard.readText()")).toContain("// half a minute");
  });

  test("activity in a window renews its session", async () => {
    const { screen, page } = await openScreen({ shop: {} });
    // The rows are there before it.
    await reads(page.getByRole("banner").getByRole("status"), "Connected");
    const session = async () => (await screen.t.owner.call("key/list")).result.find(({ kind }) => kind === "session");
    const { createdAt, usedAt } = (await session()) ?? {};
    expect(usedAt).toBe(createdAt);
    await press(page, "Shift");
    await poll(async () => (await session())?.usedAt !== usedAt).toBe(true);
  });

  test("after the daemon was killed and started again, the tab says that it lost the connection, and its edits can be read and copied", async () => {
    const port = String(await freePort());
    await using first = await spawnDaemon(["--port", port]);
    await runRepoconf(["repo", "add", first.homeFolder, "--name", "shop", "--home", first.homeFolder]);
    const { output } = await runRepoconf(["ui", "--print", "--home", first.homeFolder]);
    await using window = await openPage(output.trim(), { expected: connectionLost });
    const connection = window.page.getByRole("banner").getByRole("status");
    await reads(connection, "Connected");
    await window.choose("shop");
    await window.timeout.fill("55");
    await window.provider.fill("it's $HOME");
    expect(await window.edits.getByRole("button", { name: "Copy edits" }).count()).toBe(0);
    await first.end("SIGKILL");
    await reads(
      connection,
      "The daemon is not responding. Reconnecting… If it was restarted, run repoconf ui: the new tab has your edits",
    );
    await reads(window.edits, "2 edits, not saved; kept in this window");
    expect(await window.edits.getByRole("button", { name: "Save", exact: true }).isDisabled()).toBe(true);
    const repo = (await runRepoconf(["repo", "list", "--json", "--home", first.homeFolder])).output;
    const { id }: { id: string } = JSON.parse(repo)[0];
    const commands = [
      `repoconf set --repo ${id} svc.timeout=55`,
      `repoconf set --repo ${id} 'svc.provider=it'\\''s $HOME'`,
    ];
    await window.edits.getByRole("button", { name: "Copy edits" }).click();
    await poll(() => window.page.evaluate<string>("navigator.clipboard.readText()")).toBe(`${commands.join("\n")}\n`);
    await runRepoconf(["stop", "--home", first.homeFolder]);

    // The next daemon has the same port but another host name for its screen: it refuses the tab, which keeps its edits.
    await using second = await spawnDaemon(["--port", port], first.homeFolder);
    await poll(async () => {
      const { output: status } = await runRepoconf(["status", "--json", "--home", second.homeFolder]);
      return JSON.parse(status).refusals?.page ?? 0;
    }).toBeGreaterThan(0);
    await reads(connection, "is not responding");
    expect(await window.timeout.inputValue()).toBe("55");
  });
});

const rows = ({ page }: ScreenPage) => page.getByRole("table").locator("tbody").getByRole("row");

async function showSessions(window: ScreenPage): Promise<void> {
  await window.row("shop").waitFor();
  await window.page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name: "Sessions" }).click();
  await rows(window).first().waitFor();
}

describeScreen("sessions", () => {
  test("are listed, with this window's own marked; ending one disconnects it, and every window shows that", async () => {
    await using screen = await startScreen({ repositories: { shop: {} } });
    await screen.t.owner.call("key/create", { name: "ci", grants: [] });
    // An event announces new and ended sessions: this window never polls.
    await using window = await screen.open({ initialScript: "window.setInterval = () => 0;" });
    await showSessions(window);
    await poll(() => rows(window).count()).toBe(1);
    await reads(rows(window), /^Browser this window/);
    await using other = await screen.open();
    await showSessions(other);
    await poll(() => rows(window).count()).toBe(2);
    await poll(() => rows(other).count()).toBe(2);
    await reads(rows(window).last(), /^Browser\s+just now/);
    await window.page.getByRole("button", { name: "End…" }).click();
    const dialog = window.page.getByRole("dialog", { name: "End this session?" });
    await dialog.getByRole("button", { name: "Cancel" }).click();
    expect(await rows(window).count()).toBe(2);
    await window.page.getByRole("button", { name: "End…" }).click();
    await dialog.getByRole("button", { name: "End session" }).click();
    await reads(other.page.getByRole("alert"), "This session has ended.");
    await other.page.getByText("repoconf ui", { exact: true }).waitFor();
    await poll(() => rows(window).count()).toBe(1);
    const { result } = await screen.t.owner.call("key/list");
    expect(result.filter(({ kind }) => kind === "session").map(({ connections }) => connections)).toEqual([1]);
  });

  test("end all others in one step; then this one by signing out", async () => {
    await using screen = await startScreen({ repositories: { shop: {} } });
    for (const label of ["desktop", "browser"]) await screen.t.owner.call("session/create", { label });
    await using window = await screen.open();
    await showSessions(window);
    await poll(() => rows(window).count()).toBe(3);
    await window.page.getByRole("button", { name: "End all others…" }).focus();
    await press(window.page, "Enter");
    await window.page.getByRole("dialog", { name: "End 2 sessions?" }).waitFor();
    await window.page.getByRole("button", { name: "End sessions" }).focus();
    await press(window.page, "Enter");
    await poll(() => rows(window).count()).toBe(1);
    await rows(window).getByRole("button", { name: "Sign out" }).click();
    await reads(window.page.getByRole("alert"), "This session has ended.");
    await poll(async () => (await screen.t.owner.call("key/list")).result).toEqual([]);
  });
});
