import { expect, test } from "vitest";
import { svcSchema } from "../../shared/scopes/svc.ts";
import { launchBrowser } from "../helpers/browser.ts";
import {
  countActions,
  describeScreen,
  dismiss,
  openScreen,
  openShop,
  poll,
  press,
  reads,
  startScreen,
} from "../helpers/screen.ts";

const counted = { width: 1440, height: 900, initialScript: countActions };

describeScreen("the page of a repository", () => {
  test("fits 26 fields into 1,400 pixels at 1440 x 900", async () => {
    const missing = 26 - Object.keys(svcSchema.properties).length;
    const fields = Array.from({ length: missing }, (_, index) => [
      `field_${index}`,
      { title: `Field ${index}`, description: "One more.", type: "string", default: "" },
    ]);
    const stored = { "svc.timeout": 30, "svc.services": { web: { ready: "true", image: "node:24" } } };
    const scopes = { more: { type: "object", properties: Object.fromEntries(fields) } };
    const { page, field } = await openShop(stored, { scopes, page: { width: 1440, height: 900 } });
    await field(`Field ${missing - 1}`).waitFor();
    expect(await page.locator(".field").count()).toBe(26);
    const height = await page.getByRole("main").evaluate(element => element.scrollHeight);
    expect(height).toBeLessThanOrEqual(1_400);
  });

  test("shows only the fields that match the filter, by path, title or value", async () => {
    const { page } = await openShop({ "svc.domain": "shop.example" });
    const filter = page.getByRole("searchbox", { name: "Filter fields" });
    const titles = () => page.getByRole("main").getByRole("heading", { level: 3 }).allInnerTexts();
    await filter.fill("refresh");
    await reads(page.getByRole("main"), "3 of 20 fields");
    await filter.fill("SUNDAY");
    await poll(titles).toEqual(["Refresh day"]);
    await filter.fill("shop.ex");
    await poll(titles).toEqual(["Domain"]);
    await filter.fill("nothing like it");
    await reads(page.getByRole("main"), "No field matches.");
    await press(page, "Escape");
    await poll(async () => (await titles()).length).toBe(20);
  });

  test("shows a field's value in other repositories, with links", async () => {
    const many = Array.from({ length: 12 }, (_, index) => [`web-${index + 10}`, { "svc.timeout": 100 + index }]);
    const added = { store: {}, blog: {}, ...Object.fromEntries(many) };
    const window = await openShop({ "svc.timeout": 30 }, { others: added });
    await window.field("Timeout").getByRole("spinbutton").focus();
    await window.inspector.getByRole("button", { name: "Show its value in other repositories" }).click();
    const others = window.inspector.getByRole("region", { name: "In other repositories" });
    await reads(others, /web-10\s+100 seconds/);
    await reads(others, "and 2 more");
    await reads(others, "2 with the default, 900 seconds");
    await others.getByRole("link", { name: "web-11" }).click();
    await window.page.getByRole("heading", { level: 1, name: "web-11" }).waitFor();
    await window.field("Timeout").and(window.page.locator("[aria-current='true']")).waitFor();
  });

  test("stacks in a narrow window, with the repositories in a drawer and the details below each field", async () => {
    const repositories = { shop: { "svc.timeout": 30 }, store: {} };
    const window = await openScreen(repositories, { page: { width: 600, height: 900 } });
    const { page, tree, choose, row, field, inspector } = window;
    const drawer = page.getByRole("button", { name: "Repositories" });
    await drawer.waitFor();
    expect(await tree.count()).toBe(0);
    await drawer.click();
    await choose("shop");
    await tree.waitFor({ state: "detached" });
    await drawer.click();
    await row("store").waitFor();
    await dismiss(tree);
    const timeout = field("Timeout");
    await timeout.getByRole("button", { name: "Details: Timeout" }).click();
    await reads(timeout, /30 seconds\s+just now by you/);
    await reads(timeout, "Seconds to wait for a service");
    expect(await inspector.count()).toBe(0);
    const isWithin = () => page.getByRole("main").evaluate(element => element.scrollWidth <= element.clientWidth);
    expect(await isWithin()).toBe(true);
  });

  test("stays intact with text of twice the size", async () => {
    await using screen = await startScreen({ repositories: { shop: { "svc.timeout": 30 }, store: {} } });
    await using browser = await launchBrowser(["--blink-settings=defaultFontSize=32"]);
    await using window = await screen.open({ width: 1440, height: 900, browser });
    const { page } = window;
    await window.choose("shop");
    await window.timeout.waitFor();
    // Nothing is cut off, and nothing overlaps.
    expect(await page.evaluate(overlaps)).toEqual([]);
    expect(await page.getByRole("main").evaluate(element => element.scrollWidth <= element.clientWidth)).toBe(true);
  });
});

/** Pairs of a field's parts that overlap. */
const overlaps = `[...document.querySelectorAll(".field")].flatMap(field => {
  const parts = [...field.querySelectorAll("h3, .field-path, .field-control :is(input, button, .unit, .hint, .switch), .field-tools > *")];
  const boxes = parts.map(part => [part, part.getBoundingClientRect()]);
  return boxes.flatMap(([one, a], index) =>
    boxes.slice(index + 1)
      .filter(([other, b]) => !one.contains(other) && a.right > b.left + 1 && b.right > a.left + 1 && a.bottom > b.top + 1 && b.bottom > a.top + 1)
      .map(([other]) => one.className + " on " + other.className),
  );
})`;

describeScreen("the number of clicks and keys", () => {
  test("is 4 clicks to find out who changed svc.timeout and to revert it", async () => {
    const shop = [{ "svc.timeout": 30 }, { "svc.timeout": 60 }];
    const { screen, page, row, field, inspector } = await openScreen({ shop }, { page: counted });
    await row("shop").click();
    await field("Timeout").click();
    await reads(inspector, /60 seconds\s+just now by you/);
    await inspector.getByRole("button", { name: "Revert revision 3" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Restore 1 field" }).click();
    await poll(() => screen.stored("shop", "svc.timeout")).toBe(30);
    expect(await page.evaluate("window.actions")).toEqual({ clicks: 4, keys: 0 });
  });

  test("is 3 clicks and at most 30 keys to add a service", async () => {
    const { screen, page, row, expand, focused } = await openScreen({ shop: {} }, { page: counted });
    await row("shop").click();
    await expand("Services");
    await page.getByRole("textbox", { name: "Name of the new entry in Services" }).click();
    await page.keyboard.type("web");
    await press(page, "Enter");
    await poll(focused).toBe("textarea Services: web: Ready");
    await page.keyboard.type("true");
    await press(page, "Tab");
    await page.keyboard.type("node:24");
    await press(page, "Control+s");
    await poll(() => screen.stored("shop", "svc.services")).toEqual({ web: { ready: "true", image: "node:24" } });
    expect(await page.evaluate("window.actions.clicks")).toBe(3);
    expect(await page.evaluate<number>("window.actions.keys")).toBeLessThanOrEqual(30);
  });
});
