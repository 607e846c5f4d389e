import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import {
  covers,
  pathsOf,
  patternsIn,
  problemOfPatterns,
  withoutPattern,
  withPattern,
} from "../../renderer/keys/field-patterns.ts";
import { describeGrants } from "../../renderer/keys/grant-words.ts";
import { svcSchema } from "../../shared/scopes/svc.ts";
import type { TestDaemon } from "../helpers/daemon.ts";
import { countActions, describeScreen, goTo, openScreen, poll, press, reads, startScreen } from "../helpers/screen.ts";
import { takeOption } from "../helpers/take-option.ts";

const services = { web: { ready: "true", image: "node:24" } };

/** The format of a key's text. */
const keyForm = /repoconf_[0-9a-f]{12}_[A-Za-z0-9_-]{43}/;

const pages = (page: Page) => page.getByRole("navigation", { name: "Pages" });
const box = (page: Page, name: string) => page.getByRole("checkbox", { name: new RegExp(`^${name}( |$)`) });
const preview = (page: Page) => page.getByRole("complementary", { name: "What this key would see" });
const nameInput = (page: Page) => page.getByRole("textbox", { name: "Name" });
const patternInput = (page: Page) => page.getByRole("textbox", { name: "As patterns" });

async function newKey(page: Page): Promise<void> {
  await goTo(page, "#/keys/new");
  await nameInput(page).waitFor();
}

const create = (page: Page) => page.getByRole("button", { name: "Create key" }).click();

/** Creates the key that the form describes, and returns its text as shown on the page. */
async function createKey(page: Page): Promise<string> {
  await create(page);
  await page.getByRole("heading", { level: 1, name: /^Created the key / }).waitFor();
  return page.getByText(keyForm).innerText();
}

/** The fields that the preview lists, by repository. */
async function previewedFields(page: Page): Promise<{ [repo: string]: string[] }> {
  // All at once: the preview may change meanwhile.
  const entries = await preview(page)
    .locator("details")
    .evaluateAll(groups =>
      groups.map(group => {
        const [name = ""] = group.querySelector("summary")?.innerText.split(" ") ?? [];
        return [name, [...group.querySelectorAll("li code")].map(({ textContent }) => textContent).sort()] as const;
      }),
    );
  return Object.fromEntries(entries);
}

/** The fields that a client with the key can read, by repository. */
async function readableFields(t: TestDaemon, key: string): Promise<{ [repo: string]: string[] }> {
  const tool = await t.connect(key);
  const seen: { [repo: string]: string[] } = {};
  for (const { id } of (await tool.call("repo/list")).result) {
    const { result, masked = [] } = await tool.call("config/list", { repo: id });
    seen[id] = Object.entries(result)
      .flatMap(([scope, fields]) => Object.keys(fields).map(field => `${scope}.${field}`))
      .concat(masked)
      .sort();
  }
  return seen;
}

describeScreen("keys", () => {
  test("a key to read svc.services of one repository takes 6 clicks and its name; it reads that and is refused the rest", async () => {
    const repositories = { shop: { "svc.services": services }, store: {} };
    const { screen, page, row } = await openScreen(repositories, { page: { initialScript: countActions } });
    await row("shop").waitFor();
    await pages(page).getByRole("link", { name: "Keys" }).click();
    await page.getByRole("link", { name: "Create a key" }).click();
    await nameInput(page).and(page.locator(":focus")).waitFor();
    await page.keyboard.type("ci");
    await box(page, "shop").click();
    await box(page, "svc.services").click();
    await create(page);
    await page.getByRole("button", { name: "Copy" }).click();
    await page.getByText("Copied.").waitFor();
    expect(await page.evaluate("window.actions")).toEqual({ clicks: 6, keys: 2 });

    const tool = await screen.t.connect(await page.evaluate<string>("navigator.clipboard.readText()"));
    expect((await tool.call("key/self")).result).toMatchObject({ name: "ci" });
    expect(await tool.call("config/list", { repo: "shop" })).toMatchObject({
      result: { svc: { services } },
      errors: [],
    });
    expect((await tool.call("config/list", { repo: "store" })).errors).toMatchObject([{ code: 1102 }]);
    expect((await tool.call("config/list", { repo: "shop", field: "svc.timeout" })).errors).toMatchObject([
      { code: 1011 },
    ]);
    expect((await tool.call("config/set", { repo: "shop", "svc.services": {} })).errors).toMatchObject([
      { code: 1007 },
    ]);
  });

  test("shows what a key changed last, and takes back all that it changed in the time that is chosen", async () => {
    const { screen, page } = await openScreen({ shop: { "svc.timeout": 30 }, store: {} });
    const agent = await screen.t.connectWith([{ repos: "*", fields: ["*"], right: "write" }], "claude");
    await screen.t.connectWith([], "idle");
    await agent.call("config/set", { repo: "store", "svc.timeout": 40 });
    await agent.call("config/set", { repo: "shop", "svc.timeout": 50, "svc.domain": "a.test" });
    await screen.set("shop", { "svc.domain": "b.test" });
    await goTo(page, "#/keys");
    const rowOf = (name: string) => page.getByRole("row", { name: new RegExp(`^${name} `) });
    await reads(rowOf("claude"), /svc\.timeout and 1 more in shop/);
    await reads(rowOf("idle"), /none in 7 days/);
    expect(await page.getByRole("button", { name: /^Undo the changes of / }).count()).toBe(1);
    await page.getByRole("button", { name: "Undo the changes of claude…" }).click();
    const dialog = page.getByRole("dialog", { name: "Undo what the key claude changed" });
    await reads(dialog, /shop, svc\.domain: It has changed since\./);
    await takeOption(dialog.getByRole("button", { name: /Made in$/ }), "the last 7 days");
    await dialog.getByRole("textbox", { name: "Reason" }).fill("not asked for");
    await dialog.getByRole("button", { name: "Revert in 2 repositories" }).click();
    await poll(() => screen.stored("shop", "svc")).toEqual({ timeout: 30, domain: "b.test" });
    await poll(() => screen.stored("store", "svc")).toEqual({});
    const { result } = await screen.t.owner.call("history/list", { repo: "shop", limit: 1 });
    expect(result).toMatchObject([{ reason: "not asked for" }]);
  });

  test("the preview lists exactly what a client can read, however the fields were chosen", async () => {
    const { screen, page } = await openScreen({ shop: {}, store: {}, web: {} });
    const ways: { readonly [name: string]: () => Promise<void> } = {
      "a pattern in two": async () => {
        await box(page, "shop").check();
        await box(page, "web").check();
        await patternInput(page).fill("svc.proxy_*");
      },
      "all but one field, in all": async () => {
        await box(page, "All repositories").check();
        await box(page, "All of svc").check();
        await box(page, "svc.envvars").uncheck();
      },
      "all, in all but one": async () => {
        await box(page, "All repositories").check();
        await box(page, "store").uncheck();
        await box(page, "All fields").check();
      },
    };
    for (const [name, choose] of Object.entries(ways)) {
      await newKey(page);
      await nameInput(page).fill(name);
      await choose();
      const listed = await previewedFields(page);
      expect(Object.keys(listed).length, name).toBeGreaterThan(1);
      expect(await readableFields(screen.t, await createKey(page)), name).toEqual(listed);
      await page.getByRole("link", { name: "All keys" }).click();
      await page.getByRole("rowheader", { name, exact: true }).waitFor();
    }
  });

  test("the preview is live: what the key would see, what is masked, what it could run, what matches nothing; checkboxes follow patterns", async () => {
    const names = ["shop", ...Array.from({ length: 11 }, (_, index) => `web${index}`)];
    const { screen, page } = await openScreen(Object.fromEntries(names.map(name => [name, {}])));
    await newKey(page);
    await reads(preview(page), "Nothing yet");
    await box(page, "shop").check();
    await box(page, "svc.envvars").check();
    await reads(preview(page), "Reads 1 field in 1 repository, and nothing else.");
    await reads(preview(page).getByRole("listitem"), /svc\.envvars\s+masked/);
    await reads(preview(page), "Of masked values, it sees only whether they are there.");
    expect(await preview(page).innerText()).not.toContain("sets environment variables");
    await page.getByRole("radio", { name: "Read and write" }).check();
    await reads(preview(page), "Commands and environment variables wait until you accept them: svc.envvars.");
    await reads(preview(page).getByRole("listitem"), /svc\.envvars\s+masked\s+sets environment variables/);
    await box(page, "See masked values").check();
    await box(page, "Set commands").check();
    await reads(preview(page), "This key can read masked values in clear text.");
    await reads(preview(page), "It could set commands and environment variables: svc.envvars.");
    await patternInput(page).fill("svc.timeout nope.*");
    await reads(preview(page), "No field there is now matches nope.*.");
    // More repositories than it lists.
    await box(page, "All repositories").check();
    await reads(preview(page), "Reads and sets 1 field in 12 repositories");
    expect(await preview(page).locator("details").count()).toBe(10);
    await reads(preview(page), "and the same in 2 more repositories");
    // A repository added later is included.
    await screen.t.owner.call("repo/add", { id: "late", name: "late" });
    await reads(preview(page), "in 13 repositories");
    // A long list of checkboxes has a filter.
    await page.getByRole("searchbox", { name: "Filter repositories" }).fill("web1");
    await poll(() => page.getByRole("group", { name: "Repositories" }).getByRole("checkbox").count()).toBe(3);
    await patternInput(page).fill("svc.proxy_*");
    await poll(() => box(page, "svc.proxy_https").isChecked()).toBe(true);
    expect(await box(page, "svc.timeout").isChecked()).toBe(false);
    await box(page, "All of svc").and(page.locator(":indeterminate")).waitFor();
    await patternInput(page).fill("svc*");
    await reads(page.getByRole("alert"), "could also match other scopes: write svc.*");
  });

  test("a missing or refused input is reported at its field, and the focus moves there", async () => {
    await using screen = await startScreen({ repositories: { shop: {} } });
    await screen.t.owner.call("key/create", { name: "ci", grants: [] });
    await using window = await screen.open();
    const { page } = window;
    await newKey(page);
    await create(page);
    await poll(() => page.getByRole("alert").allInnerTexts()).toEqual([
      "Enter a name: the history shows it with each change.",
      "Choose a repository, or all of them.",
      "Choose a field, or all of them.",
    ]);
    await nameInput(page).and(page.locator(":focus")).waitFor();
    await nameInput(page).fill("ci");
    await create(page);
    await box(page, "All repositories").and(page.locator(":focus")).waitFor();
    await box(page, "shop").check();
    await box(page, "svc.timeout").check();
    await create(page);
    await poll(() => page.getByRole("alert").allInnerTexts()).toEqual([
      'A key called "ci" already exists. Choose another name, or revoke that key.',
    ]);
    await nameInput(page).and(page.locator(":focus")).waitFor();
    expect(await nameInput(page).getAttribute("aria-invalid")).toBe("true");
    await nameInput(page).fill("owner of all");
    await create(page);
    await reads(page.getByRole("alert"), '"owner of all" cannot be the name of a key');
    await nameInput(page).fill("ci 2");
    await takeOption(page.getByRole("button", { name: /Expires/ }), "In 30 days");
    await createKey(page);
    const { result } = await screen.t.owner.call("key/list");
    const expires = Date.parse(result.find(({ name }) => name === "ci 2")?.expires ?? "");
    expect(Math.round((expires - Date.now()) / 86_400_000)).toBe(30);
  });

  test("a key's text is shown only once: it is not in the address, the browser's storage or the log, and not on the page again", async () => {
    const { screen, page } = await openScreen({ shop: {} });
    await newKey(page);
    await nameInput(page).fill("ci");
    await box(page, "shop").check();
    await box(page, "svc.timeout").check();
    const key = await createKey(page);
    expect(key).toMatch(keyForm);
    const places = `JSON.stringify([location.href, document.title, history.state, { ...localStorage }, { ...sessionStorage }, document.cookie])`;
    expect(await page.evaluate<string>(places)).not.toContain(key);
    expect(screen.t.log.join("\n")).not.toContain(key);
    await page.getByRole("link", { name: "All keys" }).click();
    await page.getByRole("rowheader", { name: "ci" }).waitFor();
    expect(await page.content()).not.toContain(key);
    await page.goBack();
    await nameInput(page).waitFor();
    expect(await page.content()).not.toContain(key);
    expect(await nameInput(page).inputValue()).toBe("");
  });

  test("the list says what each key may do and whether it is in use; revoking asks for confirmation, disconnects, and shows in every window", async () => {
    await using screen = await startScreen({ repositories: { shop: {}, store: {} } });
    // An event announces new keys: this window never polls, and the other one polls all the time.
    await using window = await screen.open({ initialScript: "window.setInterval = () => 0;" });
    const often = "const start = window.setInterval; window.setInterval = task => start(task, 50);";
    await using other = await screen.open({ initialScript: often });
    for (const one of [window, other]) {
      await one.row("shop").waitFor();
      await pages(one.page).getByRole("link", { name: "Keys" }).click();
      await one.page.getByText("No keys yet.").waitFor();
    }
    const grants = [{ repos: ["shop", "store"], fields: ["svc.timeout", "svc.proxy_*"], right: "write" as const }];
    const rights = ["reveal"];
    const { result } = await screen.t.owner.call("key/create", { name: "nightly build", grants, rights });
    const row = ({ page }: typeof window) => page.getByRole("row", { name: /^nightly build/ });
    const said =
      /Read and write svc\.timeout and svc\.proxy_\* in shop and store\s+See masked values and secrets\s+never\s+never\s+none in 7 days\s+just now/;
    for (const one of [window, other]) await reads(row(one), said);
    const tool = await screen.t.connect(result.key);
    // No event announces that a key is in use.
    await reads(row(other), "in use now");
    await window.page.reload();
    await reads(row(window), "in use now");
    await window.page.getByRole("button", { name: "Revoke… nightly build" }).click();
    const dialog = window.page.getByRole("dialog", { name: "Revoke the key nightly build?" });
    await reads(dialog, "It is in use now, by 1 connection.");
    await dialog.getByRole("button", { name: "Cancel" }).click();
    expect(tool.socket.connected).toBe(true);
    await window.page.getByRole("button", { name: "Revoke… nightly build" }).click();
    await dialog.getByRole("button", { name: "Revoke key" }).click();
    for (const one of [window, other]) await one.page.getByText("No keys yet.").waitFor();
    await poll(() => tool.socket.connected).toBe(false);
    await expect(screen.t.connect(result.key)).rejects.toThrow("Unauthorized");
  });

  test("are created and revoked by keyboard alone", async () => {
    const { page, row, focused } = await openScreen({ shop: {}, store: {} });
    await row("shop").waitFor();
    await pages(page).getByRole("link", { name: "Keys" }).press("Enter");
    await page.getByRole("link", { name: "Create a key" }).press("Enter");
    await nameInput(page).and(page.locator(":focus")).waitFor();
    await page.keyboard.type("ci");
    // Only one checkbox is a Tab stop; the arrow keys reach the others.
    await press(page, "Tab", "ArrowDown", "ArrowDown", "Space");
    expect(await box(page, "store").isChecked()).toBe(true);
    await press(page, "Tab");
    await page.keyboard.type("services");
    await press(page, "Tab", "End", "Space");
    expect(await box(page, "svc.services").isChecked()).toBe(true);
    await press(page, "Shift+Tab", "Shift+Tab");
    await box(page, "store").and(page.locator(":focus")).waitFor();
    await nameInput(page).focus();
    await press(page, "Enter");
    await page.getByRole("button", { name: "Copy" }).and(page.locator(":focus")).waitFor();
    await press(page, "Tab", "Enter");
    await page.getByRole("button", { name: "Revoke… ci" }).press("Enter");
    await page.getByRole("dialog").getByRole("button", { name: "Revoke key" }).press("Enter");
    await page.getByText("No keys yet.").waitFor();
    await poll(() => focused()).not.toBe("body");
  });
});

describe("field patterns", () => {
  const scopes = [
    { scope: "svc", schema: svcSchema },
    { scope: "ui", schema: { type: "object" as const, properties: { size: { default: 1 }, theme: { default: "" } } } },
  ];
  test("checking a box replaces the patterns that it covers", () => {
    expect(withPattern(["svc.timeout", "ui.size"], "svc.*")).toEqual(["ui.size", "svc.*"]);
    expect(withPattern(["svc.*", "ui.size"], "*")).toEqual(["*"]);
  });
  test("unchecking a box keeps the rest of the pattern that covered it", () => {
    expect(withoutPattern(["*"], "ui.size", scopes)).toEqual(["svc.*", "ui.theme"]);
    expect(withoutPattern(["*"], "svc.*", scopes)).toEqual(["ui.*"]);
    expect(withoutPattern(["svc.proxy_*", "ui.size"], "svc.*", scopes)).toEqual(["ui.size"]);
    expect(withoutPattern(["svc.*", "ui.s*"], "*", scopes)).toEqual([]);
    for (const path of pathsOf(scopes)) {
      const rest = withoutPattern(["svc.proxy_*", "*", "svc.timeout"], path, scopes);
      expect(pathsOf(scopes).filter(one => !covers(rest, one))).toEqual([path]);
    }
  });
  test("are separated by commas or spaces, and invalid ones are named", () => {
    expect(patternsIn(" svc.timeout,ui.*  ui.*\n")).toEqual(["svc.timeout", "ui.*"]);
    expect(problemOfPatterns(["svc.timeout", "*", "ui.*"])).toBeUndefined();
    expect(problemOfPatterns(["svc.*_url"])).toContain("svc.*_url");
    expect(problemOfPatterns(["svc*"])).toContain("write svc.*");
  });
});

test("a key's grants are described in a short sentence, or in full", () => {
  const repos = ["a", "b", "c", "d", "e"];
  const grants = [{ repos, fields: ["svc.*", "ui.size"], right: "read" as const }];
  const nameOf = (repo: string) => repo.toUpperCase();
  expect(describeGrants(grants, nameOf)).toBe("Read all of svc and ui.size in A, B, C, and 2 more repositories");
  expect(describeGrants(grants, nameOf, 10)).toBe("Read all of svc and ui.size in A, B, C, D, and E");
  expect(describeGrants([{ repos: "*", fields: ["*"], right: "write" }], nameOf)).toBe(
    "Read and write all fields in all repositories",
  );
  expect(describeGrants([], nameOf)).toBe("Nothing");
});
