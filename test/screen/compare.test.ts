import { join } from "node:path";
import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { untilHealth } from "../helpers/broken-file.ts";
import { countActions, describeScreen, goTo, openScreen, poll, press, reads, startScreen } from "../helpers/screen.ts";
import { takeOption } from "../helpers/take-option.ts";

const services = (image: string) => ({ web: { ready: "true", image } });
const repositories = {
  shop: { "svc.timeout": 30, "svc.services": services("node:24"), "svc.refresh_day": 5 },
  store: { "svc.timeout": 60, "svc.services": services("node:25"), "svc.domain": "store.test" },
};

const compare = async (page: Page, address: string) => {
  await goTo(page, `#/compare/${address}`);
  await page.getByRole("article", { name: "Compare" }).waitFor();
};
const side = (page: Page, name: "Left" | "Right") => page.getByRole("group", { name });
const repository = (page: Page, name: "Left" | "Right") =>
  side(page, name).getByRole("combobox", { name: "Repository" });
const values = (page: Page, name: "Left" | "Right") => side(page, name).getByRole("button", { name: /Values$/ });
/** Waits for a line, as a screen reader announces it. */
const line = (page: Page, said: string) => page.getByRole("row", { name: said, exact: true }).waitFor();
const count = (page: Page) => page.getByRole("main").getByRole("status");
const button = (page: Page, name: string) => page.getByRole("main").getByRole("button", { name, exact: true });

describeScreen("the compare page", () => {
  test("compares two repositories in 3 clicks from the start page", async () => {
    const { page, choose, hash } = await openScreen(repositories, { page: { initialScript: countActions } });
    await choose("shop");
    await page.getByRole("link", { name: "Compare", exact: true }).click();
    await page.getByRole("option", { name: "store" }).click();
    await reads(count(page), "4 of 20 fields differ.");
    expect(await page.evaluate("window.actions")).toEqual({ clicks: 3, keys: 0 });
    await poll(hash).toBe("#/compare/shop/store");
    const copies = (field: string) => `Copy to the left ${field} Copy to the right ${field}`;
    await line(page, `svc.timeout shop: 30 seconds store: 60 seconds ${copies("svc.timeout")}`);
    await line(page, `svc.services.web.image shop: node:24 store: node:25 ${copies("svc.services")}`);
    await line(page, `svc.domain shop: empty default store: store.test ${copies("svc.domain")}`);
    await line(page, `svc.refresh_day shop: Friday store: Sunday default ${copies("svc.refresh_day")}`);
    await page.goBack();
    await page.goBack();
    await page.getByRole("heading", { level: 1, name: "shop" }).waitFor();
  });

  test("works by keyboard alone: choose, swap, copy, discard, save", async () => {
    const { screen, page, choose, hash, focused, edits } = await openScreen(repositories);
    await choose("shop");
    await page.getByRole("link", { name: "Compare", exact: true }).focus();
    await press(page, "Enter");
    await repository(page, "Right").and(page.locator(":focus")).waitFor();
    await page.keyboard.type("sto");
    await poll(() => page.getByRole("option").allInnerTexts()).toEqual(["store"]);
    await press(page, "ArrowDown", "Enter");
    await reads(count(page), "4 of 20");
    await page.getByRole("listbox").waitFor({ state: "detached" });
    await button(page, "Swap sides").focus();
    await press(page, "Enter");
    await poll(hash).toBe("#/compare/store/shop");
    await button(page, "Copy to the left svc.services").focus();
    await press(page, "Enter");
    // The focus stays there, on the button that reverses the copy.
    await poll(focused).toBe("button Discard the edit on the left svc.services");
    await press(page, "Enter");
    await poll(focused).toBe("button Copy to the left svc.services");
    await press(page, "Enter", "Tab", "Tab");
    expect(await focused()).toBe("button Copy to the right svc.domain");
    await press(page, "Enter");
    await reads(edits, "2 edits in 2 repositories");
    await press(page, "Control+s");
    await poll(() => screen.stored("store", "svc.services")).toEqual(services("node:24"));
    await poll(() => screen.stored("shop", "svc.domain")).toBe("store.test");
    await reads(count(page), "2 of 20");
  });

  test("copies all differences as edits, including resets to a default, to review and save", async () => {
    const { screen, page, review: openReview } = await openScreen(repositories);
    await compare(page, "shop/store");
    await button(page, "Copy all to the right").click();
    await reads(count(page), "Both sides have the same values.");
    const empty = "svc.domain shop: empty default store: empty default";
    await line(page, `${empty} edited Discard the edit on the right svc.domain`);
    const review = await openReview();
    await review.getByRole("row", { name: "svc.domain from store.test to empty default Discard svc.domain" }).waitFor();
    expect(await review.getByRole("button", { name: /^Discard/ }).count()).toBe(4);
    await review.getByRole("button", { name: "Save these 4 edits" }).click();
    await review.waitFor({ state: "detached" });
    const stored = async (repo: string) => (await screen.t.owner.call("config/list", { repo, stored: true })).result;
    await poll(() => stored("store")).toEqual(await stored("shop"));
    await poll(() => page.getByRole("main").getByRole("row").count()).toBe(0);
  });

  test("compares a revision, the defaults and all fields by effective value, and offers no copies to a read-only side", async () => {
    // The first set stores a value that equals the default.
    const { page, hash } = await openScreen({ shop: [{ "svc.timeout": 900 }, { "svc.domain": "shop.test" }] });
    await compare(page, "shop@2/:default");
    await reads(count(page), "Both sides have the same values.");
    await page.getByRole("checkbox", { name: "Show all fields" }).check();
    await line(page, "svc.timeout shop, revision 2: 900 seconds the defaults: 900 seconds default");
    expect(await page.getByRole("main").getByRole("row").count()).toBe(21);
    await page.getByRole("checkbox", { name: "Show all fields" }).uncheck();
    await takeOption(values(page, "Left"), "Its current values");
    await poll(hash).toBe("#/compare/shop/:default");
    await line(page, "svc.domain shop: shop.test the defaults: empty default Copy to the left svc.domain");
    await takeOption(values(page, "Left"), /^Revision 3,/);
    await line(page, "svc.domain shop, revision 3: shop.test the defaults: empty default");
    expect(await page.getByRole("main").getByRole("button", { name: /Copy/ }).count()).toBe(0);
    await repository(page, "Right").fill("shop");
    await page.getByRole("option", { name: "shop" }).click();
    await poll(hash).toBe("#/compare/shop@3/shop");
  });

  test("compares the values in a file that are not active; those that run as commands are not copied from it", async () => {
    const window = await openScreen({ shop: {}, store: {} });
    const { screen, page } = window;
    await compare(page, "store/shop");
    await values(page, "Right").waitFor();
    const config = { svc: { timeout: "soon", domain: "shop.test", services: { web: 5 } } };
    const text = (inFile: object) => JSON.stringify({ name: "shop", config: inFile });
    await screen.t.writeRepository("shop", text(config));
    await untilHealth(screen.t, "shop", health => health.length > 0);
    await takeOption(values(page, "Right"), "The values in its file");
    await poll(window.hash).toBe("#/compare/store/shop:file");
    await line(page, "svc.timeout store: 900 seconds default shop, its file: soon Copy to the left svc.timeout");
    await line(page, "svc.services.web store: not set, default shop, its file: 5");
    await reads(page.getByRole("main"), "Commands and environment variables are not copied from a file.");
    await button(page, "Copy all to the left").click();
    await reads(window.edits, "2 edits");
    await poll(() => page.getByRole("row", { name: /^svc\.services.*edited/ }).count()).toBe(0);
    await screen.t.writeRepository("shop", text({ svc: { domain: "other.test" } }));
    await page.getByRole("row", { name: /svc\.domain .* shop, its file: other\.test/ }).waitFor();
    await screen.t.writeRepository("shop", "{ half");
    await reads(side(page, "Right").getByRole("alert"), "is not valid JSON");
    await side(page, "Right").getByRole("link", { name: "Open its JSON view" }).click();
    await window.text.waitFor();
    await page.getByRole("button", { name: "Discard all" }).click();
  });

  test("updates live on both sides, and says what does not exist", async () => {
    const { screen, page, hash } = await openScreen(repositories);
    await compare(page, "shop/store");
    await screen.set("shop", { "svc.timeout": 45 });
    await page.getByRole("row", { name: /^svc\.timeout shop: 45 seconds store: 60 seconds/ }).waitFor();
    await screen.set("store", { "svc.timeout": 45 });
    await page.getByRole("row", { name: /^svc\.timeout/ }).waitFor({ state: "detached" });
    await screen.t.owner.call("repo/update", { repo: "store", name: "warehouse" });
    await page.getByRole("columnheader", { name: "warehouse" }).waitFor();
    await poll(() => repository(page, "Right").inputValue()).toBe("warehouse");
    await compare(page, "shop@99/store");
    await reads(side(page, "Left").getByRole("alert"), "Revision 99 does not exist yet; the newest is 3.");
    await takeOption(values(page, "Left"), "Its current values");
    await reads(count(page), "differ");
    await screen.t.owner.call("repo/remove", { repo: "store" });
    await reads(side(page, "Right").getByRole("alert"), "There is no repository store");
    expect(await page.getByRole("table").count()).toBe(0);
    await repository(page, "Right").press("Control+a");
    await page.keyboard.type("defaults");
    await page.getByRole("option", { name: "The defaults" }).waitFor();
    await press(page, "ArrowDown", "Enter");
    await poll(hash).toBe("#/compare/shop/:default");
    await page.getByRole("row", { name: /^svc\.timeout shop: 45 seconds the defaults: 900 seconds/ }).waitFor();
  });

  test("finds a repository among many by name or path, distinguishes equal names, and goes back on Escape", async () => {
    const files = Array.from({ length: 205 }, (_, at) => `web${at}`);
    await using screen = await startScreen({ repositories: { shop: {} }, files });
    const { homeFolder } = screen.t;
    for (const [id, path] of Object.entries({ one: homeFolder, two: join(homeFolder, "repos") }))
      await screen.t.owner.call("repo/add", { id, name: "twin", path });
    await screen.set("two", { "svc.timeout": 30 });
    await using window = await screen.open();
    const { page } = window;
    await compare(page, "shop");
    const options = page.getByRole("listbox").getByRole("option");
    await page.getByText("and 9 more: type to find one").waitFor();
    await page.keyboard.type("nothing at all");
    await page.getByText("No repository found.").waitFor();
    await repository(page, "Right").fill("web204");
    await poll(() => options.allInnerTexts()).toEqual(["web204"]);
    await press(page, "Escape");
    await poll(() => repository(page, "Right").inputValue()).toBe("");
    await page.getByRole("listbox").waitFor({ state: "detached" });
    await compare(page, "one/two");
    await page.getByRole("columnheader", { name: "twin (" }).first().waitFor();
    expect(await repository(page, "Left").inputValue()).toBe("twin");
  });
});
