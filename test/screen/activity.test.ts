import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { describeScreen, goTo, openScreen, poll, press, reads, startScreen } from "../helpers/screen.ts";
import { saveByRename } from "../helpers/shop.ts";

const changes = (page: Page) => page.getByRole("list", { name: "Changes" }).locator("> li");
const titles = (page: Page) => changes(page).getByRole("heading", { level: 2 }).allInnerTexts();
const filter = (page: Page) => page.getByRole("searchbox", { name: "Filter changes" });

/** Opens the page at this address. */
async function openActivity(page: Page, address = "#/activity"): Promise<void> {
  await goTo(page, address);
  await page.getByRole("heading", { level: 1, name: "Activity" }).waitFor();
}

describeScreen("activity", () => {
  test("lists the changes of all repositories, newest first: where, by whom, why and what", async () => {
    await using screen = await startScreen({ repositories: { shop: {}, store: { "svc.timeout": 30 } } });
    const ci = await screen.t.connectWith([{ repos: "*", fields: ["*"], right: "write" }], "ci");
    await ci.call("config/set", { repo: "shop", "svc.domain": "shop.test", reason: "a new name" });
    const file = screen.t.repositoryFile("store");
    await saveByRename(file, (await screen.t.readRepository("store")).replace("30", "31"));
    await poll(() => screen.stored("store", "svc.timeout")).toBe(31);
    await using window = await screen.open();
    const { page } = window;
    await page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name: "Activity" }).click();
    await poll(window.hash).toBe("#/activity");
    await poll(() => titles(page)).toEqual(["store", "shop", "store", "store", "shop"]);
    await reads(changes(page).first(), "by hand");
    const timeout = changes(page).first().getByRole("row", { name: "svc.timeout" });
    await reads(timeout, /from\s+30 seconds\s+to\s+31/);
    await reads(changes(page).nth(1), "by ci");
    await reads(changes(page).nth(1), "a new name");
    await changes(page).nth(1).getByRole("link", { name: "shop", exact: true }).click();
    await page.getByRole("heading", { level: 1, name: "shop" }).waitFor();
    await page.goBack();
    await changes(page).nth(1).getByRole("link", { name: "revision 2" }).click();
    await poll(window.hash).toBe("#/repo/shop/history");
  });

  test("loads older pages on request", async () => {
    const { page } = await openScreen({ shop: Array.from({ length: 60 }, (_, at) => ({ "svc.timeout": at })) });
    await openActivity(page);
    await poll(() => changes(page).count()).toBe(50);
    const older = page.getByRole("button", { name: "Show older entries" });
    await older.press("Enter");
    await poll(() => changes(page).count()).toBe(61);
    await older.waitFor({ state: "detached" });
    const revisions = await changes(page).getByRole("link", { name: "revision" }).allInnerTexts();
    expect(revisions).toEqual(Array.from({ length: 61 }, (_, at) => `revision ${61 - at}`));
  });

  test("a query works by keyboard alone and by chips, stays in the address, and reports a syntax error with its position", async () => {
    const { page, hash } = await openScreen({
      shop: { "svc.timeout": 30, "svc.domain": "shop.test" },
      store: { "svc.domain": "store.test" },
    });
    await openActivity(page);
    await poll(() => titles(page)).toEqual(["store", "store", "shop", "shop"]);
    await filter(page).focus();
    await page.keyboard.type("field:svc.timeout since:x");
    const problem = page.getByRole("alert");
    await reads(problem, "Invalid query at character 19 (since:x)");
    await reads(problem, "Write since:7d");
    expect(await problem.locator("mark").innerText()).toBe("since:x");
    expect(await filter(page).getAttribute("aria-invalid")).toBe("true");
    expect(await changes(page).count()).toBe(0);
    await press(page, "Backspace", "7", "d");
    await poll(() => titles(page)).toEqual(["shop"]);
    await problem.waitFor({ state: "detached" });
    // Shows only the changed fields that match the query.
    expect(await changes(page).getByRole("row", { name: "svc.domain" }).count()).toBe(0);
    await poll(hash).toBe("#/activity?q=field%3Asvc.timeout%20since%3A7d");
    await page.reload();
    await poll(() => titles(page)).toEqual(["shop"]);
    expect(await filter(page).inputValue()).toBe("field:svc.timeout since:7d");
    // Typing the query adds no history entries to go back to.
    await page.goBack();
    await page.getByRole("heading", { level: 1, name: "Needs attention" }).waitFor();
    // Chips add conditions; choosing another actor replaces the first.
    await openActivity(page, "#/activity?q=svc.timeout");
    const chip = (name: string) => page.getByRole("button", { name, exact: true });
    await chip("by hand").press("Space");
    await reads(page.getByRole("main"), "No changes found.");
    expect(await filter(page).inputValue()).toBe("svc.timeout by:file");
    await chip("by you").press("Space");
    await chip("last 24 hours").press("Space");
    await poll(() => titles(page)).toEqual(["shop"]);
    expect(await filter(page).inputValue()).toBe("svc.timeout by:owner since:24h");
    expect(await chip("by hand").getAttribute("aria-pressed")).toBe("false");
    await chip("by you").press("Space");
    await poll(() => filter(page).inputValue()).toBe("svc.timeout since:24h");
    await page.goBack();
    await poll(() => filter(page).inputValue()).toBe("svc.timeout by:owner since:24h");
  });

  test("nothing moves while reading: new changes wait until requested; otherwise a save appears at once if it matches the query", async () => {
    const { screen, page, focused } = await openScreen({ shop: { "svc.timeout": 1 } });
    await openActivity(page);
    const revert = page.getByRole("button", { name: "Revert… revision 2 of shop" });
    await revert.focus();
    const { y: before } = (await revert.boundingBox()) ?? {};
    await screen.set("shop", { "svc.timeout": 2 });
    await screen.set("shop", { "svc.timeout": 3 });
    const more = page.getByRole("status").getByRole("button", { name: "Show 2 new changes" });
    await more.waitFor();
    expect((await revert.boundingBox())?.y).toBe(before);
    expect(await changes(page).count()).toBe(2);
    await more.press("Enter");
    await poll(() => changes(page).count()).toBe(4);
    await reads(changes(page).first(), "3 seconds");
    await more.waitFor({ state: "detached" });
    expect(await focused()).not.toBe("body");
    await using other = await screen.open();
    await openActivity(page, "#/activity?q=svc.timeout");
    await poll(() => changes(page).count()).toBe(3);
    await other.choose("shop");
    await other.provider.fill("here");
    await other.save();
    await other.timeout.fill("42");
    await other.save();
    await poll(() => changes(page).count()).toBe(4);
    await reads(changes(page).first(), "42 seconds");
    await reads(changes(page).first(), "by you (browser)");
    await reads(changes(page).first(), "revision 6");
    // The event of the provider's change arrived before it.
    expect(await changes(page).count()).toBe(4);
  });

  test("one change is reverted after a preview, by keyboard, in a repository that was not open yet", async () => {
    const sets = [{ "svc.timeout": 1 }, { "svc.timeout": 2, "svc.domain": "shop.test" }, { "svc.provider": "here" }];
    const { screen, page } = await openScreen({ shop: sets });
    await openActivity(page, "#/activity?q=svc.timeout");
    await page.getByRole("button", { name: "Revert… revision 3 of shop" }).press("Enter");
    const dialog = page.getByRole("dialog", { name: "Revert revision 3 of shop" });
    await reads(dialog.getByRole("row", { name: /svc\.timeout/ }), /from\s+2 seconds\s+to\s+1 second/);
    // Fields that do not match the query are not shown and stay unchanged.
    expect(await dialog.getByRole("row", { name: /svc\.domain/ }).count()).toBe(0);
    await dialog.getByRole("button", { name: "Restore 1 field" }).press("Enter");
    await dialog.waitFor({ state: "detached" });
    await poll(() => screen.stored("shop", "svc.timeout")).toBe(1);
    expect(await screen.stored("shop", "svc.domain")).toBe("shop.test");
    expect(await screen.stored("shop", "svc.provider")).toBe("here");
  });

  test("a batch is one entry and is reverted as a whole after a preview; fields changed since stay and are listed", async () => {
    await using screen = await startScreen({
      repositories: { api: {}, shop: { "svc.timeout": 9 }, store: {}, web: {} },
    });
    const { owner } = screen.t;
    await owner.call("config/set", {
      repo: ["api", "shop", "store", "web"],
      "svc.timeout": 45,
      "svc.proxy_https": true,
      reason: "all behind the proxy",
    });
    await screen.set("store", { "svc.timeout": 50 });
    await using window = await screen.open();
    const { page } = window;
    await openActivity(page, "#/activity?q=since:24h");
    await poll(async () => (await titles(page)).slice(0, 2)).toEqual(["store", "4 repositories"]);
    const entry = changes(page).nth(1);
    await reads(entry, "all behind the proxy");
    // The same change is listed once, with its repositories.
    expect(await entry.getByRole("heading", { level: 3 }).allInnerTexts()).toEqual([
      expect.stringMatching(/^web\s+store\s+api$/),
      "shop",
    ]);
    await reads(entry.getByRole("row", { name: /svc\.timeout/ }).last(), /from\s+9 seconds\s+to\s+45 seconds/);

    await page.getByRole("button", { name: "Revert… the changes in 4 repositories" }).press("Enter");
    const dialog = page.getByRole("dialog", { name: "Revert this change in all its repositories" });
    await reads(dialog.getByRole("region", { name: "Not changed" }), "store, svc.timeout: It has changed since.");
    await reads(dialog.getByRole("row", { name: /svc\.timeout/ }).last(), /from\s+45 seconds\s+to\s+9 seconds/);
    // A preview changes nothing.
    expect(await screen.stored("web", "svc.timeout")).toBe(45);
    await dialog.getByRole("textbox", { name: /Reason/ }).fill("not yet");
    await dialog.getByRole("button", { name: "Revert in 4 repositories" }).press("Enter");
    await dialog.waitFor({ state: "detached" });
    await reads(window.messages, "Reverted in 4 repositories. Not changed: store, svc.timeout: It has changed since.");
    expect(await screen.stored("shop", "svc.timeout")).toBe(9);
    expect(await screen.stored("web", "svc.timeout")).toBeUndefined();
    expect(await screen.stored("store", "svc.timeout")).toBe(50);
    expect(await screen.stored("store", "svc.proxy_https")).toBeUndefined();

    // It is a single undo step.
    await page.getByRole("banner").getByRole("button", { name: "Undo" }).click();
    await poll(() => screen.stored("web", "svc.timeout")).toBe(45);
    await poll(() => screen.stored("shop", "svc.timeout")).toBe(45);
    await poll(() => screen.stored("store", "svc.proxy_https")).toBe(true);
    expect(await screen.stored("store", "svc.timeout")).toBe(50);
  });
});
