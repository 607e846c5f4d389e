import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { describeScreen, openScreen, openShop, poll, reads, shareScreen, startScreen } from "../helpers/screen.ts";
import { saveByRename } from "../helpers/shop.ts";

/**
 * Records the position of the focused field, in pixels from the top of the window, in each frame as it is painted. A ResizeObserver
 * created within a frame runs after those of the page, which correct the scroll position in that frame.
 */
const recordTops = `new Promise(started => {
  const field = document.activeElement.closest(".field");
  window.tops = [];
  const frame = () => {
    const once = new ResizeObserver(() => {
      once.disconnect();
      window.tops.push(field.getBoundingClientRect().top);
      started();
    });
    once.observe(field);
    requestAnimationFrame(frame);
  };
  requestAnimationFrame(frame);
})`;

/** The recorded positions, once all changes so far have been painted. */
async function recordedTops(page: Page): Promise<readonly number[]> {
  const frames = await page.evaluate<number>("tops.length");
  await poll(() => page.evaluate<number>("tops.length")).toBeGreaterThan(frames + 1);
  return page.evaluate<number[]>("tops");
}

describeScreen("a change elsewhere", () => {
  const openOwnShop = shareScreen();

  test("by a tool appears on every page immediately, and is highlighted there for a moment", async () => {
    await using screen = await startScreen({ repositories: { shop: {} } });
    await using one = await screen.open();
    await using other = await screen.open();
    for (const window of [one, other]) {
      await window.choose("shop");
      await window.row("shop").press("ArrowRight");
      await window.row("Timeout").waitFor();
      // The clock stands still, so that the highlight lasts until the test has checked it.
      await window.page.clock.install();
      // By less than the 45 seconds after which the page, whose pings are older then, would close its connection.
      await window.page.clock.pauseAt(Date.now() + 15_000);
    }
    await screen.set("shop", { "svc.timeout": 42 });
    for (const { page, field, row, timeout } of [one, other]) {
      const marked = page.locator("[data-flashing='true']");
      await field("Timeout").and(marked).waitFor();
      await row("Timeout").and(marked).waitFor();
      await reads(row("Timeout"), "42 seconds");
      expect(await timeout.inputValue()).toBe("42");
      await page.clock.runFor(3_000);
      await field("Timeout").and(marked).waitFor({ state: "detached" });
    }
  });

  test("that happens while a page loads is not missed", async () => {
    const window = await openScreen({ shop: {} }, { page: { hold: ["config/watch"] } });
    const { screen, requests, choose, page, row, timeout } = window;
    await requests.untilHeld();
    requests.release();
    await choose("shop");
    await page.reload();
    await requests.untilHeld();
    await screen.t.addRepository("store");
    await screen.set("shop", { "svc.timeout": 42 });
    requests.release();
    await row("store").waitFor();
    await poll(() => timeout.inputValue()).toBe("42");
  });

  test("by hand in the file appears while an editor is open, and the person's own edit stays", async () => {
    const { screen, page, provider, repo, save, timeout, inspector } = await openOwnShop({ "svc.timeout": 30 });
    await provider.pressSequentially("he");
    const file = screen.t.repositoryFile(repo);
    await saveByRename(file, (await screen.t.readRepository(repo)).replace("30", "31 /* by hand */"));
    await page.keyboard.type("re");
    expect(await provider.inputValue()).toBe("here");
    await save();
    const text = await screen.t.readRepository(repo);
    expect(text).toContain("by hand");
    expect(text).toContain(`"provider": "here"`);
    await timeout.focus();
    await reads(inspector, /31 seconds\s+just now by hand/);
  });

  test("does not move rows during editing: the field, its focus and the cursor stay where they are", async () => {
    const window = await openShop({}, { others: { store: {} }, page: { height: 600 } });
    const { screen, page, row, expand, provider, field, focused } = window;
    await row("shop").press("ArrowRight");
    await expand("Services");
    await expand("Environment variables");
    await provider.fill("here");
    await provider.press("Home");
    await field("Provider").scrollIntoViewIfNeeded();
    await page.evaluate(recordTops);
    const variables = ["A", "B", "C", "D", "E"].map(name => ({ name, value: "1" }));
    await screen.set("shop", { "svc.envvars": variables, "svc.services": { web: { ready: "true", image: "x" } } });
    await screen.t.owner.call("repo/add", { id: "another", name: "another" });
    await row("another").waitFor();
    await reads(field("Services"), "web");
    const [before = Number.NaN, ...after] = await recordedTops(page);
    expect(after.filter(top => Math.abs(top - before) >= 1)).toEqual([]);
    expect(await focused()).toBe("textarea Provider");
    await page.keyboard.type("at ");
    expect(await provider.inputValue()).toBe("at here");
  });

  test("that breaks the file shows line and column, the last valid values and the text, and offers to restore it", async () => {
    const window = await openOwnShop({ "svc.timeout": 30 });
    const { screen, page } = window;
    const file = screen.t.repositoryFile(window.repo);
    const good = await readFile(file, "utf8");
    await saveByRename(file, good.replace(`"timeout": 30`, `"timeout" 30`));
    const note = page.getByRole("complementary", { name: "Problems with the file" });
    await reads(note, "its last valid values are active");
    const line = good.split("\n").findIndex(text => text.includes("timeout")) + 1;
    await reads(note, new RegExp(`line ${line}, column \\d+`));
    await reads(window.row(window.repo), "has problems");
    expect(await window.timeout.inputValue()).toBe("30");
    await note.getByRole("link", { name: "Open the text" }).click();
    // A text that cannot be parsed may contain masked values anywhere.
    await page.getByRole("button", { name: "Show masked values" }).click();
    await reads(window.text, `"timeout" 30`);
    await page.getByRole("button", { name: "Compare with the active values" }).click();
    await reads(page.getByRole("textbox", { name: "The active values" }), `"timeout": 30`);
    await note.getByRole("button", { name: "Restore last valid file" }).click();
    await note.waitFor({ state: "detached" });
    await reads(window.messages, "Restored the last valid file.");
    expect(await readFile(file, "utf8")).toContain(`"timeout": 30`);
    await poll(window.focused).not.toBe("body");
    await page.getByRole("button", { name: "Back to the text" }).click();
    await reads(window.text, `"timeout": 30`);
    // A value that violates its schema is reported at its field.
    await saveByRename(file, good.replace("30", "-30"));
    await reads(note, /timeout/);
    await window.view("Fields");
    await window.field("Timeout").locator(".problem").waitFor();
  });

  test("that breaks the file of local values is told as that, and only that file is restored", async () => {
    const { screen, page, repo } = await openOwnShop({ "svc.timeout": 30 });
    await screen.t.owner.call("config/set", { repo, "svc.timeout": 60, layer: "local", flush: true });
    const file = join(screen.t.homeFolder, "local", `${repo}.json`);
    const shared = await readFile(screen.t.repositoryFile(repo), "utf8");
    await saveByRename(file, "{ broken");
    const note = page.getByRole("complementary", { name: "Problems with the file" });
    await reads(note, "The file of local values is invalid; its last valid values are active.");
    await note.getByRole("button", { name: "Restore last valid file" }).click();
    await note.waitFor({ state: "detached" });
    expect(await readFile(file, "utf8")).toContain(`"timeout": 60`);
    expect(await readFile(screen.t.repositoryFile(repo), "utf8")).toBe(shared);
  });
});
