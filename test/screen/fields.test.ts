import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { describeScreen, openScreen, poll, press, reads, type ScreenPage, shareScreen } from "../helpers/screen.ts";
import { takeOption } from "../helpers/take-option.ts";
import { temporaryFolder } from "../helpers/temporary-folder.ts";

const services = {
  web: { ready: "curl -f localhost", image: "node:24" },
  database: { ready: "pg_isready", image: "postgres:17" },
};

/** Opens a select and chooses an option. */
const chooseOption = ({ field }: ScreenPage, title: string, option: string) =>
  takeOption(field(title).locator("[aria-haspopup='listbox']"), option);

describeScreen("fields of the scope svc", () => {
  const openShop = shareScreen();

  test("each field shows its title, description, default, limits and who changed it last", async () => {
    const { screen, repo, inspector, field, page } = await openShop();
    const tool = await screen.t.connectWith([{ repos: "*", fields: ["*"], right: "write" }], "deploy tool");
    await tool.call("config/set", { repo, "svc.timeout": 77, reason: "slow disk", flush: true });
    const timeout = field("Timeout");
    await reads(timeout, /0 to 86.400/);
    await reads(timeout, "modified");
    await timeout.getByRole("spinbutton").focus();
    await reads(inspector, "Seconds to wait for a service to become ready; 0 waits forever.");
    await reads(inspector, "A whole number, 0 to 86,400 seconds");
    await reads(inspector, /Default\s+900 seconds/);
    await reads(inspector, /77 seconds\s+just now by deploy tool: slow disk/);
    const lines = (await screen.t.readRepository(repo)).split("\n");
    const line = lines.findIndex(text => text.includes("timeout")) + 1;
    await reads(inspector, `${repo}.json:${line}`);
    await field("Refresh day").getByRole("button").first().focus();
    await reads(inspector, /Default\s+Sunday/);
    await reads(inspector, "It has never been changed.");
    await field("Provider").getByRole("textbox").focus();
    await reads(inspector, /Default\s+empty/);
    expect(await field("Provider").innerText()).not.toContain("modified");
    const number = timeout.getByRole("spinbutton", { name: "Timeout" });
    expect(await number.getAttribute("aria-valuemax")).toBe("86400");
    await number.and(page.getByRole("spinbutton", { name: "Timeout", description: /Seconds to wait/ })).waitFor();
  });

  test("a boolean, a number, strings, a path and enums are set with the controls that fit them", async () => {
    const window = await openShop({ "svc.services": services });
    const { page } = window;
    const https = page.getByRole("switch", { name: "Proxy HTTPS", exact: true });
    await https.press("Space");
    expect(await https.isChecked()).toBe(true);
    await window.timeout.fill("120");
    await window.timeout.press("ArrowUp");
    await window.timeout.press("PageDown");
    await page.getByRole("textbox", { name: "Application path" }).fill("/srv/shop");
    await page.getByRole("textbox", { name: "Default port" }).fill("4000");
    await window.provider.fill("häuschen ✓");
    await chooseOption(window, "Refresh day", "Friday");
    await chooseOption(window, "Default service", "database");
    await reads(window.edits, "7 edits, not saved");
    await window.save();
    expect(await window.stored("svc")).toEqual({
      services,
      proxy_https: true,
      timeout: 111,
      application_path: "/srv/shop",
      default_port: "4000",
      provider: "häuschen ✓",
      refresh_day: 5,
      default: "database",
    });
  });

  test("an entry whose renaming is left as it was keeps its name, with spaces at its ends", async () => {
    const { page, field, expand, edits } = await openShop({
      "svc.services": { " web": { ready: "true", image: "node:24" } },
    });
    await expand("Services");
    await field("Services").getByRole("button", { name: "Rename [space]web" }).click();
    await field("Services").getByRole("textbox", { name: "New name for [space]web" }).waitFor();
    await page.getByRole("heading", { level: 1 }).click();
    await field("Services").getByRole("button", { name: "Rename [space]web" }).waitFor();
    expect(await edits.count()).toBe(0);
  });

  test("services are cards that can be added, renamed, changed and removed; the default service is one of them, also if it is not saved", async () => {
    const { page, field, expand, focused, save, stored } = await openShop({ "svc.services": services });
    const cards = field("Services");
    await reads(cards, "2 entries: web, database");
    await expand("Services");
    const web = cards.getByRole("region", { name: "Services: web" });
    await web.getByRole("button", { name: "Rename web" }).click();
    await poll(focused).toBe("input New name for web");
    await press(page, "ControlOrMeta+a");
    await page.keyboard.type("database");
    await reads(web, "This name already exists.");
    await page.keyboard.type("2");
    await press(page, "Enter");
    // The focus stays on the card after the form closes.
    await poll(focused).toBe("button Rename database2");
    await cards.getByRole("textbox", { name: "Services: database2: Ready" }).fill("true");
    const database = cards.getByRole("region", { name: "Services: database", exact: true });
    await database.getByRole("button", { name: "Remove database" }).click();
    await database.waitFor({ state: "detached" });
    await poll(focused).not.toBe("body");
    await save();
    expect(await stored("svc.services")).toEqual({ database2: { ready: "true", image: "node:24" } });
    await cards.getByRole("textbox", { name: "Name of the new entry in Services" }).fill("cache");
    await press(page, "Enter");
    await cards.getByRole("textbox", { name: "Services: cache: Image" }).fill("redis:8");
    await field("Default service")
      .getByRole("button", { name: /^(?!Details).*Default service$/ })
      .click();
    await poll(() => page.getByRole("option").allInnerTexts()).toEqual(["none", "database2", "cache"]);
    await page.getByRole("option", { name: "cache" }).click();
    await save();
    expect(await stored("svc.default")).toBe("cache");
    expect(Object.keys(Object(await stored("svc.services")))).toEqual(["database2", "cache"]);
  });

  test("entries of a list are added, reordered and removed, and the focus stays in the list", async () => {
    const window = await openShop({ "svc.proxy_aliases": ["a.test", "b.test"] });
    const { page, field, expand, focused, save, stored } = window;
    const list = field("Proxy aliases");
    await expand("Proxy aliases");
    await list.getByRole("button", { name: "Add an entry to Proxy aliases" }).click();
    await poll(focused).toBe("textarea Proxy aliases, entry 3");
    await page.keyboard.type("c.test");
    await list.getByRole("button", { name: "Move entry 3 of Proxy aliases up" }).click();
    await list.getByRole("button", { name: "Move entry 2 of Proxy aliases up" }).press("Enter");
    await poll(focused).toMatch(/^(button|textarea) /);
    await list.getByRole("button", { name: "Remove entry 3 of Proxy aliases" }).press("Enter");
    await poll(focused).toMatch(/^(button|textarea) /);
    await save();
    expect(await stored("svc.proxy_aliases")).toEqual(["c.test", "a.test"]);
  });

  test("a value that violates the schema is reported at its field while typing", async () => {
    const { screen, page, field, timeout, expand, startSaving, messages, repo } = await openShop();
    await timeout.fill("86401");
    await reads(field("Timeout").getByRole("alert"), "This must be at most 86400.");
    expect(await timeout.getAttribute("aria-invalid")).toBe("true");
    await timeout.fill("1.5");
    await reads(field("Timeout").getByRole("alert"), "This must be an integer, not a number.");
    await timeout.fill("soon");
    await reads(field("Timeout").getByRole("alert"), "Expected a number.");
    await timeout.fill("15");
    await field("Timeout").getByRole("alert").waitFor({ state: "detached" });
    expect(await timeout.getAttribute("aria-invalid")).toBe("false");
    await page.getByRole("textbox", { name: "Default port" }).fill("65536");
    await reads(field("Default port").getByRole("alert"), "This does not have the right form: ");
    const aliases = field("Proxy aliases");
    await expand("Proxy aliases");
    for (const _ of [1, 2]) await aliases.getByRole("button", { name: /Add an entry/ }).click();
    await reads(aliases.getByRole("alert").first(), "This must not be empty.");
    for (const entry of [1, 2]) await aliases.getByLabel(`Proxy aliases, entry ${entry}`, { exact: true }).fill("a");
    await reads(aliases.getByRole("alert"), "This must not contain the same item twice.");
    const table = field("Environment variables");
    await expand("Environment variables");
    await table.getByRole("button", { name: /Add an entry/ }).click();
    await table.getByLabel("Environment variables, entry 1: Name").fill("1A");
    await reads(table.getByRole("alert"), "This does not have the right form: ");
    // Nothing is sent to the daemon while a value is invalid.
    await startSaving();
    await reads(messages, "Nothing was saved.");
    expect(await screen.revision(repo)).toBe(1);
  });

  test("an error that only the daemon can detect also appears at the field, and the edit stays", async () => {
    const window = await openShop({ "svc.services": services, "svc.default": "web" });
    const { page, field } = window;
    await window.timeout.fill("10");
    await window.expand("Services");
    await field("Services").getByRole("button", { name: "Remove web" }).click();
    await window.startSaving();
    await reads(window.messages, "Nothing was saved.");
    await reads(page.getByRole("article").getByRole("alert"), /default/);
    await reads(window.edits, "2 edits, not saved");
    expect(await window.stored("svc.timeout")).toBeUndefined();
    await chooseOption(window, "Default service", "none");
    await window.save();
    expect(await window.stored("svc.services")).toEqual({ database: services.database });
  });

  test("a field and a whole repository are reset to their defaults", async () => {
    const window = await openShop({ "svc.timeout": 5, "svc.domain": "shop.test", "svc.proxy_https": true });
    const { page, timeout, focused, save, stored } = window;
    await page.getByRole("button", { name: /^Reset to default.*Timeout$/ }).click();
    await poll(() => timeout.inputValue()).toBe("900");
    await poll(focused).not.toBe("body");
    await save();
    await poll(() => stored("svc.timeout")).toBeUndefined();
    await page.getByRole("button", { name: "Reset all 2 modified fields" }).click();
    await save();
    await poll(async () => (await stored("svc")) ?? {}).toEqual({});
    expect(await page.getByRole("switch", { name: "Proxy HTTPS", exact: true }).isChecked()).toBe(false);
  });
});

describeScreen("adding repositories", () => {
  test("takes the path of a folder, and its values from its .repoconf.json unless they are to be kept in the home", async () => {
    await using folder = await temporaryFolder();
    for (const name of ["shop", "clone", "other"]) {
      await mkdir(join(folder.path, name));
      if (name === "shop") continue;
      await writeFile(join(folder.path, name, ".repoconf.json"), '{ "config": { "svc": { "timeout": 41 } } }');
    }
    const { screen, page, timeout } = await openScreen({});
    await page.getByRole("heading", { name: "No repository yet" }).waitFor();
    await reads(page.getByRole("navigation", { name: "Repositories and fields" }), "Add one to get started.");
    await page.getByRole("main").getByRole("button", { name: "Add a repository" }).click();
    const dialog = page.getByRole("dialog", { name: "Add a repository" });
    const add = async (path: string, place?: string) => {
      await dialog.getByRole("combobox", { name: /^Folder/ }).fill(path);
      if (place !== undefined) await takeOption(dialog.getByRole("button", { name: /Values where/ }), place);
      await dialog.getByRole("button", { name: "Add", exact: true }).click();
    };
    await add("not/absolute");
    await reads(dialog.getByRole("alert"), /absolute/);
    for (const name of ["shop", "clone", "other"]) {
      const inHome = "In the home, even if the folder has a .repoconf.json";
      await add(join(folder.path, name), name === "other" ? inHome : undefined);
      await page.getByRole("heading", { level: 1, name }).waitFor();
      await poll(() => timeout.inputValue()).toBe(name === "clone" ? "41" : "900");
      await page.getByRole("banner").getByRole("button", { name: "Add a repository" }).click();
    }
    const { result } = await screen.t.owner.call("repo/list");
    expect(result.toSorted((one, other) => one.name.localeCompare(other.name))).toMatchObject([
      { name: "clone", inTree: true },
      { name: "other", inTree: false },
      { name: "shop", path: join(folder.path, "shop"), inTree: false },
    ]);
  });
});
