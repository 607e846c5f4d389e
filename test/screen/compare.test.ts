import { expect, test } from "vitest";
import { countActions } from "../helpers/actions.ts";
import { untilHealth } from "../helpers/broken-file.ts";
import { describeScreen, openScreen, poll, press, reads, type ScreenPage, startScreen } from "../helpers/screen.ts";

const services = (image: string) => ({ web: { ready: "true", image } });
const repositories = {
  shop: { "svc.timeout": 30, "svc.services": services("node:24"), "svc.refresh_day": 5 },
  store: { "svc.timeout": 60, "svc.services": services("node:25"), "svc.domain": "store.test" },
};

const compare = async (window: ScreenPage, address: string) => {
  await window.goTo(`#/compare/${address}`);
  await window.page.getByRole("article", { name: "Compare" }).waitFor();
};
const side = ({ page }: ScreenPage, name: "Left" | "Right") => page.getByRole("group", { name });
const repository = (window: ScreenPage, name: "Left" | "Right") =>
  side(window, name).getByRole("combobox", { name: "Repository" });
const values = (window: ScreenPage, name: "Left" | "Right") =>
  side(window, name).getByRole("combobox", { name: "Values" });
/** Waits for a line, as a screen reader announces it. */
const line = ({ page }: ScreenPage, said: string) => page.getByRole("row", { name: said, exact: true }).waitFor();
const count = ({ page }: ScreenPage) => page.getByRole("main").getByRole("status");
const button = ({ page }: ScreenPage, name: string) =>
  page.getByRole("main").getByRole("button", { name, exact: true });

describeScreen("the compare page", () => {
  test("compares two repositories in 3 clicks from the start page", async () => {
    await using window = await openScreen(repositories, { page: { initialScript: countActions } });
    const { page } = window;
    await window.choose("shop");
    await page.getByRole("link", { name: "Compare…" }).click();
    await page.getByRole("option", { name: "store" }).click();
    await reads(count(window), "4 of 20 fields differ.");
    expect(await page.evaluate("window.actions")).toEqual({ clicks: 3, keys: 0 });
    await poll(window.hash).toBe("#/compare/shop/store");
    const copies = (field: string) => `Copy to the left ${field} Copy to the right ${field}`;
    await line(window, `svc.timeout shop: 30 seconds store: 60 seconds ${copies("svc.timeout")}`);
    await line(window, `svc.services.web.image shop: node:24 store: node:25 ${copies("svc.services")}`);
    await line(window, `svc.domain shop: empty default store: store.test ${copies("svc.domain")}`);
    await line(window, `svc.refresh_day shop: Friday store: Sunday default ${copies("svc.refresh_day")}`);
    await page.goBack();
    await page.goBack();
    await page.getByRole("heading", { level: 1, name: "shop" }).waitFor();
  });

  test("works by keyboard alone: choose, swap, copy, discard, save", async () => {
    await using window = await openScreen(repositories);
    const { screen, page } = window;
    await window.choose("shop");
    await page.getByRole("link", { name: "Compare…" }).focus();
    await press(page, "Enter");
    await repository(window, "Right").and(page.locator(":focus")).waitFor();
    await page.keyboard.type("sto");
    await poll(() => page.getByRole("option").allInnerTexts()).toEqual(["store"]);
    await press(page, "ArrowDown", "Enter");
    await reads(count(window), "4 of 20");
    await page.getByRole("listbox").waitFor({ state: "detached" });
    await button(window, "Swap sides").focus();
    await press(page, "Enter");
    await poll(window.hash).toBe("#/compare/store/shop");
    await button(window, "Copy to the left svc.services").focus();
    await press(page, "Enter");
    // The focus stays there, on the button that reverses the copy.
    await poll(window.focused).toBe("button Discard the edit on the left svc.services");
    await press(page, "Enter");
    await poll(window.focused).toBe("button Copy to the left svc.services");
    await press(page, "Enter", "Tab", "Tab");
    expect(await window.focused()).toBe("button Copy to the right svc.domain");
    await press(page, "Enter");
    await reads(window.edits, "2 edits in 2 repositories");
    await press(page, "Control+s");
    await poll(() => screen.stored("store", "svc.services")).toEqual(services("node:24"));
    await poll(() => screen.stored("shop", "svc.domain")).toBe("store.test");
    await reads(count(window), "2 of 20");
  });

  test("copies all differences as edits, including resets to a default, to review and save", async () => {
    await using window = await openScreen(repositories);
    const { screen, page } = window;
    await compare(window, "shop/store");
    await button(window, "Copy all to the right").click();
    await reads(count(window), "Both sides have the same values.");
    await line(
      window,
      "svc.domain shop: empty default store: empty default edited Discard the edit on the right svc.domain",
    );
    const review = await window.review();
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
    await using window = await openScreen({ shop: [{ "svc.timeout": 900 }, { "svc.domain": "shop.test" }] });
    const { page } = window;
    await compare(window, "shop@2/:default");
    await reads(count(window), "Both sides have the same values.");
    await page.getByRole("checkbox", { name: "Show all fields" }).check();
    await line(window, "svc.timeout shop, revision 2: 900 seconds the defaults: 900 seconds default");
    expect(await page.getByRole("main").getByRole("row").count()).toBe(21);
    await page.getByRole("checkbox", { name: "Show all fields" }).uncheck();
    await values(window, "Left").selectOption({ label: "Its current values" });
    await poll(window.hash).toBe("#/compare/shop/:default");
    await line(window, "svc.domain shop: shop.test the defaults: empty default Copy to the left svc.domain");
    await values(window, "Left").selectOption("shop@3");
    await line(window, "svc.domain shop, revision 3: shop.test the defaults: empty default");
    expect(await page.getByRole("main").getByRole("button", { name: /Copy/ }).count()).toBe(0);
    await repository(window, "Right").fill("shop");
    await page.getByRole("option", { name: "shop" }).click();
    await poll(window.hash).toBe("#/compare/shop@3/shop");
  });

  test("compares the values in a file that are not active; those that run as commands are not copied from it", async () => {
    await using window = await openScreen({ shop: {}, store: {} });
    const { screen, page } = window;
    await compare(window, "store/shop");
    await values(window, "Right").waitFor();
    expect(await values(window, "Right").getByRole("option").allInnerTexts()).not.toContain("The values in its file");
    const config = { svc: { timeout: "soon", domain: "shop.test", services: { web: 5 } } };
    const text = (inFile: object) => JSON.stringify({ name: "shop", config: inFile });
    await screen.t.writeRepository("shop", text(config));
    await untilHealth(screen.t, "shop", health => health.length > 0);
    await values(window, "Right").selectOption({ label: "The values in its file" });
    await poll(window.hash).toBe("#/compare/store/shop:file");
    await line(window, "svc.timeout store: 900 seconds default shop, its file: soon Copy to the left svc.timeout");
    await line(window, "svc.services.web store: not set, default shop, its file: 5");
    await reads(page.getByRole("main"), "Values that run as commands are not copied from a file.");
    await button(window, "Copy all to the left").click();
    await reads(window.edits, "2 edits");
    await poll(() => page.getByRole("row", { name: /^svc\.services.*edited/ }).count()).toBe(0);
    await screen.t.writeRepository("shop", text({ svc: { domain: "other.test" } }));
    await page.getByRole("row", { name: /svc\.domain .* shop, its file: other\.test/ }).waitFor();
    await screen.t.writeRepository("shop", "{ half");
    await reads(side(window, "Right").getByRole("alert"), "is not valid JSON");
    await side(window, "Right").getByRole("link", { name: "Open its JSON view" }).click();
    await window.text.waitFor();
    await page.getByRole("button", { name: "Discard all" }).click();
  });

  test("updates live on both sides, and says what does not exist", async () => {
    await using window = await openScreen(repositories);
    const { screen, page } = window;
    await compare(window, "shop/store");
    await screen.set("shop", { "svc.timeout": 45 });
    await page.getByRole("row", { name: /^svc\.timeout shop: 45 seconds store: 60 seconds/ }).waitFor();
    await screen.set("store", { "svc.timeout": 45 });
    await page.getByRole("row", { name: /^svc\.timeout/ }).waitFor({ state: "detached" });
    await screen.t.owner.call("repo/update", { repo: "store", name: "warehouse" });
    await page.getByRole("columnheader", { name: "warehouse" }).waitFor();
    await poll(() => repository(window, "Right").inputValue()).toBe("warehouse");
    await compare(window, "shop@99/store");
    await reads(side(window, "Left").getByRole("alert"), "Revision 99 does not exist yet; the newest is 3.");
    await values(window, "Left").selectOption({ label: "Its current values" });
    await reads(count(window), "differ");
    await screen.t.owner.call("repo/remove", { repo: "store" });
    await reads(side(window, "Right").getByRole("alert"), "There is no repository store");
    expect(await page.getByRole("table").count()).toBe(0);
    await repository(window, "Right").press("Control+a");
    await page.keyboard.type("defaults");
    await page.getByRole("option", { name: "The defaults" }).waitFor();
    await press(page, "ArrowDown", "Enter");
    await poll(window.hash).toBe("#/compare/shop/:default");
    await page.getByRole("row", { name: /^svc\.timeout shop: 45 seconds the defaults: 900 seconds/ }).waitFor();
  });

  test("finds a repository among many by name or path, distinguishes equal names, and goes back on Escape", async () => {
    const files = Array.from({ length: 205 }, (_, at) => `web${at}`);
    await using screen = await startScreen({ repositories: { shop: {} }, files });
    for (const id of ["one", "two"])
      await screen.t.owner.call("repo/add", { id, name: "twin", path: screen.t.homeFolder });
    await screen.set("two", { "svc.timeout": 30 });
    await using window = await screen.open();
    const { page } = window;
    await compare(window, "shop");
    const options = page.getByRole("listbox").getByRole("option");
    await page.getByText("and 9 more: type to find one").waitFor();
    await page.keyboard.type("nothing at all");
    await page.getByText("No repository found.").waitFor();
    await repository(window, "Right").fill("web204");
    await poll(() => options.allInnerTexts()).toEqual(["web204"]);
    await press(page, "Escape");
    await poll(() => repository(window, "Right").inputValue()).toBe("");
    await page.getByRole("listbox").waitFor({ state: "detached" });
    await compare(window, "one/two");
    await page
      .getByRole("columnheader", { name: /^twin \(/ })
      .first()
      .waitFor();
    expect(await repository(window, "Left").inputValue()).toBe("twin");
  });
});
