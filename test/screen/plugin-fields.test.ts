import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { describeScreen, inPage, isCovered, openScreen, poll, press, reads, shareScreen } from "../helpers/screen.ts";

const text = { type: "string", minLength: 1 };
const listOf = (title: string, items: object) => ({ title, type: "array", items, default: [] });
const objectOf = (title: string, properties: object, required: readonly string[]) =>
  ({ title, type: "object", properties, required }) as const;

const checks = objectOf("Checks", { path: { ...text, title: "Path" }, strict: { title: "Strict", type: "boolean" } }, [
  "path",
]);
const strategy = {
  kind: { title: "Kind", enum: ["rolling", "blue-green"] },
  share: { title: "Share", type: "number", minimum: 0, maximum: 1 },
  checks,
};
const port = { title: "Port", type: "integer", minimum: 1, maximum: 65535 };
const counts = { type: "array", items: { type: "integer", minimum: 1 } };
const size = { low: { type: "integer" }, high: { type: "integer" } };

/** What a third-party scope might contain: nested objects, enums, optional members, nested arrays. */
const deploy = {
  title: "Deploy",
  description: "Where a repository goes.",
  type: "object",
  properties: {
    strategy: { ...objectOf("Strategy", strategy, ["kind"]), default: { kind: "rolling" } },
    hosts: listOf("Hosts", objectOf("Host", { address: { ...text, title: "Address" }, port }, ["address", "port"])),
    waves: listOf("Waves", { type: "array", items: { type: "string", enum: ["one", "two", "three"] } }),
    limits: { title: "Limits", type: "object", additionalProperties: counts, default: {} },
    ratio: { title: "Ratio", type: "number", exclusiveMinimum: 0, exclusiveMaximum: 2, multipleOf: 0.5, default: 1 },
    size: { title: "Size", type: "object", properties: size, minProperties: 2, default: { low: 1, high: 2 } },
    anything: { title: "Anything", description: "No tool knows its form.", default: null },
    token: { title: "Token", type: "string", "x-masked": true, default: "" },
  },
};

const scopes = { deploy };

describeScreen("fields of a custom scope", () => {
  const openShop = shareScreen({ scopes });

  test("appear in the tree under their scope, also if it is added while the screen is open", async () => {
    const { screen, page, row, field } = await openScreen({ shop: {} });
    await row("shop").focus();
    await press(page, "ArrowRight");
    await row("Timeout").waitFor();
    await writeFile(join(screen.t.homeFolder, "scopes/deploy.schema.json"), JSON.stringify(deploy));
    await row("Deploy").waitFor();
    expect(await row("Waves").count()).toBe(0);
    await row("Deploy").focus();
    await press(page, "ArrowRight");
    await row("Waves").click();
    await page.getByRole("heading", { level: 2, name: "Deploy" }).waitFor();
    await reads(field("Deploy"), "Where a repository goes.");
  });

  test("edit nested members, an enum, a decimal number, and optional members that are added and removed", async () => {
    const { page, field, expand, save, stored, focused } = await openShop();
    const strategy = field("Strategy");
    await expand("Strategy");
    await strategy.getByRole("button", { name: "Strategy: Kind" }).click();
    await page.getByRole("option", { name: "blue-green" }).click();
    await strategy.getByRole("button", { name: "Add Share" }).click();
    await strategy.getByRole("spinbutton", { name: "Strategy: Share" }).fill("1.5");
    await reads(strategy.getByRole("alert"), "This must be at most 1.");
    await strategy.getByRole("spinbutton", { name: "Strategy: Share" }).fill("0.25");
    await strategy.getByRole("button", { name: "Add Checks" }).click();
    await reads(strategy.getByRole("alert"), "This must not be empty.");
    await strategy.getByRole("textbox", { name: "Strategy: Checks: Path" }).fill("/health");
    await strategy.getByRole("button", { name: "Add Strict" }).click();
    await strategy.getByRole("switch", { name: "Strategy: Checks: Strict" }).press("Space");
    await save();
    const whole = { kind: "blue-green", share: 0.25, checks: { path: "/health", strict: true } };
    expect(await stored("deploy.strategy")).toEqual(whole);
    await strategy.getByRole("button", { name: "Remove Strict of Strategy: Checks" }).press("Enter");
    await poll(focused).not.toBe("body");
    await strategy.getByRole("button", { name: "Remove Share of Strategy" }).press("Enter");
    await save();
    expect(await stored("deploy.strategy")).toEqual({ kind: "blue-green", checks: { path: "/health" } });
  });

  test("show an array of objects as a table, an array of arrays as nested lists, and an object of arrays as cards with lists", async () => {
    const { page, field, expand, focused, save, stored } = await openShop();
    const hosts = field("Hosts");
    await expand("Hosts");
    await hosts.getByRole("button", { name: "Add an entry to Hosts" }).click();
    await poll(focused).toBe("textarea Hosts, entry 1: Address");
    await page.keyboard.type("ten.test");
    await hosts.getByRole("spinbutton", { name: "Hosts, entry 1: Port" }).fill("0");
    await reads(hosts.getByRole("alert"), "This must be at least 1.");
    await hosts.getByRole("spinbutton", { name: "Hosts, entry 1: Port" }).fill("22");
    const waves = field("Waves");
    await expand("Waves");
    await waves.getByRole("button", { name: "Add an entry to Waves", exact: true }).click();
    await waves.getByRole("button", { name: "Add an entry to Waves, entry 1" }).click();
    await waves.getByRole("button", { name: "Add an entry to Waves, entry 1" }).click();
    await waves.getByRole("button", { name: /Waves, entry 1, entry 2$/ }).click();
    await page.getByRole("option", { name: "three" }).click();
    const limits = field("Limits");
    await expand("Limits");
    await limits.getByRole("textbox", { name: "Name of the new entry in Limits" }).fill("cpu");
    await limits.getByRole("button", { name: "Add", exact: true }).click();
    await limits.getByRole("button", { name: "Add an entry to Limits: cpu" }).click();
    await limits.getByRole("spinbutton", { name: "Limits: cpu, entry 1" }).fill("8");
    await save();
    expect(await stored("deploy")).toEqual({
      hosts: [{ address: "ten.test", port: 22 }],
      waves: [["one", "three"]],
      limits: { cpu: [8] },
    });
  });

  test("are edited as JSON without a form and hidden if masked; one scope is reset separately", async () => {
    const { page, field, expand, save, stored } = await openShop({ "svc.timeout": 5 });
    await expand("Anything");
    const anything = page.getByRole("textbox", { name: "Anything" });
    await anything.fill(`{ "any": [1, `);
    await reads(field("Anything").getByRole("alert"), "This is not valid JSON yet.");
    await anything.fill(`{ "any": [1, 2] }`);
    const token = field("Token").getByLabel("Token", { exact: true });
    await token.fill("hunter2");
    expect(await isCovered(token)).toBe(true);
    await save();
    expect(await stored("deploy.anything")).toEqual({ any: [1, 2] });
    expect(await page.locator("body").innerText()).not.toContain("hunter2");
    await field("Deploy").getByRole("button", { name: "Reset this scope" }).click();
    await save();
    await poll(() => stored("deploy.token")).toBeUndefined();
    expect(await stored("svc.timeout")).toBe(5);
  });

  test("report violated bounds, and what is wrong with an object as a whole", async () => {
    const window = await openShop();
    const problem = (title: string) => window.field(title).getByRole("alert");
    for (const [text, message] of [
      ["0", "This must be more than 0."],
      ["2", "This must be less than 2."],
      ["0.7", "This must be a multiple of 0.5."],
    ] as const) {
      await window.page.getByRole("spinbutton", { name: "Ratio" }).fill(text);
      await reads(problem("Ratio"), message);
    }
    await window.expand("Size");
    await window.field("Size").getByRole("button", { name: "Remove high of Size" }).click();
    await reads(problem("Size"), "This must have at least 2 members.");
  });

  test("an edit of a field that its scope no longer has is listed by the review, hidden, and can be discarded there", async () => {
    const { page, screen, choose, field, edits, review } = await openScreen(
      { shop: { "deploy.token": "before" } },
      { scopes },
    );
    await choose("shop");
    await field("Token").getByRole("textbox", { name: "Token" }).fill("hush");
    await reads(edits, "1 edit");
    const { token: _, ...properties } = deploy.properties;
    const file = join(screen.t.homeFolder, "scopes/deploy.schema.json");
    await writeFile(file, JSON.stringify({ ...deploy, properties }));
    await field("Token").waitFor({ state: "detached" });
    const dialog = await review();
    await reads(dialog, "deploy.token");
    await reads(dialog, "no scope has this field any more");
    expect(await inPage(page)).not.toMatch(/hush|before</);
    await dialog.getByRole("button", { name: /^Discard/ }).click();
    await reads(dialog, "Nothing to save.");
  });
});
