import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import type { Locator, Page } from "playwright-core";
import { expect, test } from "vitest";
import { breakFile } from "../helpers/broken-file.ts";
import { describeScreen, dismiss, openPage, openScreen, press, shareScreen, startScreen } from "../helpers/screen.ts";

const axe = await readFile(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

interface AxeResults {
  readonly violations: readonly {
    readonly id: string;
    readonly help: string;
    readonly nodes: readonly { readonly target: readonly string[]; readonly failureSummary: string }[];
  }[];
}

// Only the colours differ from the light appearance.
const ofColors = ["color-contrast", "link-in-text-block"];
const appearances = [
  { appearance: "light", media: { colorScheme: "light", forcedColors: "none" }, rules: undefined },
  { appearance: "dark", media: { colorScheme: "dark", forcedColors: "none" }, rules: ofColors },
  { appearance: "forced colours", media: { colorScheme: "light", forcedColors: "active" }, rules: ofColors },
] as const;

/**
 * Once this is shown, axe reports nothing on the page, or within a part of it: by all its rules in light colours, and by the colour rules in dark and forced colours.
 * The test injects axe with the browser's own tools, so the page keeps its Content Security Policy.
 */
async function hasNoFindings(page: Page, shown: Locator, within = "html"): Promise<void> {
  await shown.waitFor();
  if (!(await page.evaluate("'axe' in window"))) await page.evaluate(axe);
  const found: string[] = [];
  for (const { appearance, media, rules } of appearances) {
    await page.emulateMedia(media);
    const options = { reporter: "no-passes", ...(rules !== undefined && { runOnly: { type: "rule", values: rules } }) };
    const { violations } = await page.evaluate<AxeResults>(`axe.run("${within}", ${JSON.stringify(options)})`);
    for (const { id, help, nodes } of violations)
      for (const { target, failureSummary } of nodes)
        found.push(`${appearance}: ${id}: ${help}: ${target.join(" ")}: ${failureSummary}`);
  }
  await page.emulateMedia(appearances[0].media);
  expect(found).toEqual([]);
}

const repositories = {
  shop: {
    "svc.timeout": 30,
    "svc.services": { web: { ready: "true", image: "node:24" } },
    "svc.envvars": [{ name: "TOKEN", value: "hunter2" }],
    "svc.proxy_aliases": ["www.test"],
  },
  broken: {},
};

const properties = {
  note: { title: "Note", type: ["string", "null"], default: null },
  secret: { title: "Secret", type: "string", "x-masked": true, default: "hush" },
  number: { title: "Number", type: "integer", "x-masked": true, default: 1 },
  list: { title: "List", type: "array", items: { type: "integer" }, "x-masked": true, default: [1] },
  limit: { title: "Limit", type: ["integer", "string"], default: 1 },
  size: { title: "Size", type: "integer" },
  day: { title: "Day", type: "string", format: "date", deprecated: true, default: "" },
  made: { title: "Made by", type: "string", readOnly: true, default: "a tool" },
  cards: {
    title: "Cards",
    type: "array",
    items: {
      title: "Of named entries",
      type: "object",
      description: "Each has a name.",
      additionalProperties: { type: "string", description: "A text." },
      properties: { more: { type: "array", items: { type: "integer" }, description: "Numbers." } },
    },
    default: [{ more: Array.from({ length: 21 }, () => 1) }],
  },
  form: { title: "Form", anyOf: [{ type: "string" }, { type: "array", items: { type: "string" } }], default: "a" },
  table: {
    title: "Table",
    type: "array",
    items: { type: "object", properties: { a: { type: "string" }, b: { type: "integer" } } },
    default: [{ a: "x" }],
  },
};

describeScreen("axe", () => {
  const openOwnShop = shareScreen({ others: { blog: {} }, scopes: { app: { type: "object", properties } } });

  test("reports nothing without a session, or on a page without a repository", async () => {
    await using screen = await startScreen();
    await using visitor = await openPage(`http://${screen.t.screenHost}`);
    await hasNoFindings(visitor.page, visitor.page.getByRole("heading", { level: 1 }));
    await using window = await screen.open();
    await hasNoFindings(window.page, window.page.getByRole("heading", { name: "No repository yet" }));
  });

  test("reports nothing on the overview, the fields, the history and the text", async () => {
    const shop = [repositories.shop, { "svc.domain": "shop.test", reason: "a reason" }];
    const window = await openScreen({ ...repositories, shop });
    const { screen, page, row, choose, timeout, provider, field, view, text } = window;
    await breakFile(screen.t, "broken");
    await hasNoFindings(page, page.getByRole("heading", { name: "Files with problems" }));
    await page.getByRole("searchbox", { name: /^Search/ }).fill("@modified");
    await row("Timeout").waitFor();
    await choose("shop");
    await timeout.fill("-1");
    await provider.fill("mine");
    await screen.set("shop", { "svc.provider": "theirs" });
    await hasNoFindings(page, field("Provider").getByRole("button", { name: "Keep mine" }));
    await view("History");
    await hasNoFindings(page, page.getByRole("heading", { level: 2, name: "Revision 3" }));
    await view("JSON");
    await hasNoFindings(page, text);
    await page.getByRole("searchbox", { name: /^Search/ }).fill("");
    await choose("broken");
    await page.getByRole("complementary", { name: "Problems with the file" }).waitFor();
    await text.waitFor();
    await page.getByRole("button", { name: "Compare with the active values" }).click();
    await hasNoFindings(page, page.getByRole("textbox", { name: "The active values" }));
  });

  test("reports nothing on the start page with all its sections, or on the activity page", async () => {
    const clones = { site: { svc: { services: repositories.shop["svc.services"] } } };
    const window = await openScreen({ ...repositories, store: {}, web: {} }, { clones });
    const { screen, page, choose, provider, field, goTo } = window;
    await screen.t.owner.call("config/set", { repo: ["shop", "store", "web"], "svc.timeout": 60, reason: "a reason" });
    await screen.set("web", { "svc.timeout": 61 });
    await breakFile(screen.t, "broken");
    await screen.t.owner.call("repo/update", { repo: "web", favourite: true });
    await choose("shop");
    await provider.fill("mine");
    await screen.set("shop", { "svc.provider": "theirs" });
    await field("Provider").getByRole("button", { name: "Keep mine" }).waitFor();
    await goTo("#/");
    await page.getByRole("button", { name: "Review edits" }).waitFor();
    await page.getByRole("region", { name: "Favourites" }).waitFor();
    await page.getByRole("button", { name: /^Show ?: svc.services$/ }).click();
    await page.getByRole("figure", { name: "In the file" }).waitFor();
    await hasNoFindings(page, page.getByRole("link", { name: "3 repositories" }));
    await goTo("#/activity");
    await page.getByRole("button", { name: "Revert… the changes in 3 repositories" }).focus();
    await screen.set("shop", { "svc.provider": "another's" });
    await hasNoFindings(page, page.getByRole("button", { name: "Show 1 new change" }));
    await page.getByRole("button", { name: "Revert… the changes in 3 repositories" }).click();
    await hasNoFindings(page, page.getByRole("heading", { name: "Not changed" }));
    await press(page, "Escape");
    await page.getByRole("searchbox", { name: "Filter changes" }).fill("since:x");
    await hasNoFindings(page, page.getByRole("alert"));
  });

  test("reports nothing on the keys and sessions pages", async () => {
    const { screen, page, goTo } = await openOwnShop(repositories.shop);
    const fields = ["svc.timeout", "svc.domain", "svc.provider", "svc.proxy_*"];
    await screen.t.owner.call("key/create", { name: "ci", grants: [{ repos: "*", fields, right: "write" }] });
    await goTo("#/keys");
    await hasNoFindings(page, page.getByRole("button", { name: "Revoke… ci" }));
    await page.getByRole("button", { name: "Revoke… ci" }).click();
    await hasNoFindings(page, page.getByRole("dialog", { name: "Revoke the key ci?" }));
    await press(page, "Escape");
    await goTo("#/sessions");
    await hasNoFindings(page, page.getByText("this window"));
    await goTo("#/keys/new");
    await page.getByRole("button", { name: "Create key" }).click();
    await page.getByRole("alert").first().waitFor();
    await page.getByRole("checkbox", { name: "All repositories" }).check();
    await page.getByRole("checkbox", { name: /^svc\.envvars/ }).check();
    await page.getByRole("radio", { name: "Read and write" }).check();
    await hasNoFindings(page, page.getByText("Commands and environment variables wait until you accept them"));
    await page.getByRole("textbox", { name: "Name" }).fill("tool");
    await page.getByRole("button", { name: "Create key" }).click();
    await hasNoFindings(page, page.getByRole("button", { name: "Copy" }));
  });

  test("reports nothing on texts that may be none, hidden values, and texts that are not values yet", async () => {
    const { page, expand, timeout, startSaving, field } = await openOwnShop();
    for (const title of ["List", "Limit", "Table", "Cards", "Form", "Environment variables"]) await expand(title);
    await page.getByRole("button", { name: /^Paste a .env/ }).click();
    await page.getByRole("textbox", { name: /^Text of the .env/ }).fill("A=1");
    await page.getByRole("textbox", { name: "Limit" }).fill("30s");
    await page.getByRole("textbox", { name: "Secret" }).fill("typed");
    await timeout.fill("0x10");
    await startSaving();
    await hasNoFindings(page, field("Limit").getByText("This is not valid JSON yet."));
  });

  test("reports nothing on the matrix", async () => {
    const { page, goTo, startSaving } = await openOwnShop(repositories.shop);
    await goTo("#/matrix?q=field:svc");
    await hasNoFindings(page, page.getByRole("gridcell", { name: "30 seconds, stored, differs from most" }));
    // An edit and a refused edit, both selected.
    await page.getByRole("columnheader", { name: /svc\.default empty/ }).click();
    await page.getByRole("textbox", { name: "Default service" }).fill("web");
    await page.getByRole("button", { name: "Apply" }).click();
    await startSaving();
    await page.getByRole("gridcell", { name: /^web, .*refused/ }).waitFor();
    await page.getByRole("searchbox", { name: "Query" }).fill("since:");
    await hasNoFindings(page, page.getByRole("main").getByRole("alert"));
    await page.getByRole("searchbox", { name: "Query" }).fill("nothing-like-it");
    await hasNoFindings(page, page.getByText("No results."));
  });

  test("reports nothing in dialogs and lists", async () => {
    const { page, field, review, view } = await openOwnShop([repositories.shop, { "svc.timeout": 31 }]);
    const checkDialog = async (title: string) => {
      await hasNoFindings(page, page.getByRole("dialog", { name: title }), "[role=dialog]");
      await dismiss(page.getByRole("dialog"));
    };
    await page.getByRole("banner").getByRole("button", { name: "Add a repository" }).click();
    await checkDialog("Add a repository");
    await press(page, "Control+k");
    await page.getByRole("option").first().waitFor();
    await checkDialog("Go to a place, or run a command");
    await press(page, "?");
    await checkDialog("Keys");
    await page.setViewportSize({ width: 900, height: 700 });
    await page.getByRole("button", { name: "More" }).click();
    await hasNoFindings(page, page.getByRole("menuitem", { name: "Sign out" }));
    await press(page, "Escape");
    await page.setViewportSize({ width: 1280, height: 800 });
    await field("Refresh day")
      .getByRole("button", { name: /^\w+ Refresh day$/ })
      .click();
    await hasNoFindings(page, page.getByRole("option", { name: "Friday" }));
    await page.getByRole("option", { name: "Friday" }).click();
    await review();
    await page.getByRole("row", { name: /refresh_day/ }).waitFor();
    await checkDialog("Review edits");
    await page.getByRole("button", { name: "Discard all" }).click();
    await view("History");
    await page.getByRole("button", { name: "Restore… revision 2" }).click();
    await page.getByRole("row", { name: "svc.timeout" }).last().waitFor();
    await checkDialog("Restore revision 2");
  });

  test("reports nothing on the compare page", async () => {
    const { page, goTo, repo } = await openOwnShop(repositories.shop);
    await page.getByRole("link", { name: "Compare", exact: true }).click();
    await hasNoFindings(page, page.getByRole("option", { name: "blog" }));
    await page.getByRole("option", { name: "blog" }).click();
    await page.getByRole("button", { name: "Copy to the right svc.timeout" }).click();
    await hasNoFindings(page, page.getByRole("row", { name: /svc\.timeout .*edited/ }));
    await goTo(`#/compare/${repo}@99/:default`);
    await hasNoFindings(page, page.getByRole("alert"));
  });
});

describeScreen("forced colours", () => {
  test("keep a switch's state, the tree's selection and a problem's mark visible", async () => {
    const window = await openScreen(repositories);
    const { screen, page } = window;
    await page.emulateMedia({ forcedColors: "active" });
    await breakFile(screen.t, "broken");
    const row = window.row("shop");
    const unselected = await row.screenshot();
    await window.choose("shop");
    await page.mouse.move(0, 0);
    expect((await row.screenshot()).equals(unselected)).toBe(false);
    const track = page.getByRole("main").locator(".switch-track").first();
    const thumb = track.locator(".switch-thumb");
    const color = (element: typeof track) =>
      element.evaluate(one => one.ownerDocument.defaultView?.getComputedStyle(one).backgroundColor);
    expect(await color(thumb)).not.toBe(await color(track));
    const on = await track.screenshot();
    await page.getByRole("switch").first().press("Space");
    expect(await color(thumb)).not.toBe(await color(track));
    expect((await track.screenshot()).equals(on)).toBe(false);
    const mark = window.row("broken").locator(".mark-problem");
    expect(await color(mark)).not.toBe(await color(window.row("broken")));
  });
});
