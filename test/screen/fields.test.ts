import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import {
  describeScreen,
  inPage,
  isCovered,
  poll,
  press,
  reads,
  type ScreenPage,
  startScreen,
} from "../helpers/screen.ts";
import { temporaryFolder } from "../helpers/temporary-folder.ts";

const services = {
  web: { ready: "curl -f localhost", image: "node:24" },
  database: { ready: "pg_isready", image: "postgres:17" },
};

/** Opens a select and chooses an option. */
async function chooseOption({ page, field }: ScreenPage, title: string, option: string): Promise<void> {
  const choice = page.locator("[aria-haspopup='listbox']");
  await field(title).getByRole("button", { name: title }).and(choice).click();
  await page.getByRole("option", { name: option, exact: true }).click();
}

describeScreen("fields of the scope svc", () => {
  test("each field shows its title, description, default, limits and who changed it last", async () => {
    await using screen = await startScreen({ repositories: { shop: {} } });
    const { result } = await screen.t.owner.call("key/create", {
      name: "deploy tool",
      grants: [{ repos: "*", fields: ["*"], right: "write" }],
    });
    const tool = await screen.t.connect(result.key);
    const { errors } = await tool.call("config/set", { repo: "shop", "svc.timeout": 77, reason: "slow disk" });
    expect(errors).toEqual([]);
    await using window = await screen.open();
    await window.choose("shop");
    const timeout = window.field("Timeout");
    const { inspector } = window;
    await reads(timeout, /0 to 86.400/);
    await reads(timeout, "modified");
    await timeout.getByRole("spinbutton").focus();
    await reads(inspector, "Seconds to wait for a service to become ready; 0 waits forever.");
    await reads(inspector, "A whole number, 0 to 86,400 seconds");
    await reads(inspector, /Default\s+900 seconds/);
    await reads(inspector, /77 seconds\s+just now by deploy tool: slow disk/);
    const lines = (await screen.t.readRepository("shop")).split("\n");
    const line = lines.findIndex(text => text.includes("timeout")) + 1;
    await reads(inspector, `shop.json:${line}`);
    await window.field("Refresh day").getByRole("button").first().focus();
    await reads(inspector, /Default\s+Sunday/);
    await reads(inspector, "It has never been changed.");
    await window.field("Provider").getByRole("textbox").focus();
    await reads(inspector, /Default\s+empty/);
    expect(await window.field("Provider").innerText()).not.toContain("modified");
    const number = timeout.getByRole("spinbutton", { name: "Timeout" });
    expect(await number.getAttribute("aria-valuemax")).toBe("86400");
    await number
      .and(window.page.getByRole("spinbutton", { name: "Timeout", description: /Seconds to wait/ }))
      .waitFor();
  });

  test("a boolean, a number, strings, a path and enums are set with the controls that fit them", async () => {
    await using screen = await startScreen({ repositories: { shop: { "svc.services": services } } });
    await using window = await screen.open();
    await window.choose("shop");
    const { page } = window;
    const https = page.getByRole("switch", { name: "Proxy HTTPS", exact: true });
    await https.press("Space");
    expect(await https.isChecked()).toBe(true);
    const timeout = page.getByRole("spinbutton", { name: "Timeout" });
    await timeout.fill("120");
    await timeout.press("ArrowUp");
    await timeout.press("PageDown");
    await page.getByRole("textbox", { name: "Application path" }).fill("/srv/shop");
    await page.getByRole("textbox", { name: "Default port" }).fill("4000");
    await page.getByRole("textbox", { name: "Provider" }).fill("häuschen ✓");
    await chooseOption(window, "Refresh day", "Friday");
    await chooseOption(window, "Default service", "database");
    await reads(page.getByRole("region", { name: "Edits", exact: true }), "7 edits, not saved");
    await window.save();
    expect((await screen.t.owner.call("config/list", { repo: "shop", stored: true })).result["svc"]).toEqual({
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

  test("the default service is chosen from the existing ones, including unsaved ones", async () => {
    await using screen = await startScreen({ repositories: { shop: { "svc.services": services } } });
    await using window = await screen.open();
    await window.choose("shop");
    const { page } = window;
    const cards = window.field("Services");
    await window.expand("Services");
    await cards.getByRole("textbox", { name: "Name of the new entry in Services" }).fill("cache");
    await page.keyboard.press("Enter");
    await cards
      .getByRole("region", { name: "Services: cache" })
      .getByRole("textbox", { name: "Services: cache: Image" })
      .fill("redis:8");
    await window.field("Default service").getByRole("button", { name: "Default service" }).click();
    await poll(() => page.getByRole("option").allInnerTexts()).toEqual(["none", "web", "database", "cache"]);
    await page.getByRole("option", { name: "cache" }).click();
    await window.save();
    expect(await screen.stored("shop", "svc.default")).toBe("cache");
    expect(await screen.stored("shop", "svc.services")).toEqual({
      ...services,
      cache: { ready: "", image: "redis:8" },
    });
  });

  test("services are cards that can be added, renamed, changed and removed", async () => {
    await using screen = await startScreen({ repositories: { shop: { "svc.services": services } } });
    await using window = await screen.open();
    await window.choose("shop");
    const { page } = window;
    const cards = window.field("Services");
    await reads(cards, "2 entries: web, database");
    await window.expand("Services");
    const web = cards.getByRole("region", { name: "Services: web" });
    await web.getByRole("button", { name: "Rename web" }).click();
    await poll(window.focused).toBe("input New name for web");
    await page.keyboard.press("ControlOrMeta+a");
    await page.keyboard.type("database");
    await reads(web, "This name already exists.");
    await page.keyboard.type("2");
    await page.keyboard.press("Enter");
    // The focus stays on the card after the form closes.
    await poll(window.focused).toBe("button Rename database2");
    await cards.getByRole("textbox", { name: "Services: database2: Ready" }).fill("true");
    const database = cards.getByRole("region", { name: "Services: database", exact: true });
    await database.getByRole("button", { name: "Remove database" }).click();
    await database.waitFor({ state: "detached" });
    await poll(window.focused).not.toBe("body");
    await window.save();
    expect(await screen.stored("shop", "svc.services")).toEqual({ database2: { ready: "true", image: "node:24" } });
  });

  test("entries of a list are added, reordered and removed, and the focus stays in the list", async () => {
    await using screen = await startScreen({ repositories: { shop: { "svc.proxy_aliases": ["a.test", "b.test"] } } });
    await using window = await screen.open();
    await window.choose("shop");
    const { page } = window;
    const list = window.field("Proxy aliases");
    await window.expand("Proxy aliases");
    await list.getByRole("button", { name: "Add an entry to Proxy aliases" }).click();
    await poll(window.focused).toBe("textarea Proxy aliases, entry 3");
    await page.keyboard.type("c.test");
    await list.getByRole("button", { name: "Move entry 3 of Proxy aliases up" }).click();
    await list.getByRole("button", { name: "Move entry 2 of Proxy aliases up" }).press("Enter");
    await poll(window.focused).toMatch(/^(button|textarea) /);
    await list.getByRole("button", { name: "Remove entry 3 of Proxy aliases" }).press("Enter");
    await poll(window.focused).toMatch(/^(button|textarea) /);
    await window.save();
    expect(await screen.stored("shop", "svc.proxy_aliases")).toEqual(["c.test", "a.test"]);
  });

  test("environment variables are a table whose values are hidden until shown", async () => {
    await using screen = await startScreen({
      repositories: { shop: { "svc.envvars": [{ name: "TOKEN", value: "hunter2" }] } },
    });
    await using window = await screen.open();
    await window.choose("shop");
    const { page } = window;
    const table = window.field("Environment variables");
    await reads(table, "1 entry: TOKEN");
    await window.expand("Environment variables");
    const value = table.getByLabel("Environment variables, entry 1: Value");
    await value.waitFor();
    expect(await value.getAttribute("placeholder")).toBe("•••• type to replace");
    expect(await inPage(page)).not.toContain("hunter2");
    await table.getByRole("button", { name: "Add an entry to Environment variables" }).click();
    await table.getByLabel("Environment variables, entry 2: Name").fill("LEVEL");
    await table.getByLabel("Environment variables, entry 2: Value").fill("secret2");
    expect(await isCovered(table.getByLabel("Environment variables, entry 2: Value"))).toBe(true);
    await page.getByRole("button", { name: "Review" }).click();
    const review = page.getByRole("dialog", { name: "Review edits" });
    await reads(review, "LEVEL");
    expect(await review.innerText()).not.toMatch(/hunter2|secret2/);
    await press(page, "Escape");
    await table.getByRole("button", { name: "Show values" }).click();
    await poll(() => value.inputValue()).toBe("hunter2");
    expect(await isCovered(value)).toBe(false);
    await table.getByRole("button", { name: "Hide values" }).click();
    await poll(() => inPage(page)).not.toContain("hunter2");
    await table.getByRole("button", { name: "Remove entry 1 of Environment variables" }).click();
    await window.save();
    expect(await screen.stored("shop", "svc.envvars")).toEqual([{ name: "LEVEL", value: "secret2" }]);
    await window.view("History");
    await reads(page.getByRole("region", { name: "History" }), "LEVEL");
    expect(await page.locator("body").innerText()).not.toMatch(/hunter2|secret2/);
  });

  test("a value that violates the schema is reported at its field while typing", async () => {
    await using screen = await startScreen({ repositories: { shop: {} } });
    await using window = await screen.open();
    await window.choose("shop");
    const { page, field } = window;
    const timeout = page.getByRole("spinbutton", { name: "Timeout" });
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
    await window.expand("Proxy aliases");
    for (const _ of [1, 2]) await aliases.getByRole("button", { name: /Add an entry/ }).click();
    await reads(aliases.getByRole("alert").first(), "This must not be empty.");
    for (const entry of [1, 2]) await aliases.getByLabel(`Proxy aliases, entry ${entry}`, { exact: true }).fill("a");
    await reads(aliases.getByRole("alert"), "This must not contain the same item twice.");
    const table = field("Environment variables");
    await window.expand("Environment variables");
    await table.getByRole("button", { name: /Add an entry/ }).click();
    await table.getByLabel("Environment variables, entry 1: Name").fill("1A");
    await reads(table.getByRole("alert"), "This does not have the right form: ");
    // Nothing is sent to the daemon while a value is invalid.
    await page.getByRole("button", { name: "Save", exact: true }).click();
    await reads(page.getByRole("log", { name: "Messages" }), "Nothing was saved.");
    expect(await screen.revision("shop")).toBe(1);
  });

  test("text that is not a number is never silently saved as another number", async () => {
    await using screen = await startScreen({ repositories: { shop: {} } });
    await using window = await screen.open();
    await window.choose("shop");
    const { page, field } = window;
    const timeout = page.getByRole("spinbutton", { name: "Timeout" });
    await timeout.fill("12");
    await timeout.fill("12 minutes");
    await reads(field("Timeout").getByRole("alert"), "Expected a number.");
    await page.getByRole("button", { name: "Save", exact: true }).click();
    await reads(page.getByRole("log", { name: "Messages" }), "Nothing was saved.");
    expect(await timeout.inputValue()).toBe("12 minutes");
    expect(await screen.stored("shop", "svc.timeout")).toBeUndefined();
    await page.getByRole("button", { name: "Discard all" }).click();
    await poll(() => timeout.inputValue()).toBe("900");
  });

  test("an error that only the daemon can detect also appears at the field, and the edit stays", async () => {
    await using screen = await startScreen({
      repositories: { shop: { "svc.services": services, "svc.default": "web" } },
    });
    await using window = await screen.open();
    await window.choose("shop");
    const { page, field } = window;
    await page.getByRole("spinbutton", { name: "Timeout" }).fill("10");
    await window.expand("Services");
    await field("Services").getByRole("button", { name: "Remove web" }).click();
    await page.getByRole("button", { name: "Save", exact: true }).click();
    await reads(page.getByRole("log", { name: "Messages" }), "Nothing was saved.");
    await reads(page.getByRole("article").getByRole("alert"), /default/);
    await reads(page.getByRole("region", { name: "Edits", exact: true }), "2 edits, not saved");
    expect(await screen.stored("shop", "svc.timeout")).toBeUndefined();
    await chooseOption(window, "Default service", "none");
    await window.save();
    expect(await screen.stored("shop", "svc.services")).toEqual({ database: services.database });
  });

  test("a field and a whole repository are reset to their defaults", async () => {
    await using screen = await startScreen({
      repositories: { shop: { "svc.timeout": 5, "svc.domain": "shop.test", "svc.proxy_https": true } },
    });
    await using window = await screen.open();
    await window.choose("shop");
    const { page } = window;
    const timeout = page.getByRole("spinbutton", { name: "Timeout" });
    await page.getByRole("button", { name: /^Reset to default.*Timeout$/ }).click();
    await poll(() => timeout.inputValue()).toBe("900");
    await poll(window.focused).not.toBe("body");
    await window.save();
    await poll(() => screen.stored("shop", "svc.timeout")).toBeUndefined();
    await page.getByRole("button", { name: "Reset all 2 modified fields" }).click();
    await window.save();
    await poll(
      async () => (await screen.t.owner.call("config/list", { repo: "shop", stored: true })).result["svc"] ?? {},
    ).toEqual({});
    expect(await page.getByRole("switch", { name: "Proxy HTTPS", exact: true }).isChecked()).toBe(false);
  });
});

describeScreen("adding repositories", () => {
  test("adds the first one by the path of its folder", async () => {
    await using screen = await startScreen();
    await using folder = await temporaryFolder();
    await mkdir(join(folder.path, "shop"));
    await using window = await screen.open();
    const { page } = window;
    await page.getByRole("heading", { name: "No repository yet" }).waitFor();
    await reads(page.getByRole("navigation", { name: "Repositories and fields" }), "Add one to get started.");
    await page.getByRole("main").getByRole("button", { name: "Add a repository" }).click();
    const dialog = page.getByRole("dialog", { name: "Add a repository" });
    await dialog.getByRole("textbox", { name: /^Folder/ }).fill("not/absolute");
    await dialog.getByRole("button", { name: "Add", exact: true }).click();
    await reads(dialog.getByRole("alert"), /absolute/);
    await dialog.getByRole("textbox", { name: /^Folder/ }).fill(join(folder.path, "shop"));
    await dialog.getByRole("button", { name: "Add", exact: true }).click();
    await page.getByRole("heading", { level: 1, name: "shop" }).waitFor();
    const { result } = await screen.t.owner.call("repo/list");
    expect(result).toMatchObject([{ name: "shop", path: join(folder.path, "shop"), inTree: false }]);
    await page.getByRole("spinbutton", { name: "Timeout" }).waitFor();
  });

  test("a folder that has a .repoconf.json is added with its values, unless they are to be kept in the home", async () => {
    await using screen = await startScreen();
    await using folder = await temporaryFolder();
    const text = '{ "config": { "svc": { "timeout": 41 } } }';
    for (const name of ["clone", "other"]) {
      await mkdir(join(folder.path, name));
      await writeFile(join(folder.path, name, ".repoconf.json"), text);
    }
    await using window = await screen.open();
    const { page } = window;
    const add = async (name: string, place?: string) => {
      await page.getByRole("banner").getByRole("button", { name: "Add a repository" }).click();
      const dialog = page.getByRole("dialog", { name: "Add a repository" });
      await dialog.getByRole("textbox", { name: /^Folder/ }).fill(join(folder.path, name));
      if (place !== undefined) await dialog.getByRole("combobox", { name: /^Values/ }).selectOption(place);
      await dialog.getByRole("button", { name: "Add", exact: true }).click();
      await page.getByRole("heading", { level: 1, name }).waitFor();
    };
    await add("clone");
    await poll(() => page.getByRole("spinbutton", { name: "Timeout" }).inputValue()).toBe("41");
    await add("other", "In the home, even if the folder has a .repoconf.json");
    const { result } = await screen.t.owner.call("repo/list");
    expect(Object.fromEntries(result.map(({ name, inTree }) => [name, inTree]))).toEqual({ clone: true, other: false });
  });

  test("adds several at once by a scan of their parent folder", async () => {
    await using screen = await startScreen();
    await using folder = await temporaryFolder();
    for (const name of ["one", "two", "three"]) await mkdir(join(folder.path, name, ".git"), { recursive: true });
    await screen.t.owner.call("repo/add", { name: "one", path: join(folder.path, "one") });
    await using window = await screen.open();
    const { page } = window;
    await page.getByRole("banner").getByRole("button", { name: "Add a repository" }).click();
    const dialog = page.getByRole("dialog", { name: "Add a repository" });
    await poll(window.focused).toMatch(/^(input|section|dialog)/);
    await dialog.getByRole("textbox", { name: /^Folder/ }).fill(folder.path);
    await dialog.getByRole("button", { name: "Scan this folder" }).click();
    await reads(dialog, "3 found");
    await reads(dialog, "already added");
    await dialog.getByRole("checkbox", { name: /three/ }).uncheck();
    await dialog.getByRole("button", { name: "Add 1 of them" }).click();
    await window.row("two").waitFor();
    await dialog.waitFor({ state: "detached" });
    expect((await screen.t.owner.call("repo/list")).result.map(({ name }) => name).sort()).toEqual(["one", "two"]);
  });
});
