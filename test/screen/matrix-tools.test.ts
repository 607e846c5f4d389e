import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { describeScreen, type OpenScreen, openScreen, poll, press, reads } from "../helpers/screen.ts";

const grid = (page: Page) => page.getByRole("grid", { name: "Matrix" });
const header = (page: Page, path: string) => grid(page).getByRole("columnheader").filter({ hasText: path });
const names = (page: Page) => grid(page).getByRole("rowheader").allInnerTexts();
const cell = (page: Page, repo: string, at = 0) =>
  grid(page)
    .getByRole("row", { name: new RegExp(`^${repo}\\b`) })
    .getByRole("gridcell")
    .nth(at);

async function openMatrix(window: OpenScreen, query: string): Promise<void> {
  await window.row("shop").waitFor();
  await window.goTo(`#/matrix?q=${encodeURIComponent(query)}`);
  await grid(window.page).waitFor();
}

const timeout = (seconds: number) => ({ "svc.timeout": seconds });

describeScreen("the matrix's tools", () => {
  test("a value that arrives while a person types does not get into what is typed", async () => {
    const window = await openScreen({ shop: timeout(31) }, { page: { hold: ["config/cells"] } });
    const { page, requests } = window;
    await openMatrix(window, "field:svc.timeout");
    await header(page, "svc.timeout").click();
    await requests.untilHeld();
    const editor = page.getByRole("spinbutton", { name: "Timeout" });
    await editor.focus();
    await editor.selectText();
    requests.releaseAll();
    await poll(() => cell(page, "shop").innerText()).toBe("31 seconds");
    await page.keyboard.type("60");
    expect(await editor.inputValue()).toBe("60");
  });

  test("sort the repositories by a field, by pointer and by key, and edits move no row", async () => {
    const window = await openScreen({ blog: timeout(5), shop: timeout(1_000), store: timeout(20), web: {} });
    const { page } = window;
    await openMatrix(window, "field:svc.timeout");
    await poll(() => names(page)).toEqual(["blog", "shop", "store", "web"]);
    await header(page, "svc.timeout").hover();
    await page.getByRole("button", { name: "Sort by svc.timeout" }).click();
    await poll(() => names(page)).toEqual(["blog", "store", "web", "shop"]);
    expect(await header(page, "svc.timeout").getAttribute("aria-sort")).toBe("ascending");
    await grid(page).focus();
    await press(page, "s");
    await poll(() => names(page)).toEqual(["shop", "web", "store", "blog"]);
    await cell(page, "shop").click();
    await page.getByRole("spinbutton", { name: "Timeout" }).fill("1");
    await press(page, "Enter");
    await window.save();
    await poll(() => cell(page, "shop").innerText()).toBe("1 seconds");
    expect(await names(page)).toEqual(["shop", "web", "store", "blog"]);
    // A copy has the rows as they stand here.
    await grid(page).focus();
    await press(page, "Control+a", "Control+c");
    await poll(() => page.evaluate<string>("navigator.clipboard.readText()")).toBe("1\n900\n20\n5");
    await press(page, "Escape", "s");
    await poll(() => names(page)).toEqual(["blog", "shop", "store", "web"]);
    expect(await header(page, "svc.timeout").getAttribute("aria-sort")).toBe("none");
  });

  test("show only the fields that differ or are edited, also after another page", async () => {
    const domain = { "svc.domain": "a.test" };
    const window = await openScreen({ shop: { ...domain, ...timeout(5) }, store: domain });
    const { page } = window;
    await openMatrix(window, "modified");
    await reads(page.getByRole("main"), "2 repositories, 2 fields");
    await page.getByRole("button", { name: "Differences only" }).click();
    await reads(page.getByRole("main"), "2 repositories, 2 fields, 1 with differences");
    expect(await header(page, "svc.domain").count()).toBe(0);
    await window.goTo("#/");
    await window.goTo("#/matrix?q=field:svc.domain");
    await reads(page.getByRole("main"), "Nothing differs");
    await window.screen.t.owner.call("draft/set", {
      drafts: [{ repo: "shop", field: "svc.domain", value: "b.test", base: "a.test" }],
    });
    await poll(() => cell(page, "shop").innerText()).toBe("b.test");
  });

  test("copy the selected values, without masked ones, and reset them to their defaults by keys", async () => {
    const aliases = { "svc.proxy_aliases": ["a.test", "b.test"] };
    const secret = { "svc.envvars": [{ name: "TOKEN", value: "hunter2" }] };
    const window = await openScreen({ shop: { ...timeout(5), ...aliases, ...secret }, store: { ...timeout(7) } });
    const { page, edits, messages } = window;
    const copied = () => page.evaluate<string>("navigator.clipboard.readText()");
    await openMatrix(window, "modified");
    await poll(() => cell(page, "shop").innerText()).toBe("5 seconds");
    await grid(page).focus();
    await press(page, "Control+Home", "Shift+Space", "Control+c");
    await reads(messages, "Copied 2 values, without masked ones.");
    expect((await copied()).split("\t").toSorted()).toEqual(["5", '["a.test","b.test"]'].toSorted());
    // Without a selection it is the active cell, with its edit.
    await press(page, "Escape", "Delete");
    await reads(edits, "1 edit, not saved");
    await poll(() => cell(page, "shop").getAttribute("aria-label")).toBe("900 seconds, differs from most, edited");
    await press(page, "Control+c");
    await poll(copied).toBe("900");
    await press(page, "Control+a", "Delete");
    await reads(edits, "2 edits in 2 repositories, not saved");
    await window.save();
    expect(await window.screen.stored("store", "svc.timeout")).toBeUndefined();
    await press(page, "Escape");
    await cell(page, "shop", 1).click();
    const masked = grid(page).getByRole("columnheader").filter({ hasText: "masked" });
    await masked.click();
    await press(page, "Control+c");
    await reads(messages, "Masked values are not copied");
    expect(await copied()).toBe("900");
  });

  test("widen and narrow a column by keys and by its edge", async () => {
    const window = await openScreen({ shop: timeout(5), store: {} });
    const { page } = window;
    await openMatrix(window, "field:svc.timeout");
    const width = async (of = header(page, "svc.timeout")) => Math.round((await of.boundingBox())?.width ?? 0);
    const before = await width();
    await grid(page).focus();
    await press(page, "+", "+", "-");
    await poll(() => width()).toBe(before + 32);
    expect(await width(cell(page, "shop"))).toBe(before + 32);
    const box = await header(page, "svc.timeout").boundingBox();
    if (box === null) throw new Error("the header is not there");
    await page.mouse.move(box.x + box.width - 1, box.y + 20);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width + 59, box.y + 20, { steps: 3 });
    await page.mouse.up();
    await poll(() => width()).toBe(before + 92);
    // The header was not pressed.
    expect(await grid(page).locator('[aria-selected="true"]').count()).toBe(0);
  });

  test("show lists by their entries and objects by their names, and all of it as a tooltip", async () => {
    const services = { web: { ready: "true", image: "node:24" }, db: { ready: "true", image: "postgres:17" } };
    const shop = { "svc.proxy_aliases": ["a.test", "b.test"], "svc.services": services };
    const window = await openScreen({ shop, store: {} });
    const { page } = window;
    await openMatrix(window, "field:svc.proxy_aliases");
    await poll(() => cell(page, "shop").innerText()).toBe("a.test, b.test");
    await poll(() => cell(page, "store").innerText()).toBe("none");
    await window.goTo("#/matrix?q=field:svc.services");
    await poll(() => cell(page, "shop").innerText()).toMatch(/^(web, db|db, web)$/);
    await poll(() => cell(page, "shop").getAttribute("title")).toContain('"image":"node:24"');
  });
});
