import { expect, test } from "vitest";
import {
  connectionLost,
  describeScreen,
  poll,
  press,
  reads,
  type ScreenPage,
  shareScreen,
  startScreen,
} from "../helpers/screen.ts";

const either = { type: ["integer", "string"] };
const pair = { a: { type: "string", title: "A" }, b: { type: "integer", title: "B" } };
const properties = {
  limit: { title: "Limit", ...either, default: 100 },
  pace: { title: "Pace", oneOf: [{ type: "integer" }, { type: "string", pattern: "^auto$" }], default: "auto" },
  steps: { title: "Steps", type: "array", items: either, default: [] },
  sizes: { title: "Sizes", type: "object", additionalProperties: either, default: {} },
  place: { title: "Place", type: "object", properties: { at: either }, default: {} },
  pairs: { title: "Pairs", type: "array", items: { type: "object", properties: pair }, default: [] },
  note: { title: "Note", type: ["string", "null"], maxLength: 20, default: "a note" },
  rules: { title: "Rules", default: null },
  port: { title: "Port", type: "integer", default: 80 },
  share: { title: "Share", type: "number", default: 1 },
};
const scopes = { app: { properties } };

const openShop = shareScreen({ scopes });

/** Opens the field and returns its control. */
async function textOf(window: ScreenPage, title: string, name = title) {
  await window.expand(title);
  return window.field(title).getByRole("textbox", { name, exact: true });
}

async function isRefused(window: ScreenPage): Promise<void> {
  await window.edits.getByRole("button", { name: "Save", exact: true }).click();
  await reads(window.messages, "Nothing was saved.");
  await window.messages.getByRole("button", { name: "Close" }).click();
}

describeScreen("typed texts", () => {
  test("a text that is not a value is the edit: a save refuses it, it stays, and nothing else is stored", async () => {
    const window = await openShop({ "app.limit": 250, "app.pace": "auto" });
    const limit = await textOf(window, "Limit");
    await limit.focus();
    await press(window.page, "End", "Backspace", "Backspace");
    expect(await limit.inputValue()).toBe("2");
    await press(window.page, "Backspace");
    await reads(window.field("Limit").getByRole("alert"), "This is not valid JSON yet.");
    await isRefused(window);
    const said = "app.limit: What you typed is not a value yet. Correct it, or discard the edit.";
    await reads(window.field("Limit"), said);
    expect(await limit.inputValue()).toBe("");
    expect(await window.stored("app.limit")).toBe(250);
    await window.field("Limit").getByRole("button", { name: "Discard the edit: Limit" }).click();
    await poll(() => limit.inputValue()).toBe("250");

    const pace = await textOf(window, "Pace");
    await pace.focus();
    await press(window.page, "ControlOrMeta+a");
    await window.page.keyboard.type("30s");
    const review = await window.review();
    await review.getByRole("row", { name: "app.pace from auto to 30s not a value yet Discard app.pace" }).waitFor();
    await press(window.page, "Escape");
    await isRefused(window);
    expect(await pace.inputValue()).toBe("30s");
    // A value that the schema refuses is no different.
    await pace.fill(`"30s"`);
    await isRefused(window);
    expect(await window.stored("app.pace")).toBe("auto");
    await pace.fill("30");
    await window.save();
    expect(await window.stored("app.pace")).toBe(30);
  });

  test("a text that is not a value stays in its place within a list, named entries and members, and in a draft as it was typed", async () => {
    await using screen = await startScreen({ repositories: { shop: { "app.steps": [1, 2] } }, scopes });
    {
      await using window = await screen.open({ expected: connectionLost });
      await window.choose("shop");
      await (await textOf(window, "Steps", "Steps, entry 1")).fill("10 s");
      await window.field("Steps").getByRole("button", { name: "Move entry 1 of Steps down" }).click();
      await window.expand("Sizes");
      await window.page.getByRole("textbox", { name: "Name of the new entry in Sizes" }).fill("web");
      await press(window.page, "Enter");
      await window.field("Sizes").getByRole("textbox", { name: "Sizes: web" }).fill("large");
      await window.expand("Place");
      await window.field("Place").getByRole("button", { name: "Add at" }).click();
      await window.field("Place").getByRole("textbox", { name: "Place: at" }).fill("[");
      await window.page.getByRole("spinbutton", { name: "Port" }).fill("80 or so");
      await poll(async () => (await screen.drafts()).length).toBe(4);
      await screen.t.restart();
    }
    await using window = await screen.open();
    await window.choose("shop");
    // What cannot be saved is open.
    const texts = { "Steps, entry 1": "2", "Steps, entry 2": "10 s", "Sizes: web": "large", "Place: at": "[" };
    for (const [name, text] of Object.entries(texts))
      await poll(() => window.page.getByRole("textbox", { name, exact: true }).inputValue()).toBe(text);
    expect(await window.page.getByRole("spinbutton", { name: "Port" }).inputValue()).toBe("80 or so");
    await isRefused(window);
    expect(await screen.stored("shop", "app.steps")).toEqual([1, 2]);
    for (const [name, text] of Object.entries({ "Steps, entry 2": "10", "Sizes: web": `"large"`, "Place: at": "0" }))
      await window.page.getByRole("textbox", { name, exact: true }).fill(text);
    await window.page.getByRole("spinbutton", { name: "Port" }).fill("81");
    await window.save();
    expect((await screen.t.owner.call("config/list", { repo: "shop", stored: true })).result["app"]).toEqual({
      steps: [2, 10],
      sizes: { web: "large" },
      place: { at: 0 },
      port: 81,
    });
  });

  test("a text that is not a value conflicts with a change of the same field, and neither is lost", async () => {
    const window = await openShop({ "app.sizes": { web: 1 } });
    await (await textOf(window, "Sizes", "Sizes: web")).fill("large");
    await window.set({ "app.sizes": { web: 1, mail: 2 } });
    const conflict = window.field("Sizes").getByRole("alert").filter({ hasText: "where you changed it too" });
    await reads(conflict, /Mine\s+app\.sizes\.web\s+from\s+1\s+to\s+large/);
    await reads(conflict, /app\.sizes\.mail/);
    await conflict.getByRole("button", { name: "Take theirs" }).click();
    await poll(() => window.field("Sizes").getByRole("textbox", { name: "Sizes: mail" }).inputValue()).toBe("2");
  });

  test("a number that would be stored as another number is refused with a next step, in its own control and inside JSON", async () => {
    const window = await openShop();
    const port = window.page.getByRole("spinbutton", { name: "Port" });
    const problem = window.field("Port").getByRole("alert").first();
    for (const text of ["9007199254740993", "-9007199254740993", "9007199254740992", "1e400"]) {
      await port.fill(text);
      await reads(problem, /This number (would be rounded|is too large).*; store it as text/);
    }
    for (const text of ["12 minutes", "0x10", "1_000", "1e", ".", "", "١٢"]) {
      await port.fill(text);
      await reads(problem, "Expected a number.");
    }
    // What cannot be read is not replaced by a step.
    await port.fill("0x10");
    await port.press("ArrowUp");
    await isRefused(window);
    expect(await port.inputValue()).toBe("0x10");
    await port.fill("9007199254740991");
    await (await textOf(window, "Limit")).fill("9007199254740993");
    const alert = window.field("Limit").getByRole("alert").first();
    await reads(alert, /A number in it would be rounded.*; store it as text/);
    await isRefused(window);
    await window.field("Limit").getByRole("textbox").fill("9007199254740991");
    await window.save();
    expect(await window.stored("app.port")).toBe(9007199254740991);
    expect(await window.stored("app.limit")).toBe(9007199254740991);
  });

  test("a number is stored as typed with a fraction, an exponent, zeros in front, or blanks around it", async () => {
    const window = await openShop();
    const share = window.page.getByRole("spinbutton", { name: "Share" });
    for (const [text, number] of [
      ["0.1", 0.1],
      ["1e3", 1000],
      ["007", 7],
      [".5", 0.5],
      ["+8.", 8],
      [" -2.50 ", -2.5],
    ] as const) {
      await share.fill(text);
      await window.save();
      expect(await window.stored("app.share")).toBe(number);
    }
  });

  test("JSON with a name twice in one object is refused, because one of both would be dropped", async () => {
    const window = await openShop();
    const text = await textOf(window, "Rules");
    await text.fill(`{ "a": 1, "b": { "a": 2 }, "a": 3 }`);
    await reads(window.field("Rules").getByRole("alert"), `The name "a" appears twice in one object.`);
    await isRefused(window);
    await text.fill(`{ "a": 1, "b": { "a": 2 } }`);
    await window.save();
    expect(await window.stored("app.rules")).toEqual({ a: 1, b: { a: 2 } });
  });

  test("a text that may be none is typed without quotes, and none is a check mark that does not lose the text", async () => {
    const window = await openShop();
    const note = window.page.getByRole("textbox", { name: "Note", exact: true });
    const none = window.page.getByRole("checkbox", { name: "Note: none" });
    expect(await note.inputValue()).toBe("a note");
    await note.fill("slow");
    await window.save();
    expect(await window.stored("app.note")).toBe("slow");
    await none.check();
    expect([await note.inputValue(), await note.getAttribute("placeholder")]).toEqual(["", "none"]);
    await none.uncheck();
    expect(await note.inputValue()).toBe("slow");
    await none.check();
    await window.save();
    expect(await window.stored("app.note")).toBeNull();
    expect(await none.isChecked()).toBe(true);
    await note.focus();
    await window.page.keyboard.type("null");
    expect(await none.isChecked()).toBe(false);
    await window.save();
    expect(await window.stored("app.note")).toBe("null");
    await note.fill("");
    expect([await none.isChecked(), await note.getAttribute("placeholder")]).toEqual([false, "empty"]);
    await window.save();
    expect(await window.stored("app.note")).toBe("");
  });

  test("a table and members show what is stored: a missing member is not shown as a value, and members without a schema are shown", async () => {
    const window = await openShop({ "app.pairs": [{ a: "x" }], "app.place": { at: 1, other: [2] } });
    await window.expand("Pairs");
    const pairs = window.field("Pairs");
    expect(await pairs.getByRole("spinbutton").count()).toBe(0);
    await pairs.getByRole("button", { name: "Add B to entry 1 of Pairs" }).click();
    await poll(window.focused).toBe("spinbutton Pairs, entry 1: B");
    await window.page.keyboard.type("4");
    await window.expand("Place");
    const other = window.field("Place").getByRole("textbox", { name: "Place: other" });
    expect(JSON.parse(await other.inputValue())).toEqual([2]);
    await window.field("Place").getByRole("button", { name: "Remove other of Place" }).click();
    await window.save();
    expect(await window.stored("app.pairs")).toEqual([{ a: "x", b: 4 }]);
    expect(await window.stored("app.place")).toEqual({ at: 1 });
    // An entry with more members than the table has columns is not shown as one of its rows.
    await window.set({ "app.pairs": [{ a: "x", c: true }] });
    await poll(() => pairs.getByRole("textbox", { name: "Pairs, entry 1: c" }).inputValue()).toBe("true");
  });
});
