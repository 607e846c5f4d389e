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
import { countActions } from "../helpers/actions.ts";
import type { TestDaemon } from "../helpers/daemon.ts";
import { describeScreen, openScreen, poll, press, reads, type ScreenPage, startScreen } from "../helpers/screen.ts";

const services = { web: { ready: "true", image: "node:24" } };

/** The format of a key's text. */
const keyForm = /repoconf_[0-9a-f]{12}_[A-Za-z0-9_-]{43}/;

const pages = ({ page }: ScreenPage) => page.getByRole("navigation", { name: "Pages" });
const box = ({ page }: ScreenPage, name: string) => page.getByRole("checkbox", { name: new RegExp(`^${name}( |$)`) });
const preview = ({ page }: ScreenPage) => page.getByRole("complementary", { name: "What this key would see" });
const nameInput = ({ page }: ScreenPage) => page.getByRole("textbox", { name: "Name" });
const patternInput = ({ page }: ScreenPage) => page.getByRole("textbox", { name: "As patterns" });

async function newKey(window: ScreenPage): Promise<void> {
  await window.goTo("#/keys/new");
  await nameInput(window).waitFor();
}

const create = ({ page }: ScreenPage) => page.getByRole("button", { name: "Create key" }).click();

/** Creates the key that the form describes, and returns its text as shown on the page. */
async function createKey(window: ScreenPage): Promise<string> {
  await create(window);
  await window.page.getByRole("heading", { level: 1, name: /^Created the key / }).waitFor();
  return window.page.getByText(keyForm).innerText();
}

/** The fields that the preview lists, by repository. */
async function previewedFields(window: ScreenPage): Promise<{ [repo: string]: string[] }> {
  // All at once: the preview may change meanwhile.
  const entries = await preview(window)
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
    const { result } = await tool.call("config/list", { repo: id });
    seen[id] = Object.entries(result)
      .flatMap(([scope, fields]) => Object.keys(fields).map(field => `${scope}.${field}`))
      .sort();
  }
  return seen;
}

describeScreen("keys", () => {
  test("a key to read svc.services of one repository takes 6 clicks and its name; it reads that and is refused the rest", async () => {
    await using window = await openScreen(
      { shop: { "svc.services": services }, store: {} },
      { page: { initialScript: countActions } },
    );
    const { screen, page } = window;
    await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
    await window.row("shop").waitFor();
    await pages(window).getByRole("link", { name: "Keys" }).click();
    await page.getByRole("link", { name: "Create key…" }).click();
    await nameInput(window).and(page.locator(":focus")).waitFor();
    await page.keyboard.type("ci");
    await box(window, "shop").click();
    await box(window, "svc.services").click();
    await create(window);
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

  test("the preview lists exactly what a client can read, however the fields were chosen", async () => {
    await using window = await openScreen({ shop: {}, store: {}, web: {} });
    const { screen } = window;
    const ways: { readonly [name: string]: () => Promise<void> } = {
      "a pattern in two": async () => {
        await box(window, "shop").check();
        await box(window, "web").check();
        await patternInput(window).fill("svc.proxy_*");
      },
      "all but one field, in all": async () => {
        await box(window, "All repositories").check();
        await box(window, "All of svc").check();
        await box(window, "svc.envvars").uncheck();
      },
      "all, in all but one": async () => {
        await box(window, "All repositories").check();
        await box(window, "store").uncheck();
        await box(window, "All fields").check();
      },
    };
    for (const [name, choose] of Object.entries(ways)) {
      await newKey(window);
      await nameInput(window).fill(name);
      await choose();
      const listed = await previewedFields(window);
      expect(Object.keys(listed).length, name).toBeGreaterThan(1);
      expect(await readableFields(screen.t, await createKey(window)), name).toEqual(listed);
      await window.page.getByRole("link", { name: "Done" }).click();
      await window.page.getByRole("rowheader", { name, exact: true }).waitFor();
    }
  });

  test("the preview is live: what the key would see, what is masked, what it could run, what matches nothing; checkboxes follow patterns", async () => {
    const names = ["shop", ...Array.from({ length: 11 }, (_, index) => `web${index}`)];
    await using window = await openScreen(Object.fromEntries(names.map(name => [name, {}])));
    const { screen } = window;
    await newKey(window);
    await reads(preview(window), "Nothing yet");
    await box(window, "shop").check();
    await box(window, "svc.envvars").check();
    await reads(preview(window), "Reads 1 field in 1 repository, and nothing else.");
    await reads(preview(window).getByRole("listitem"), /svc\.envvars\s+masked/);
    await reads(preview(window), "This key can read masked values");
    expect(await preview(window).innerText()).not.toContain("runs as a command");
    await window.page.getByRole("radio", { name: "Read and write" }).check();
    await reads(preview(window), "It could set values that run as commands: svc.envvars.");
    await patternInput(window).fill("svc.timeout nope.*");
    await reads(preview(window), "No field there is now matches nope.*.");
    // More repositories than it lists.
    await box(window, "All repositories").check();
    await reads(preview(window), "Reads and sets 1 field in 12 repositories");
    expect(await preview(window).locator("details").count()).toBe(10);
    await reads(preview(window), "and the same in 2 more repositories");
    // A repository added later is included.
    await screen.t.owner.call("repo/add", { id: "late", name: "late" });
    await reads(preview(window), "in 13 repositories");
    // A long list of checkboxes has a filter.
    await window.page.getByRole("searchbox", { name: "Filter repositories" }).fill("web1");
    await poll(() => window.page.getByRole("group", { name: "Repositories" }).getByRole("checkbox").count()).toBe(3);
    await patternInput(window).fill("svc.proxy_*");
    await poll(() => box(window, "svc.proxy_https").isChecked()).toBe(true);
    expect(await box(window, "svc.timeout").isChecked()).toBe(false);
    await box(window, "All of svc").and(window.page.locator(":indeterminate")).waitFor();
    await patternInput(window).fill("svc*");
    await reads(window.page.getByRole("alert"), "could also match other scopes: write svc.*");
  });

  test("a missing or refused input is reported at its field, and the focus moves there", async () => {
    await using screen = await startScreen({ repositories: { shop: {} } });
    await screen.t.owner.call("key/create", { name: "ci", grants: [] });
    await using window = await screen.open();
    const { page } = window;
    await newKey(window);
    await create(window);
    await poll(() => page.getByRole("alert").allInnerTexts()).toEqual([
      "Enter a name: the history shows it with each change.",
      "Choose a repository, or all of them.",
      "Choose a field, or all of them.",
    ]);
    await nameInput(window).and(page.locator(":focus")).waitFor();
    await nameInput(window).fill("ci");
    await create(window);
    await box(window, "All repositories").and(page.locator(":focus")).waitFor();
    await box(window, "shop").check();
    await box(window, "svc.timeout").check();
    await create(window);
    await poll(() => page.getByRole("alert").allInnerTexts()).toEqual([
      'A key called "ci" already exists. Choose another name, or revoke that key.',
    ]);
    await nameInput(window).and(page.locator(":focus")).waitFor();
    expect(await nameInput(window).getAttribute("aria-invalid")).toBe("true");
    await nameInput(window).fill("owner of all");
    await create(window);
    await reads(page.getByRole("alert"), '"owner of all" cannot be the name of a key');
    await nameInput(window).fill("ci 2");
    await page.getByRole("combobox", { name: "Expires" }).selectOption({ label: "In 30 days" });
    await createKey(window);
    const { result } = await screen.t.owner.call("key/list");
    const expires = Date.parse(result.find(({ name }) => name === "ci 2")?.expires ?? "");
    expect(Math.round((expires - Date.now()) / 86_400_000)).toBe(30);
  });

  test("a key's text is shown only once: it is not in the address, the browser's storage or the log, and not on the page again", async () => {
    await using window = await openScreen({ shop: {} });
    const { screen, page } = window;
    await newKey(window);
    await nameInput(window).fill("ci");
    await box(window, "shop").check();
    await box(window, "svc.timeout").check();
    const key = await createKey(window);
    expect(key).toMatch(keyForm);
    const places = `JSON.stringify([location.href, document.title, history.state, { ...localStorage }, { ...sessionStorage }, document.cookie])`;
    expect(await page.evaluate<string>(places)).not.toContain(key);
    expect(screen.t.log.join("\n")).not.toContain(key);
    await page.getByRole("link", { name: "Done" }).click();
    await page.getByRole("rowheader", { name: "ci" }).waitFor();
    expect(await page.content()).not.toContain(key);
    await page.goBack();
    await nameInput(window).waitFor();
    expect(await page.content()).not.toContain(key);
    expect(await nameInput(window).inputValue()).toBe("");
  });

  test("the list says what each key may do and whether it is in use; revoking asks for confirmation, disconnects, and shows in every window", async () => {
    await using screen = await startScreen({ repositories: { shop: {}, store: {} } });
    // An event announces new keys: this window never polls, and the other one polls all the time.
    await using window = await screen.open({ initialScript: "window.setInterval = () => 0;" });
    const often = "const start = window.setInterval; window.setInterval = task => start(task, 50);";
    await using other = await screen.open({ initialScript: often });
    for (const one of [window, other]) {
      await one.row("shop").waitFor();
      await pages(one).getByRole("link", { name: "Keys" }).click();
      await one.page.getByText("No keys yet.").waitFor();
    }
    const grants = [{ repos: ["shop", "store"], fields: ["svc.timeout", "svc.proxy_*"], right: "write" as const }];
    const { result } = await screen.t.owner.call("key/create", { name: "nightly build", grants });
    const row = (one: ScreenPage) => one.page.getByRole("row", { name: /^nightly build/ });
    for (const one of [window, other])
      await reads(
        row(one),
        /Read and write svc\.timeout and svc\.proxy_\* in shop and store\s+never\s+never\s+just now/,
      );
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
    await using window = await openScreen({ shop: {}, store: {} });
    const { page } = window;
    await window.row("shop").waitFor();
    await pages(window).getByRole("link", { name: "Keys" }).press("Enter");
    await page.getByRole("link", { name: "Create key…" }).press("Enter");
    await nameInput(window).and(page.locator(":focus")).waitFor();
    await page.keyboard.type("ci");
    // Only one checkbox is a Tab stop; the arrow keys reach the others.
    await press(page, "Tab", "ArrowDown", "ArrowDown", "Space");
    expect(await box(window, "store").isChecked()).toBe(true);
    await press(page, "Tab");
    await page.keyboard.type("services");
    await press(page, "Tab", "End", "Space");
    expect(await box(window, "svc.services").isChecked()).toBe(true);
    await press(page, "Shift+Tab", "Shift+Tab");
    await box(window, "store").and(page.locator(":focus")).waitFor();
    await nameInput(window).focus();
    await press(page, "Enter");
    await page.getByRole("button", { name: "Copy" }).and(page.locator(":focus")).waitFor();
    await press(page, "Tab", "Enter");
    await page.getByRole("button", { name: "Revoke… ci" }).press("Enter");
    await page.getByRole("dialog").getByRole("button", { name: "Revoke key" }).press("Enter");
    await page.getByText("No keys yet.").waitFor();
    await poll(() => window.focused()).not.toBe("body");
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
