import { expect, test } from "vitest";
import { svcSchema } from "../../shared/scopes/svc.ts";
import { breakFile } from "../helpers/broken-file.ts";
import {
  describeScreen,
  openScreen,
  openShop,
  poll,
  press,
  reads,
  type ScreenPage,
  startScreen,
} from "../helpers/screen.ts";
import { saveByRename } from "../helpers/shop.ts";

const fields = Object.keys(svcSchema.properties);
const fieldCount = String(fields.length);
const placeIn = (field: string) => String(fields.indexOf(field) + 1);
const shop = { "svc.timeout": 30, "svc.refresh_day": 2 };
const store = {
  "svc.services": { database: { ready: "pg_isready", image: "postgres:17" } },
  "svc.envvars": [{ name: "TOKEN", value: "hunter2" }],
};

const many = (count: number) => Array.from({ length: count }, (_, at) => `service-${String(at).padStart(3, "0")}`);

/** What a screen reader announces about a row's position. */
async function placeOf(row: ReturnType<ScreenPage["row"]>): Promise<readonly (string | null)[]> {
  const names = ["level", "posinset", "setsize", "expanded", "selected"];
  return Promise.all(names.map(name => row.getAttribute(`aria-${name}`)));
}

describeScreen("the tree", () => {
  test("exposes each row's level, its position among its siblings, and whether it is expanded and selected; a removed row passes its focus on", async () => {
    const window = await openScreen({ quiet: {}, shop, store });
    await window.row("quiet").waitFor();
    expect(await placeOf(window.row("quiet"))).toEqual(["1", "1", "3", "false", "false"]);
    expect(await placeOf(window.row("store"))).toEqual(["1", "3", "3", "false", "false"]);
    await window.row("shop").focus();
    await press(window.page, "ArrowRight");
    await window.row("Timeout").waitFor();
    expect(await placeOf(window.row("shop"))).toEqual(["1", "2", "3", "true", "false"]);
    expect(await placeOf(window.row("Service"))).toEqual(["2", "1", "1", "true", "false"]);
    expect(await placeOf(window.row("Timeout"))).toEqual(["3", placeIn("timeout"), fieldCount, null, "false"]);
    await window.row("Refresh day").click();
    const place = ["3", placeIn("refresh_day"), fieldCount, null, "true"];
    await poll(() => placeOf(window.row("Refresh day"))).toEqual(place);
    expect(await placeOf(window.row("store"))).toEqual(["1", "3", "3", "false", "false"]);
    await window.row("quiet").focus();
    await window.screen.t.owner.call("repo/remove", { repo: "quiet" });
    await window.row("quiet").waitFor({ state: "detached" });
    await poll(window.focused).toMatch(/^treeitem (shop|store)/);
    await press(window.page, "End");
    await poll(window.focused).toMatch(/^treeitem store/);
  });

  test("arrow keys, Home, End and Enter reach every row, and the focus never leaves the tree by accident", async () => {
    const { page, row, tree, focused } = await openScreen({ shop, store, quiet: {} }, { files: many(150) });
    // The first rows are there before the others.
    await poll(() => row("quiet").getAttribute("aria-setsize")).toBe("153");
    await row("quiet").focus();
    // The tree is a single Tab stop.
    expect(await tree.getByRole("treeitem").and(page.locator("[tabindex='0']")).count()).toBe(1);
    await press(page, "End");
    await poll(focused).toMatch(/^treeitem store/);
    await press(page, "ArrowUp");
    await poll(focused).toBe("treeitem shop2 modified");
    await press(page, "Home");
    await poll(focused).toBe("treeitem quiet");
    await press(page, "PageDown", "PageDown");
    await poll(focused).toMatch(/^treeitem service-0[2-9]/);
    await press(page, "PageUp", "PageUp", "ArrowDown");
    await poll(focused).toBe("treeitem service-000");
    await press(page, "ArrowRight");
    await row("Timeout").waitFor();
    await press(page, "ArrowRight");
    await poll(focused).toBe("treeitem Service");
    await press(page, "ArrowRight");
    await poll(focused).toMatch(/^treeitem Timeout/);
    await press(page, "Enter");
    await page.getByRole("heading", { level: 1, name: "service-000" }).waitFor();
    await row("Timeout").and(page.locator("[aria-selected='true']")).waitFor();
    await poll(focused).toBe("spinbutton Timeout");
    await press(page, "Shift+F6");
    await poll(focused).toMatch(/^treeitem Timeout/);
    await press(page, "ArrowLeft");
    await poll(focused).toBe("treeitem Service");
    await press(page, "ArrowLeft");
    await row("Timeout").waitFor({ state: "detached" });
    await press(page, "ArrowLeft");
    await poll(focused).toBe("treeitem service-000");
    await press(page, "ArrowLeft");
    await row("Service").waitFor({ state: "detached" });
    await poll(focused).toBe("treeitem service-000");
    // The focused row stays in the page when it is scrolled out of view.
    await press(page, "Home");
    await tree.hover();
    await page.mouse.wheel(0, 1_000_000);
    await row("store").waitFor();
    await poll(focused).toBe("treeitem quiet");
    await press(page, "ArrowDown");
    await poll(focused).toBe("treeitem service-000");
  });

  test("a slash focuses the search, except in a text field; Escape clears it, and the down arrow moves to the rows", async () => {
    const { page, row, focused, choose } = await openScreen({ shop, store });
    const search = page.getByRole("searchbox", { name: /^Search/ });
    await row("shop").focus();
    await press(page, "/");
    await poll(focused).toMatch(/^input Search/);
    await page.keyboard.type("store");
    await row("shop").waitFor({ state: "detached" });
    await press(page, "ArrowDown");
    await poll(focused).toMatch(/^treeitem store/);
    await press(page, "/", "Escape");
    await row("shop").waitFor();
    await choose("shop");
    await page.getByRole("textbox", { name: "Application path" }).pressSequentially("/srv");
    expect(await page.getByRole("textbox", { name: "Application path" }).inputValue()).toBe("/srv");
    expect(await search.inputValue()).toBe("");
  });

  test("a search shows the value of every result, and fetches more results on request", async () => {
    const { page, tree } = await openScreen({ shop, store, quiet: {} }, { files: many(310) });
    await page.getByRole("searchbox", { name: /^Search/ }).fill("svc.timeout");
    const first = tree.getByRole("treeitem").first();
    await poll(() => first.getAttribute("aria-setsize")).toBe("300");
    await first.focus();
    await press(page, "End");
    await reads(tree.getByRole("treeitem").last(), /Timeout\s+900 seconds/);
    await page.getByRole("button", { name: "Show more results" }).click();
    await tree.getByRole("treeitem").last().focus();
    await press(page, "Home");
    await poll(() => first.getAttribute("aria-setsize")).toBe("313");
    expect(await page.getByRole("button", { name: "Show more results" }).count()).toBe(0);
    expect(await tree.innerText()).not.toContain("Reading");
  });

  test("an invalid search is said at its box, also of more results, until the next key press", async () => {
    const { page, row } = await openScreen({ shop, store });
    const side = page.getByRole("navigation", { name: "Repositories and fields" });
    const box = page.getByRole("searchbox", { name: /^Search/ });
    await row("shop").waitFor();
    await box.fill("timeout since:yesterday");
    await reads(side.getByRole("alert"), /at character 9 \(since:yesterday\).*Write since:7d/);
    expect(await box.getAttribute("aria-invalid")).toBe("true");
    await reads(side, "No results, because the search failed.");
    await box.fill("timeout since:7d");
    await side.getByRole("alert").waitFor({ state: "detached" });
    await row("Timeout").waitFor();
    expect(await box.getAttribute("aria-invalid")).toBe("false");
  });

  test("nothing is reported as missing before the daemon has responded", async () => {
    const { requests, page, row } = await openScreen({ shop, store }, { page: { hold: ["config/search"] } });
    const tree = page.getByRole("navigation", { name: "Repositories and fields" });
    await row("shop").waitFor();
    await page.getByRole("searchbox", { name: /^Search/ }).fill("postgres:17");
    await requests.untilHeld();
    expect(await tree.innerText()).toContain("Searching…");
    expect(await tree.innerText()).not.toContain("No results");
    requests.release();
    await row("Services").waitFor();
  });

  test("with very many repositories, the first ones appear before the others have loaded", async () => {
    const { requests, tree, row } = await openScreen({ quiet: {}, shop, store }, { page: { hold: ["repo/list"] } });
    await requests.untilHeld();
    expect(await tree.count()).toBe(0);
    // Pretends that a page holds only one repository.
    requests.release(message => message.replace('"limit":100', '"limit":1'));
    await requests.untilHeld();
    expect(requests.asked("repo/list")).toBe(2);
    await poll(() => row("quiet").getAttribute("aria-setsize")).toBe("1");
    // The tree must say that it is incomplete.
    expect(await tree.getAttribute("aria-busy")).toBe("true");
    requests.release();
    await poll(() => row("quiet").getAttribute("aria-setsize")).toBe("3");
    expect(await tree.getAttribute("aria-busy")).toBe("false");
  });

  test("@modified and @broken are search terms, with a button each", async () => {
    await using screen = await startScreen({ repositories: { quiet: {}, shop, store } });
    await breakFile(screen.t, "store");
    await using window = await screen.open();
    const { page } = window;
    await window.row("shop").waitFor();
    await page.getByRole("button", { name: "modified", exact: true }).click();
    await window.row("Refresh day").waitFor();
    expect(await page.getByRole("searchbox", { name: /^Search/ }).inputValue()).toContain("@modified");
    expect(await window.row("Domain").count()).toBe(0);
    expect(await window.row("quiet").count()).toBe(0);
    await page.getByRole("searchbox", { name: /^Search/ }).fill("@modified timeout");
    await window.row("Refresh day").waitFor({ state: "detached" });
    await window.row("Timeout").waitFor();
    await page.getByRole("searchbox", { name: /^Search/ }).fill("@broken");
    await window.row("store").waitFor();
    await window.row("shop").waitFor({ state: "detached" });
    const chip = page.getByRole("button", { name: "broken", exact: true });
    expect(await chip.getAttribute("aria-pressed")).toBe("true");
    await chip.click();
    await window.row("shop").waitFor();
  });

  test("rows show the folder, the number of edits and of modified fields, and the health, and stay up to date", async () => {
    const { screen, row, timeout, provider } = await openShop(shop, { others: { quiet: {}, store } });
    const { owner } = screen.t;
    await reads(row("shop"), /2\s*modified/);
    await timeout.fill("40");
    await provider.fill("here");
    await reads(row("shop"), /2 edits\s+2\s+modified/);
    expect(await row("quiet").innerText()).toBe("quiet");
    await screen.set("quiet", { "svc.timeout": 1 });
    await reads(row("quiet"), /1\s*modified/);
    await owner.call("config/unset", { repo: "quiet", fields: ["svc.timeout"] });
    await poll(() => row("quiet").innerText()).toBe("quiet");
    const text = await screen.t.readRepository("store");
    await breakFile(screen.t, "store");
    await reads(row("store"), "has problems");
    await saveByRename(screen.t.repositoryFile("store"), text);
    await poll(() => row("store").innerText()).not.toContain("has problems");
    // Repositories that are added, renamed or removed elsewhere.
    await owner.call("repo/add", { id: "alpha", name: "alpha", path: screen.t.homeFolder });
    await reads(row("alpha"), screen.t.homeFolder);
    expect(await placeOf(row("alpha"))).toEqual(["1", "1", "4", "false", "false"]);
    await owner.call("repo/update", { repo: "store", name: "aardvark" });
    await poll(async () => (await placeOf(row("aardvark")))[1]).toBe("1");
    await owner.call("repo/remove", { repo: "alpha" });
    await row("alpha").waitFor({ state: "detached" });
  });
});
