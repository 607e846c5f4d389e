import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { describeScreen, openScreen, openShop, poll, press, reads } from "../helpers/screen.ts";

const properties = Object.fromEntries(
  Array.from({ length: 30 }, (_, at) => [`f${at}`, { title: `Own ${at}`, type: "integer", minimum: 0, default: 0 }]),
);
const scopes = { app: { title: "App", type: "object", properties } };

const tools = (page: Page) => ({
  text: page.getByRole("searchbox", { name: "Filter fields" }),
  modified: page.getByRole("main").getByRole("button", { name: "Modified", exact: true }),
  problems: page.getByRole("main").getByRole("button", { name: "With problems" }),
  scope: page.getByRole("button", { name: /Scope$/ }),
  all: page.getByRole("button", { name: "Show all fields" }),
  titles: () => page.locator(".field h3").allInnerTexts(),
});

describeScreen("the filter of the fields", () => {
  test("narrows them to modified ones, those with problems and a scope, and goes on in the next repository", async () => {
    const store = { "svc.domain": "store.test", "app.f2": 2 };
    const { page, choose, screen } = await openShop({ "svc.timeout": 30, "app.f1": 1 }, { others: { store }, scopes });
    const { modified, problems, scope, all, text, titles } = tools(page);
    await modified.press("Enter");
    await poll(titles).toEqual(["Timeout", "Own 1"]);
    await reads(page.getByRole("main").getByRole("status").first(), "2 of 50 fields");
    // An edit counts too, and one that ends stays while it has the focus.
    await screen.t.owner.call("draft/set", { drafts: [{ repo: "shop", field: "app.f3", value: 5 }] });
    await poll(titles).toEqual(["Timeout", "Own 1", "Own 3"]);
    await page.getByRole("spinbutton", { name: "Own 3" }).fill("0");
    await page.getByRole("button", { name: "Discard the edit: Own 3" }).waitFor({ state: "detached" });
    expect(await titles()).toEqual(["Timeout", "Own 1", "Own 3"]);
    await scope.click();
    await page.getByRole("option", { name: "App" }).click();
    await poll(titles).toEqual(["Own 1"]);
    await choose("store");
    await poll(titles).toEqual(["Own 2"]);
    expect(await modified.getAttribute("aria-pressed")).toBe("true");
    await page.getByRole("spinbutton", { name: "Own 2" }).fill("-2");
    await all.press("Enter");
    await poll(async () => (await titles()).length).toBe(50);
    await problems.press("Enter");
    await poll(titles).toEqual(["Own 2"]);
    await text.fill("nothing has this");
    await reads(page.getByRole("main"), "No field matches.");
  });

  test("does not hide the field that a link leads to, until something else is typed", async () => {
    const { page, goTo, field, focused } = await openShop({ "svc.timeout": 30 }, { scopes });
    const { text, titles } = tools(page);
    await text.fill("svc.domain");
    await poll(titles).toEqual(["Domain"]);
    await goTo("#/repo/shop/app.f7");
    await field("Own 7").waitFor();
    await press(page, "Control+k");
    await page.keyboard.type("timeout");
    await page
      .getByRole("option", { name: /^Timeout/ })
      .first()
      .waitFor();
    await press(page, "Enter");
    await poll(focused).toBe("spinbutton Timeout");
    await poll(titles).toEqual(["Timeout", "Domain"]);
    await text.fill("svc.domai");
    await poll(titles).toEqual(["Domain"]);
  });

  test.each([
    [1440, 900],
    [900, 700],
    [360, 740],
  ])("stays in sight in a window of %i by %i, over the field that has the focus", async (width, height) => {
    // In the narrow window the repositories are in a drawer.
    const { page } = await openScreen({ shop: { "svc.timeout": 30 } }, { scopes, page: { width, height } });
    await page.getByRole("heading", { level: 1 }).waitFor();
    await page.evaluate(`location.hash = "#/repo/shop"`);
    const { text, modified } = tools(page);
    const last = page.getByRole("spinbutton", { name: "Own 29" });
    await last.focus();
    await last.scrollIntoViewIfNeeded();
    for (const tool of [text, modified]) {
      const box = await tool.boundingBox();
      expect(box).not.toBeNull();
      expect(box?.y).toBeGreaterThan(0);
      // Nothing covers it.
      await tool.click({ trial: true });
    }
    // From below, what gets the focus comes into sight below it.
    await press(page, "Shift+Tab");
    for (let at = 0; at < 20; at += 1) await press(page, "Shift+Tab");
    const head = await modified.boundingBox();
    await poll(async () => {
      const box = await page.locator(":focus").boundingBox();
      return box !== null && head !== null && box.y >= head.y + head.height;
    }).toBe(true);
  });
});
