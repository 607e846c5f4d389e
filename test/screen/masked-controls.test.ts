import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { describeScreen, inPage, isCovered, openScreen, poll, press, reads, shareScreen } from "../helpers/screen.ts";

const text = { type: "string" };
const masked = { "x-masked": true };
const login = { type: "object", properties: { user: text, password: { ...text, ...masked } } };
/** One field for each control: its schema, a stored value with "hush" in each secret text and 4711 as each number, the default. */
const fields = {
  plain: [{ ...text }, "hush plain", ""],
  lines: [{ ...text }, "hush\nlines", ""],
  nullable: [{ type: ["string", "null"] }, "hush nullable", null],
  number: [{ type: "integer" }, 4711, 0],
  choice: [{ enum: ["hush choice", "other"] }, "hush choice", "other"],
  labels: [{ type: "integer", "x-labels": ["zero", "hush label"] }, 1, 0],
  flag: [{ type: "boolean" }, true, false],
  list: [{ type: "array", items: text }, ["hush list", "hush more"], []],
  numbers: [{ type: "array", items: { type: "integer" } }, [4711], []],
  map: [{ type: "object", additionalProperties: text }, { one: "hush map" }, {}],
  object: [
    { type: "object", properties: { a: text, b: { type: "integer" } } },
    { a: "hush object", b: 4711, c: "hush extra" },
    {},
  ],
  table: [
    { type: "array", items: { type: "object", properties: { name: text, value: text, size: { type: "integer" } } } },
    [{ name: "shown", value: "hush table", size: 4711 }],
    [],
  ],
  amount: [{ type: ["integer", "null"] }, 4711, null],
  variables: [
    { type: "array", items: { type: "object", properties: { name: text, value: text } } },
    [{ name: "shown", value: "hush variable" }],
    [],
  ],
  patterns: [{ type: "object", patternProperties: { "^a": text } }, { a: "hush pattern" }, {}],
  checks: [{ type: "array", uniqueItems: true, items: { enum: ["hush check", "b"] } }, ["hush check"], []],
  fixed: [{ ...text, readOnly: true }, "hush fixed", ""],
  either: [{ oneOf: [text, { type: "integer" }] }, "hush either", ""],
  types: [{ type: ["integer", "string"] }, "hush types", ""],
  anything: [{}, { deep: ["hush anything"] }, null],
} as const;
const $defs = { secret: { ...text, ...masked }, login };
/** Fields of which only a part is masked, or which are masked by a reference. */
const parts = {
  logins: [{ type: "array", items: login }, [{ user: "shown", password: "hush logins" }], []],
  words: [{ type: "array", items: { ...text, ...masked } }, ["hush words"], []],
  reference: [{ $ref: "#/$defs/secret" }, "hush reference", ""],
  selection: [{ anyOf: [{ $ref: "#/$defs/secret" }, { type: "null" }] }, "hush selection", null],
  members: [{ type: "array", items: { $ref: "#/$defs/login" } }, [{ user: "shown", password: "hush members" }], []],
  perhaps: [{ additionalProperties: { ...text, ...masked } }, { user: "x", password: "hush perhaps" }, {}],
  maybe: [{ ...login, type: ["object", "null"] }, { user: "x", password: "hush maybe" }, null],
  kinds: [{ ...login, type: ["object", "array"] }, { user: "x", password: "hush of types" }, {}],
  forms: [{ oneOf: [{ $ref: "#/$defs/login" }, text] }, { user: "x", password: "hush forms" }, ""],
  cards: [
    { type: "array", items: { allOf: [{ $ref: "#/$defs/login" }, { properties: { more: { type: "array" } } }] } },
    [{ user: "shown", password: "hush cards", more: [] }],
    [],
  ],
} as const;
const secret = /hush|4711/;

const properties = Object.fromEntries([
  ...Object.entries(fields).map(([name, [schema, , byDefault]]) => [
    name,
    { ...schema, ...masked, title: `The ${name}`, default: byDefault },
  ]),
  ...Object.entries(parts).map(([name, [schema, , byDefault]]) => [
    name,
    { ...schema, title: `The ${name}`, default: byDefault },
  ]),
]);
const scopes = { app: { type: "object", $defs, properties } };
const all = { ...fields, ...parts };
const stored = Object.fromEntries(Object.entries(all).map(([name, [, value]]) => [`app.${name}`, value]));
const titles = Object.keys(all).map(name => `The ${name}`);

describeScreen("masked values", () => {
  const openShop = shareScreen({ scopes });

  test("are in no control and nowhere else in the page before they are shown, and hidden again after", async () => {
    const window = await openShop(stored);
    const { page } = window;
    for (const title of titles) {
      const field = window.field(title);
      const summary = field.getByRole("button", { name: new RegExp(`^${title}:`), expanded: false });
      if ((await summary.count()) > 0) await summary.click();
      await field.getByRole("button", { name: "Show values" }).waitFor();
    }
    expect(await inPage(page)).not.toMatch(secret);
    expect(await page.getByRole("switch", { name: "The flag" }).count()).toBe(0);
    for (const title of titles) {
      const field = window.field(title);
      await field.getByRole("button", { name: "Show values" }).click();
      await poll(async () => {
        const shown = await field
          .locator("input, textarea")
          .evaluateAll(all => all.map(one => ("value" in one ? one.value : "")).join());
        const controls = [shown, await field.innerText()].join();
        return secret.test(controls) || (await field.getByRole("switch").count()) > 0;
      }).toBe(true);
      await field.getByRole("button", { name: "Hide values" }).click();
    }
    await poll(() => inPage(page)).not.toMatch(secret);
    // Names and what is not masked are shown.
    await reads(window.field("The table"), "1 entry: shown");
    await reads(window.field("The map"), "1 entry: one");
  });

  test("of an edit stay hidden after its field has become a plain text, also where it is in conflict", async () => {
    const appScope = (one: object) => ({ type: "object", properties: { login: { title: "Login", ...one } } });
    const shop = { "app.login": { user: "shown", password: "hush theirs" } };
    const window = await openScreen({ shop }, { scopes: { app: appScope({ ...login, default: {} }) } });
    const { page, screen, field } = window;
    await window.choose("shop");
    await window.expand("Login");
    await field("Login").getByRole("textbox", { name: "password" }).fill("hush mine");
    await poll(screen.drafts).toMatchObject([{ value: { password: "hush mine" } }]);
    const plain = appScope({ type: "string", default: "" });
    await writeFile(join(screen.t.homeFolder, "scopes/app.schema.json"), JSON.stringify(plain));
    const set = async () => (await screen.t.owner.call("config/set", { repo: "shop", "app.login": "now" })).errors;
    await poll(set).toEqual([]);
    for (const again of [false, true]) {
      if (again) await page.reload();
      await reads(field("Login").getByRole("alert").first(), "where you changed it too");
      await reads(await window.review(), "••••");
      expect(await inPage(page)).not.toMatch(secret);
      await press(page, "Escape");
    }
  });

  test("are hidden in edits, reviews, the tree, the matrix and a comparison, whatever the control", async () => {
    const window = await openScreen({ shop: stored, other: {} }, { scopes });
    const { screen, page } = window;
    await window.goTo("#/compare/shop/other");
    await reads(page.getByRole("main"), `${titles.length} of`);
    await page.getByRole("button", { name: "Copy all to the right" }).click();
    const review = await window.review();
    await reads(review, /app\.types/);
    expect(await inPage(page)).not.toMatch(secret);
    await press(page, "Escape");
    await window.choose("other");
    for (const name of ["other", "app"]) {
      await window.row(name).focus();
      await press(page, "ArrowRight");
    }
    await window.row("The types").waitFor();
    expect(await inPage(page)).not.toMatch(secret);
    await window.goTo("#/matrix?q=field:app");
    await page.getByRole("gridcell").first().waitFor();
    await page.getByRole("gridcell", { name: "masked, stored, edited" }).first().waitFor();
    expect(await inPage(page)).not.toMatch(secret);
    await page.getByRole("columnheader", { name: /app\.plain/ }).click();
    const input = page.getByRole("region", { name: "Set the selected cells" }).getByLabel("The plain");
    await input.fill("another");
    expect(await isCovered(input)).toBe(true);
    await press(page, "Enter");
    await window.save();
    expect(await screen.stored("other", "app.plain")).toBe("another");
  });

  test("typed while covered replace the stored one; what was typed is covered, also where the text is not a value", async () => {
    const window = await openShop(stored);
    const { page } = window;
    const plain = page.getByRole("textbox", { name: "The plain", exact: true });
    expect([await plain.inputValue(), await plain.getAttribute("placeholder")]).toEqual(["", "•••• type to replace"]);
    await plain.focus();
    await page.keyboard.type("new");
    expect([await plain.inputValue(), await isCovered(plain)]).toEqual(["new", true]);
    await window.field("The plain").getByRole("button", { name: "Discard the edit: The plain" }).click();
    await poll(() => plain.inputValue()).toBe("");
    await plain.fill("newer");
    // A text that is not JSON yet may be a part of the secret.
    await window.expand("The perhaps");
    await window.field("The perhaps").getByRole("button", { name: "Show values" }).click();
    await window.field("The perhaps").getByRole("textbox").fill(`{ "password": "hush`);
    await window.field("The perhaps").getByRole("button", { name: "Hide values" }).click();
    await window.review();
    await reads(page.getByRole("dialog", { name: "Review edits" }), "not a value yet");
    expect(await inPage(page)).not.toMatch(secret);
    await press(page, "Escape");
    await window.field("The perhaps").getByRole("button", { name: "Discard the edit: The perhaps" }).click();
    await window.save();
    expect(await window.stored("app.plain")).toBe("newer");
    expect(await window.stored("app.perhaps")).toEqual({ user: "x", password: "hush perhaps" });
  });
});
