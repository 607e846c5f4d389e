import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { choose, extendTo, moveTo, SelectedCells } from "../../renderer/matrix/selection.ts";
import { countActions, describeScreen, openScreen, poll, press, reads, startScreen } from "../helpers/screen.ts";

/** Records what the page sends. */
const keepSent = `window.sent = [];
const { send } = WebSocket.prototype;
WebSocket.prototype.send = function (data) {
  window.sent.push(String(data));
  return send.call(this, data);
};`;

const grid = (page: Page) => page.getByRole("grid", { name: "Matrix" });
const bar = (page: Page) => page.getByRole("region", { name: "Set the selected cells" });
const queryBox = (page: Page) => page.getByRole("searchbox", { name: "Query" });
/** The header of a column, with the most common value. */
const header = (page: Page, path: string) => grid(page).getByRole("columnheader").filter({ hasText: path });
/** The cells of a repository's row. */
const cellsOf = (page: Page, repo: string) =>
  grid(page)
    .getByRole("row", { name: new RegExp(`^${repo}\\b`) })
    .getByRole("gridcell");
/** What a screen reader announces for the row's first cell. */
const announced = async (page: Page, repo: string) =>
  (await cellsOf(page, repo).first().getAttribute("aria-label")) ?? "";

async function openMatrix(page: Page, query: string): Promise<void> {
  await page.getByRole("link", { name: "Matrix" }).click();
  await grid(page).waitFor();
  await queryBox(page).fill(query);
}

describeScreen("the matrix", () => {
  test("turns proxy_https on in three repositories with at most 5 clicks and 25 keys", async () => {
    const on = { "svc.proxy_https": true };
    const repositories = { blog: on, mail: on, shop: {}, store: {}, web: {}, wiki: on };
    const counted = { page: { initialScript: countActions } };
    const { screen, page, row, focused, edits, startSaving } = await openScreen(repositories, counted);
    const stored = () => Promise.all(["shop", "store", "web"].map(repo => screen.stored(repo, "svc.proxy_https")));
    await row("shop").waitFor();
    await page.getByRole("link", { name: "Matrix" }).click();
    await poll(focused).toMatch(/^input Query/);
    await page.keyboard.type("field:svc.proxy_https=off");
    await reads(page.getByRole("main"), "3 repositories, 1 field");
    await header(page, "svc.proxy_https").click();
    await reads(bar(page), "Set 3 cells of svc.proxy_https to");
    await poll(() => bar(page).getByRole("switch").isChecked()).toBe(false);
    await bar(page).locator(".switch").click();
    await bar(page).getByRole("button", { name: "Apply" }).click();
    await reads(edits, "3 edits in 3 repositories, not saved");
    expect(await stored()).toEqual([undefined, undefined, undefined]);
    await startSaving();
    await poll(stored).toEqual([true, true, true]);
    const { clicks, keys } = await page.evaluate<{ clicks: number; keys: number }>("window.actions");
    expect(clicks).toBeLessThanOrEqual(5);
    expect(keys).toBeLessThanOrEqual(25);
    // It was one batch, and the query no longer matches anything.
    const batches = await Promise.all(
      ["shop", "store", "web"].map(
        async repo => (await screen.t.owner.call("history/list", { repo, limit: 1 })).result[0]?.batch,
      ),
    );
    expect(new Set(batches).size).toBe(1);
    expect(batches[0]).toBeTypeOf("string");
    await reads(page.getByRole("main"), "No results.");
  });

  test("works by keyboard alone: select cells, set, save, and reset to the default", async () => {
    const window = await openScreen({ blog: { "svc.timeout": 30 }, shop: {}, store: {}, web: {}, wiki: {} });
    const { screen, page, focused, row, edits } = window;
    const stored = () =>
      Promise.all(["blog", "shop", "store", "web", "wiki"].map(repo => screen.stored(repo, "svc.timeout")));
    await row("shop").waitFor();
    await page.getByRole("link", { name: "Matrix" }).focus();
    await press(page, "Enter");
    await poll(focused).toMatch(/^input Query/);
    await page.keyboard.type("field:svc.timeout");
    await reads(page.getByRole("main"), "5 repositories, 1 field");
    await press(page, "Tab", "Tab");
    await poll(focused).toMatch(/^grid Matrix/);
    await poll(() => announced(page, "blog")).toBe("30 seconds, stored, differs from most");
    // Shift with arrow keys selects a range; Space adds a cell or removes one.
    await press(page, "ArrowDown", "Shift+ArrowDown", "Shift+ArrowDown", "ArrowDown", "Space");
    await press(page, "ArrowUp", "ArrowUp", "Space");
    await reads(bar(page), "Set 3 cells of svc.timeout to");
    expect(await grid(page).locator('[aria-selected="true"]').count()).toBe(3);
    // Enter on an unselected cell selects only that cell.
    await press(page, "Escape", "Control+Home", "ArrowDown", "Enter");
    await poll(focused).toBe("spinbutton Timeout");
    await reads(bar(page), "Set 1 cell of svc.timeout");
    await press(page, "Escape");
    await poll(focused).toMatch(/^grid Matrix/);
    await press(page, "Control+a");
    await reads(bar(page), "Set 5 cells");
    await press(page, "Escape", "Control+Home", "Shift+ArrowDown", "Enter");
    await reads(bar(page), "Set 2 cells");
    await poll(focused).toBe("spinbutton Timeout");
    await press(page, "Control+a");
    await page.keyboard.type("45");
    await press(page, "Enter");
    await poll(focused).toMatch(/^grid Matrix/);
    await poll(() => announced(page, "blog")).toBe("45 seconds, stored, differs from most, edited");
    await poll(() => announced(page, "shop")).toBe("45 seconds, stored, differs from most, edited");
    expect(await announced(page, "store")).toBe("900 seconds");
    await press(page, "Control+s");
    await poll(stored).toEqual([45, 45, undefined, undefined, undefined]);
    await poll(() => announced(page, "shop")).toBe("45 seconds, stored, differs from most");
    // Back in the grid: reset both to the default.
    await poll(focused).toMatch(/^grid Matrix/);
    await press(page, "Control+Home", "Shift+ArrowDown", "Enter", "Tab", "Tab", "Enter");
    await reads(edits, "2 edits in 2 repositories, not saved");
    await poll(focused).toMatch(/^grid Matrix/);
    await press(page, "Control+s");
    await poll(stored).toEqual([undefined, undefined, undefined, undefined, undefined]);
  });

  test("its edits are ordinary ones, in the review too; a cell and a message say what was refused where", async () => {
    const services = { web: { ready: "true", image: "node:24" } };
    const both = { "svc.services": services };
    const window = await openScreen({ blog: both, shop: both, store: {} });
    const { screen, page, edits, review, startSaving, messages } = window;
    const stored = () => Promise.all(["blog", "shop", "store"].map(repo => screen.stored(repo, "svc.default")));
    await openMatrix(page, "field:svc.default");
    await reads(page.getByRole("main"), "3 repositories, 1 field");
    await header(page, "svc.default").click();
    await bar(page).getByRole("textbox", { name: "Default service" }).fill("web");
    await press(page, "Enter");
    await reads(edits, "3 edits in 3 repositories");
    await review();
    await reads(page.getByRole("dialog").getByRole("region", { name: "3 repositories" }), /svc\.default.*web/s);
    await press(page, "Escape");
    await startSaving();
    await reads(messages, /Saved in blog and shop\. Not saved in store: /);
    expect(await stored()).toEqual(["web", "web", undefined]);
    await poll(() => announced(page, "store")).toMatch(/^web, .*edited, refused: /);
  });

  test("keeps its query in the address, and reports the position of an error in it and what to write instead", async () => {
    const { page, row, goTo, hash } = await openScreen({ shop: { "svc.timeout": 30 }, store: {} });
    const main = page.getByRole("main");
    await row("shop").waitFor();
    await goTo("#/matrix?q=modified");
    await reads(main, "1 repository, 1 field");
    await poll(() => queryBox(page).inputValue()).toBe("modified");
    await queryBox(page).fill("field:timeout since:yesterday");
    await reads(main.getByRole("alert"), /at character 15 \(since:yesterday\).*Write since:7d/);
    await poll(hash).toBe("#/matrix?q=field%3Atimeout%20since%3Ayesterday");
    expect(await queryBox(page).getAttribute("aria-invalid")).toBe("true");
    await queryBox(page).fill("field:timeout");
    await reads(main, "2 repositories, 1 field");
    await main.getByRole("alert").waitFor({ state: "detached" });
    await page.reload();
    await reads(main, "2 repositories, 1 field");
    await page.goBack();
    await page.getByRole("heading", { name: "Needs attention" }).waitFor();
  });

  test("follows changes and edits by others, and updates the most common value", async () => {
    await using screen = await startScreen({ repositories: { blog: {}, shop: {}, store: {} } });
    await using mine = await screen.open();
    await using other = await screen.open();
    for (const { page } of [mine, other]) {
      await openMatrix(page, "field:svc.provider");
      await reads(header(page, "svc.provider"), "empty: 3 of 3");
    }
    await cellsOf(mine.page, "shop").click();
    await cellsOf(mine.page, "store").click({ modifiers: ["Shift"] });
    await bar(mine.page).getByRole("textbox", { name: "Provider" }).fill("here");
    await press(mine.page, "Enter");
    await poll(() => announced(other.page, "store")).toBe("here, stored, differs from most, edited");
    await screen.set("blog", { "svc.provider": "there" });
    await poll(() => announced(other.page, "blog")).toBe("there, stored, differs from most");
    await reads(header(other.page, "svc.provider"), "empty: 2 of 3");
    await mine.startSaving();
    await poll(() => announced(other.page, "shop")).toBe("here, stored");
    await reads(header(other.page, "svc.provider"), "here: 2 of 3");
  });

  test("clears the selection when repositories are added or removed, and keeps the active cell", async () => {
    const { screen, page } = await openScreen({ shop: {}, store: {}, web: {} });
    await openMatrix(page, "field:svc.provider");
    await reads(page.getByRole("main"), "3 repositories, 1 field");
    await cellsOf(page, "store").click();
    await cellsOf(page, "web").click({ modifiers: ["Shift"] });
    await reads(bar(page), "Set 2 cells");
    await screen.t.owner.call("repo/add", { id: "blog", name: "blog" });
    await grid(page).getByRole("row", { name: /^blog/ }).waitFor();
    await reads(bar(page), "Select cells to set them");
    await poll(() => cellsOf(page, "web").getAttribute("data-active")).toBe("true");
    // Separate cells, and a whole row: cells of several fields can only be reset.
    await cellsOf(page, "blog").click();
    await cellsOf(page, "store").click({ modifiers: ["Control"] });
    await reads(bar(page), "Set 2 cells");
    await cellsOf(page, "shop").hover();
    await page.mouse.down();
    await cellsOf(page, "web").hover();
    await page.mouse.up();
    await reads(bar(page), "Set 3 cells");
    await queryBox(page).fill("field:proxy");
    await reads(page.getByRole("main"), "4 repositories, 8 fields");
    await grid(page).getByRole("rowheader", { name: "shop" }).click();
    await reads(bar(page), "8 cells of 8 fields: select cells of a single field to set them.");
    expect(await bar(page).getByRole("button", { name: "Apply" }).count()).toBe(0);
  });

  test("shows all fields of all repositories before the daemon has counted their values, and keeps what was selected meanwhile", async () => {
    const repositories = { blog: { "svc.timeout": 30 }, shop: {}, web: {} };
    const { page, row, requests } = await openScreen(repositories, { page: { hold: ["config/matrix"] } });
    await row("shop").waitFor();
    await page.getByRole("link", { name: "Matrix" }).click();
    await reads(page.getByRole("main"), "3 repositories, 20 fields, counting their values…");
    await poll(() => announced(page, "blog")).toBe("30 seconds, stored");
    await reads(header(page, "svc.timeout"), "…");
    await cellsOf(page, "shop").first().click();
    await requests.untilHeld();
    requests.releaseAll();
    await reads(header(page, "svc.timeout"), "900 seconds: 2 of 3");
    await reads(bar(page), "Set 1 cell of svc.timeout to");
    expect(await cellsOf(page, "blog").first().getAttribute("aria-label")).toContain("differs from most");
  });

  test("asks again for cells that the daemon could not answer", async () => {
    const { page, row, requests } = await openScreen({ shop: {} }, { page: { hold: ["config/cells"] } });
    await row("shop").waitFor();
    await page.getByRole("link", { name: "Matrix" }).click();
    await requests.untilHeld();
    // Nothing else changes any more, for which it would ask again.
    await reads(header(page, "svc.timeout"), "900 seconds: 1 of 1");
    requests.release(message => message.replace('"cells"', '"nothing"'));
    await requests.untilHeld();
    requests.releaseAll();
    await poll(() => announced(page, "shop")).toBe("900 seconds");
  });

  test("with very many repositories, renders and requests only what is visible, and respects the limits of a save", async () => {
    const files = Array.from({ length: 1_010 }, (_, index) => `r${String(index).padStart(4, "0")}`);
    const { page, row, edits } = await openScreen({}, { files, page: { initialScript: keepSent } });
    await row("r0000").waitFor();
    await page.getByRole("link", { name: "Matrix" }).click();
    await reads(page.getByRole("main"), "1,010 repositories, 20 fields");
    await poll(() => announced(page, "r0000")).toBe("900 seconds");
    const requests = async () =>
      (await page.evaluate<string[]>("window.sent")).filter(text => text.includes(`"config","cells"`));
    const isSmall = async () => {
      expect(await grid(page).locator("*").count()).toBeLessThan(700);
      for (const text of await requests()) expect(text.length).toBeLessThan(2_000);
    };
    expect((await requests()).length).toBeLessThanOrEqual(2);
    await isSmall();
    await grid(page).focus();
    await press(page, "Control+End");
    const end = grid(page).locator('[data-active="true"]');
    await poll(() => end.getAttribute("aria-label")).toBe("04:00");
    await isSmall();
    expect((await requests()).length).toBeLessThanOrEqual(5);
    // A selection that is too large to save at once is reported and cannot be applied.
    await press(page, "Control+Home", "Control+a");
    await reads(bar(page), "Set 1,010 cells of svc.timeout");
    await reads(bar(page), "At most 1,000 repositories can be saved at once; this would make 1,010. Select fewer.");
    expect(await bar(page).getByRole("button", { name: "Apply" }).getAttribute("aria-disabled")).toBe("true");
    await press(page, "Enter", "Control+a");
    await page.keyboard.type("45");
    await press(page, "Enter");
    expect(await edits.count()).toBe(0);
    await press(page, "Escape", "Escape", "Shift+PageDown");
    await reads(bar(page), /Set \d\d cells/);
    expect(await bar(page).getByRole("button", { name: "Apply" }).getAttribute("aria-disabled")).toBe("false");
  });
});

describe("a selection", () => {
  const none = { active: { row: 0, column: 0 }, ranges: [] };
  const at = (row: number, column: number) => ({ row, column });

  test("covers all cells of its ranges in any direction; where ranges overlap, the last one wins", () => {
    const range = extendTo(choose(none, { from: at(3, 2) }), at(1, 1));
    const less = choose(range, { from: at(2, 2) }, { more: true, isOn: false });
    const cells = new SelectedCells(less, 5, 4);
    expect([cells.count, cells.rows, cells.columns]).toEqual([5, [1, 2, 3], [1, 2]]);
    expect([cells.has(at(2, 1)), cells.has(at(2, 2)), cells.has(at(0, 1))]).toEqual([true, false, false]);
    expect(new SelectedCells(choose(less, { from: at(0, 0) }), 5, 4).count).toBe(1);
    expect(extendTo(none, at(2, 0)).ranges).toEqual([{ from: at(0, 0), to: at(2, 0), isOn: true }]);
    // The active cell has moved away from the range.
    expect(extendTo(moveTo(range, at(4, 0)), at(4, 3)).ranges).toEqual([{ from: at(4, 0), to: at(4, 3), isOn: true }]);
  });
});
