import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { describeScreen, inPage, poll, press, reads, shareScreen } from "../helpers/screen.ts";

const text = { type: "string" };
const form = (kind: string, title: string, properties: object) => ({
  title,
  type: "object",
  properties: { kind: { const: kind }, ...properties },
  required: ["kind", ...Object.keys(properties)],
});

/** What schemas of others are made of: references, forms, choices with titles, values that may be null or are not set. */
const tool = {
  title: "Tool",
  type: "object",
  $defs: {
    port: { type: "integer", minimum: 1, maximum: 65535, description: "Where it listens." },
    named: { type: "object", properties: { host: { ...text, title: "Host" } }, required: ["host"] },
    server: {
      allOf: [{ $ref: "#/$defs/named" }],
      properties: {
        port: { $ref: "#/$defs/port" },
        key: { ...text, "x-masked": true },
        next: { type: "array", items: { $ref: "#/$defs/server" } },
      },
    },
  },
  properties: {
    port: { title: "Port", $ref: "#/$defs/port", default: 80 },
    servers: { title: "Servers", type: "array", items: { $ref: "#/$defs/server" }, default: [] },
    level: {
      title: "Level",
      oneOf: [
        { const: 0, title: "Silent" },
        { const: 1, title: "Normal" },
        { const: 2, title: "Everything" },
      ],
      default: 1,
    },
    count: { title: "Count", type: ["integer", "null"], minimum: 1, default: null },
    flag: { title: "Flag", anyOf: [{ type: "boolean" }, { type: "null" }], default: null },
    tags: { title: "Tags", type: ["array", "null"], items: text, default: null },
    auth: {
      title: "Auth",
      oneOf: [
        form("none", "Nobody", {}),
        form("basic", "Name and password", { user: text }),
        form("token", "A token", { user: text, token: text }),
      ],
      default: { kind: "none" },
    },
    build: {
      title: "Build",
      anyOf: [text, { type: "object", properties: { context: text, file: text }, required: ["context"] }],
      default: ".",
    },
    quick: { title: "Quick", type: ["boolean", "object"], properties: { other: { type: "boolean" } }, default: true },
    colors: {
      title: "Colors",
      type: "array",
      uniqueItems: true,
      items: { anyOf: [{ const: "#f00", title: "Red" }, { enum: ["#0f0"], title: "Green" }, { const: "blue" }] },
      default: [],
    },
    pair: { title: "Pair", type: "array", prefixItems: [text, { type: "boolean" }], items: false, default: [] },
    ratio: { title: "Ratio", type: "number", multipleOf: 0.05, default: 0.1 },
    since: { title: "Since", type: "string", format: "date", default: "2026-01-31" },
    made: { title: "Made by", type: "string", readOnly: true, default: "tool 1.2" },
    old: { title: "Old", type: "string", deprecated: true, default: "" },
    size: { title: "Size", type: "integer", minimum: 1 },
    label: { title: "Label", type: "string" },
    names: { title: "Names", type: "array", items: text },
    ready: { title: "Ready", type: "boolean" },
    mode: { title: "Mode", enum: ["fast", "slow"] },
    hooks: {
      title: "Hooks",
      type: "object",
      patternProperties: { "^on[A-Z]": { type: "boolean" } },
      additionalProperties: false,
      default: {},
    },
    options: { title: "Options", type: "object", properties: { depth: text }, additionalProperties: text, default: {} },
  },
};

const option = (page: Page, name: string) => page.getByRole("option", { name, exact: true });

describeScreen("fields of schemas as people have them", () => {
  const openShared = shareScreen({ scopes: { tool } });

  test("follow references, also to a bound and a description, and step within them", async () => {
    const { field, inspector, save, stored } = await openShared();
    const port = field("Port").getByRole("spinbutton", { name: "Port" });
    await port.fill("70000");
    await reads(field("Port").getByRole("alert"), "This must be at most 65535.");
    await port.press("ArrowDown");
    expect(await port.inputValue()).toBe("65535");
    await reads(inspector, "Where it listens.");
    await reads(inspector, "A whole number, 1 to 65,535");
    await save();
    expect(await stored("tool.port")).toBe(65535);
  });

  test("show an array of objects as numbered cards that fold, to any depth, and what is masked in them is hidden", async () => {
    const { page, field, expand, focused, save, stored } = await openShared();
    await expand("Servers");
    const servers = field("Servers");
    for (const host of ["one.test", "two.test"]) {
      await servers.getByRole("button", { name: "Add an entry to Servers", exact: true }).click();
      await poll(focused).toMatch(/^textarea Servers, entry \d: Host/);
      await page.keyboard.type(host);
    }
    await servers.getByRole("button", { name: "Add port" }).last().click();
    await servers.getByRole("button", { name: "Show values" }).click();
    await servers.getByRole("spinbutton", { name: "Servers, entry 2: port" }).fill("22");
    await servers.getByRole("button", { name: "Add next" }).last().click();
    await servers.getByRole("button", { name: "Add an entry to Servers, entry 2: next" }).click();
    await page.keyboard.type("inner.test");
    await servers.getByRole("button", { name: "Add key" }).first().click();
    await servers.getByRole("textbox", { name: "Servers, entry 1: key" }).fill("hush");
    await servers.getByRole("button", { name: /^Entry 1 of Servers(?!,)/ }).click();
    expect(await servers.getByRole("textbox", { name: "Servers, entry 1: Host" }).count()).toBe(0);
    // A card stays folded or open where it moves to.
    await servers.getByRole("button", { name: "Move entry 2 of Servers up", exact: true }).click();
    await poll(focused).toBe("button Move entry 1 of Servers up");
    await servers.getByRole("textbox", { name: "Servers, entry 1: next, entry 1: Host" }).waitFor();
    expect(await servers.getByRole("button", { name: /^Entry 2 of Servers(?!,)/ }).getAttribute("aria-expanded")).toBe(
      "false",
    );
    await save();
    expect(await stored("tool.servers")).toEqual([
      { host: "two.test", port: 22, next: [{ host: "inner.test" }] },
      { host: "one.test", key: "hush" },
    ]);
    await servers.getByRole("button", { name: "Hide values" }).click();
    await servers.getByRole("button", { name: /^Entry 2 of Servers(?!,)/ }).click();
    expect(await inPage(page)).not.toContain("hush");
  });

  test("with many entries begin folded, have a filter, and open where something is wrong", async () => {
    const many = Array.from({ length: 25 }, (_, at) => ({ host: `host-${at}.test` }));
    const { field, expand } = await openShared({ "tool.servers": many });
    await expand("Servers");
    const servers = field("Servers");
    const cards = servers.getByRole("button", { name: /^Entry \d+ of Servers/ });
    await poll(() => cards.count()).toBe(25);
    expect(await servers.getByRole("textbox").count()).toBe(0);
    await servers.getByRole("button", { name: "Show values" }).click();
    await servers.getByRole("searchbox", { name: "Filter the entries of Servers" }).fill("host-7.");
    await reads(servers.getByRole("status"), "1 of 25 entries");
    await cards.click();
    const host = servers.getByRole("textbox", { name: "Servers, entry 8: Host" });
    await host.fill("other.test");
    // It stays, although it no longer matches.
    expect(await host.inputValue()).toBe("other.test");
    await servers.getByRole("button", { name: "Add an entry to Servers", exact: true }).click();
    await servers.getByRole("textbox", { name: "Servers, entry 26: Host" }).waitFor();
  });

  test("offer choices by their titles, and none where null may be", async () => {
    const { page, field, expand, save, stored } = await openShared();
    await field("Level")
      .getByRole("button", { name: /Level$/ })
      .click();
    await option(page, "Everything").click();
    const count = field("Count").getByRole("spinbutton", { name: "Count" });
    expect(await count.getAttribute("placeholder")).toBe("none");
    await count.fill("7");
    expect(await field("Count").getByRole("checkbox", { name: "none" }).isChecked()).toBe(false);
    await reads(field("Flag"), /none/);
    await field("Flag").getByRole("switch", { name: "Flag" }).press("Space");
    await expand("Tags");
    await field("Tags").getByRole("button", { name: "Add an entry to Tags" }).click();
    await page.keyboard.type("a");
    await save();
    expect(await stored("tool")).toEqual({ level: 2, count: 7, flag: true, tags: ["a"] });
    await field("Count").getByRole("checkbox", { name: "none" }).check();
    await field("Tags").getByRole("checkbox", { name: "none" }).check();
    await save();
    expect(await stored("tool")).toEqual({ level: 2, count: null, flag: true, tags: null });
  });

  test("have a choice of the form of a value, which keeps what both forms have", async () => {
    const { page, field, expand, save, set, stored } = await openShared();
    await expand("Auth");
    const auth = field("Auth");
    const pick = async (title: string, from: string, to: string) => {
      await field(title)
        .getByRole("button", { name: new RegExp(`${from}.*${title}: form`) })
        .click();
      await option(page, to).click();
    };
    await pick("Auth", "Nobody", "Name and password");
    await auth.getByRole("textbox", { name: "Auth: user" }).fill("ada");
    await pick("Auth", "Name and password", "A token");
    await auth.getByRole("textbox", { name: "Auth: token" }).fill("t");
    expect(await auth.getByRole("textbox", { name: "Auth: user" }).inputValue()).toBe("ada");
    await expand("Build");
    const build = field("Build");
    expect(await build.getByRole("textbox", { name: "Build", exact: true }).inputValue()).toBe(".");
    await pick("Build", "A text", "With context, file");
    await build.getByRole("textbox", { name: "Build: context" }).fill("./web");
    await save();
    expect(await stored("tool")).toEqual({
      auth: { kind: "token", user: "ada", token: "t" },
      build: { context: "./web" },
    });
    // What another has set decides, whatever was picked.
    await set({ "tool.auth": { kind: "basic", user: "eve" } });
    await reads(auth.getByRole("button", { name: /Auth: form/ }), "Name and password");
    await pick("Auth", "Name and password", "Nobody");
    await save();
    expect(await stored("tool.auth")).toEqual({ kind: "none" });
  });

  test("have a form for each of several types, check boxes for a set, and for each place of a list its own control", async () => {
    const { page, field, expand, save, stored } = await openShared({ "tool.colors": ["blue"] });
    await expand("Quick");
    await field("Quick")
      .getByRole("button", { name: /On or off.*Quick: form/ })
      .click();
    await option(page, "With other").click();
    await field("Quick").getByRole("button", { name: "Add other" }).click();
    await expand("Colors");
    const colors = field("Colors").getByRole("group", { name: "Colors" });
    await poll(() => colors.getByRole("checkbox", { checked: true }).count()).toBe(1);
    await colors.getByRole("checkbox", { name: "Green" }).check();
    await colors.getByRole("checkbox", { name: "blue" }).uncheck();
    await colors.getByRole("checkbox", { name: "Red" }).check();
    await expand("Pair");
    const add = field("Pair").getByRole("button", { name: "Add an entry to Pair" });
    await add.click();
    await page.keyboard.type("a");
    await add.click();
    await field("Pair").getByRole("switch", { name: "Pair, entry 2" }).press("Space");
    expect(await add.count()).toBe(0);
    await save();
    expect(await stored("tool")).toEqual({ quick: { other: false }, colors: ["#0f0", "#f00"], pair: ["a", true] });
  });

  test("say that nobody has set them, and get a value of their type", async () => {
    const { page, field, expand, focused, save, stored } = await openShared();
    const size = field("Size").getByRole("spinbutton", { name: "Size" });
    for (const control of [size, field("Label").getByRole("textbox", { name: "Label" })])
      expect([await control.inputValue(), await control.getAttribute("placeholder")]).toEqual(["", "not set"]);
    for (const title of ["Names", "Ready", "Mode"]) await reads(field(title), "not set");
    expect(await field("Size").getByRole("alert").count()).toBe(0);
    await size.fill("0");
    await reads(field("Size").getByRole("alert"), "This must be at least 1.");
    await size.fill("4");
    await expand("Names");
    await field("Names").getByRole("button", { name: "Add an entry to Names" }).click();
    await poll(focused).toBe("textarea Names, entry 1");
    await page.keyboard.type("ada");
    await field("Ready").getByRole("switch", { name: "Ready" }).press("Space");
    await field("Mode").getByRole("button", { name: /Mode$/ }).click();
    await option(page, "slow").click();
    await save();
    expect(await stored("tool")).toEqual({ size: 4, names: ["ada"], ready: true, mode: "slow" });
    await page.getByRole("button", { name: "Reset to default: Size" }).click();
    await save();
    await poll(() => size.inputValue()).toBe("");
  });

  test("step by multiples, choose dates, and show what is read-only or deprecated", async () => {
    const { page, field, save, stored } = await openShared({ "tool.ratio": 0.3 });
    const ratio = field("Ratio").getByRole("spinbutton");
    await ratio.focus();
    await press(page, "ArrowUp");
    expect(await ratio.inputValue()).toBe("0.35");
    for (const [key, number] of [
      ["ArrowDown", "0.35"],
      ["ArrowUp", "0.4"],
      ["PageUp", "0.85"],
    ] as const) {
      await ratio.fill("0.37");
      await press(page, key);
      expect(await ratio.inputValue()).toBe(number);
    }
    await field("Since").getByRole("button", { name: "Choose… a date for Since" }).waitFor();
    await field("Since").locator("input[type=date]").fill("2026-02-01");
    const since = field("Since").getByRole("textbox", { name: "Since" });
    await poll(() => since.inputValue()).toBe("2026-02-01");
    await since.fill("");
    expect(await since.getAttribute("placeholder")).toBe("empty: a date such as 2026-01-31");
    await reads(field("Since").getByRole("alert"), "This must be a date such as 2026-01-31.");
    await since.fill("2026-02-01");
    await reads(field("Made by"), /tool 1\.2\s+read-only/);
    expect(await field("Made by").getByRole("textbox").count()).toBe(0);
    await reads(field("Old"), "deprecated");
    await save();
    expect(await stored("tool")).toEqual({ ratio: 0.85, since: "2026-02-01" });
  });

  test("take names by their pattern, and others beside the members that the schema lists", async () => {
    const { page, field, expand, focused, save, stored } = await openShared();
    await expand("Hooks");
    const name = field("Hooks").getByRole("textbox", { name: "Name of the new entry in Hooks" });
    await name.fill("save");
    await reads(field("Hooks"), "A name must match ^on[A-Z].");
    await name.fill("onSave");
    await press(page, "Enter");
    await field("Hooks").getByRole("switch", { name: "Hooks: onSave" }).press("Space");
    await expand("Options");
    await field("Options").getByRole("button", { name: "Add depth" }).click();
    await poll(focused).toBe("textarea Options: depth");
    await field("Options").getByRole("textbox", { name: "Name of the new entry in Options" }).fill("width");
    await press(page, "Enter");
    await field("Options").getByRole("textbox", { name: "Options: width" }).fill("9");
    await save();
    expect(await stored("tool")).toEqual({ hooks: { onSave: true }, options: { depth: "", width: "9" } });
  });
});
