import { expect, test } from "vitest";
import { describeScreen, freePort, openPage, poll, reads, startScreen } from "../helpers/screen.ts";
import { runRepoconf, spawnDaemon } from "../helpers/spawned-daemon.ts";

describeScreen("session and frame", () => {
  test("a link opens the screen once; the second time the page says how to get another", async () => {
    await using screen = await startScreen({ repositories: { shop: {} } });
    const link = screen.t.daemon.createLink(60_000);
    await using first = await openPage(link);
    await first.row("shop").waitFor();
    // The code is gone from the address, and so from the browser's history.
    expect(first.page.url()).not.toContain("code");
    await using second = await openPage(link, { expected: /401/ });
    await reads(second.page.getByRole("alert"), "used before");
    await second.page.getByText("repoconf ui", { exact: true }).waitFor();
    expect(await second.page.getByRole("tree").count()).toBe(0);
  });

  test("a page without a session says how to get one", async () => {
    await using screen = await startScreen({ repositories: { shop: {} } });
    await using visitor = await openPage(screen.t.url);
    await visitor.page.getByText("repoconf ui", { exact: true }).waitFor();
    expect(await visitor.page.content()).not.toContain("shop");
  });

  test("the session outlives a reload, and belongs to its window alone", async () => {
    await using screen = await startScreen({ repositories: { shop: {} } });
    await using window = await screen.open();
    await window.row("shop").waitFor();
    await window.page.reload();
    await window.row("shop").waitFor();
    expect(await window.page.context().cookies()).toEqual([]);
    const another = await window.page.context().newPage();
    await another.goto(screen.t.url);
    await another.getByText("repoconf ui", { exact: true }).waitFor();
  });

  test("a session that is revoked ends at once, and says so", async () => {
    await using screen = await startScreen({ repositories: { shop: {} } });
    await using window = await screen.open();
    await window.row("shop").waitFor();
    const { result } = await screen.t.owner.call("key/list");
    for (const { id, kind } of result) if (kind === "session") await screen.t.owner.call("key/revoke", { id });
    await reads(window.page.getByRole("alert"), "This session has ended.");
    await window.page.getByText("repoconf ui", { exact: true }).waitFor();
  });

  test("signing out ends the session in the daemon too; edits are asked about first", async () => {
    await using screen = await startScreen({ repositories: { shop: {} } });
    await using window = await screen.open();
    await window.choose("shop");
    const sessions = async () => (await screen.t.owner.call("key/list")).result.length;
    await poll(sessions).toBe(1);
    await window.page.getByRole("spinbutton", { name: "Timeout" }).fill("55");
    await window.page.getByRole("button", { name: "Sign out" }).click();
    const question = window.page.getByRole("dialog", { name: "Sign out?" });
    await question.getByRole("button", { name: "Back" }).click();
    expect(await window.page.getByRole("spinbutton", { name: "Timeout" }).inputValue()).toBe("55");
    expect(await sessions()).toBe(1);
    await window.page.getByRole("button", { name: "Sign out" }).click();
    await question.getByRole("button", { name: "Sign out and drop the edits" }).click();
    await reads(window.page.getByRole("alert"), "This session has ended.");
    await poll(sessions).toBe(0);
    // Nothing of it is left in the window.
    expect(await window.page.evaluate<number>("sessionStorage.length")).toBe(0);
    await window.page.reload();
    await window.page.getByText("repoconf ui", { exact: true }).waitFor();
  });

  test("a daemon killed and started again: the loss is said plainly, edits stay, and the screen goes on by itself", async () => {
    const port = String(await freePort());
    await using first = await spawnDaemon(["--port", port]);
    await runRepoconf(["repo", "add", first.homeFolder, "--name", "shop", "--home", first.homeFolder]);
    const { output } = await runRepoconf(["ui", "--print", "--home", first.homeFolder]);
    await using window = await openPage(output.trim(), { expected: /WebSocket|ERR_CONNECTION|Failed to load/ });
    const connection = window.page.getByRole("banner").getByRole("status");
    await reads(connection, "Connected");
    await window.choose("shop");
    const timeout = window.page.getByRole("spinbutton", { name: "Timeout" });
    await timeout.fill("55");
    await first.end("SIGKILL");
    await reads(connection, "does not answer");
    const bar = window.page.getByRole("region", { name: "Edits" });
    await reads(bar, "1 edit, not saved; they are kept until the connection is back");
    expect(await bar.getByRole("button", { name: "Save", exact: true }).isDisabled()).toBe(true);
    await window.page.getByRole("switch", { name: "Proxy HTTPS" }).focus();
    await window.page.keyboard.press("Space");
    await reads(bar, "2 edits, not saved");
    await using second = await spawnDaemon(["--port", port], first.homeFolder);
    await reads(connection, "Connected");
    expect(await timeout.inputValue()).toBe("55");
    await window.save();
    await poll(async () =>
      (await runRepoconf(["get", "svc.timeout", "--repo", "shop", "--home", second.homeFolder])).output.trim(),
    ).toBe("55");
    // What changes after that is seen: the watch goes on too.
    await runRepoconf(["set", "svc.domain=after.test", "--repo", "shop", "--home", second.homeFolder]);
    await poll(() => window.page.getByRole("textbox", { name: "Domain", exact: true }).inputValue()).toBe("after.test");
  });

  test("light and dark are the system's choice, at once when it changes", async () => {
    await using screen = await startScreen();
    await using window = await screen.open();
    const background = () => window.page.evaluate<string>("getComputedStyle(document.body).backgroundColor");
    const light = await background();
    await window.page.emulateMedia({ colorScheme: "dark" });
    await poll(background).not.toBe(light);
  });
});
