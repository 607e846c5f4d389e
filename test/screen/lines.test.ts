import { describe, expect, test } from "vitest";
import { withLineFeeds, withOwnLineEnds } from "../../renderer/fields/line-ends.ts";
import { describeScreen, openScreen, poll, press, reads, shareScreen } from "../helpers/screen.ts";

const text = { type: "string", default: "" };
const properties = {
  note: { ...text, title: "Note" },
  secret: { ...text, title: "Secret", "x-masked": true },
  perhaps: { type: ["string", "null"], title: "Perhaps", default: null },
  list: { type: "array", items: { type: "string" }, title: "List", default: [] },
  map: { type: "object", additionalProperties: { type: "string" }, title: "Map", default: {} },
  table: { type: "array", items: { properties: { a: { ...text, title: "A" } } }, title: "Table", default: [] },
};
const scopes = { app: { properties } };

describeScreen("a text of several lines", () => {
  const openShop = shareScreen({ scopes });

  test("keeps its control, focus and caret when its last line break is deleted", async () => {
    const { page, timeout, save, focused, stored } = await openShop({ "app.note": "one\ntwo" });
    // Something that an undo outside of the text would revert.
    await timeout.fill("5");
    await save();
    const note = page.getByRole("textbox", { name: "Note" });
    await note.focus();
    await press(page, "ControlOrMeta+End", "Home", "Backspace");
    expect(await focused()).toBe("textarea Note");
    await page.keyboard.type(" and ");
    expect(await note.inputValue()).toBe("one and two");
    await press(page, "ControlOrMeta+z");
    await poll(() => note.inputValue()).not.toBe("one and two");
    expect(await stored("svc.timeout")).toBe(5);
    await note.fill("one and two");
    await save();
    expect(await stored("app.note")).toBe("one and two");
  });

  test("can be typed and pasted in every control of a text, also where it is covered, and is stored as it is", async () => {
    const { page, expand, save, stored, field } = await openShop({
      "app.list": [""],
      "app.map": { one: "" },
      "app.table": [{ a: "" }],
      "app.secret": "old\nsecret",
    });
    for (const title of ["List", "Map", "Table"]) await expand(title);
    const names = ["Note", "Secret", "Perhaps", "List, entry 1", "Map: one", "Table, entry 1: A"];
    for (const name of names) {
      const control = page.getByRole("textbox", { name, exact: true });
      const height = async () => (await control.boundingBox())?.height ?? 0;
      const before = await height();
      await control.focus();
      await page.keyboard.type("a");
      await press(page, "Enter");
      await page.keyboard.insertText("b\nc\n");
      expect(await control.inputValue()).toBe("a\nb\nc\n");
      // All lines are in sight.
      await poll(height).toBeGreaterThan(before * 2);
    }
    await save();
    expect(await stored("app")).toEqual({
      note: "a\nb\nc\n",
      secret: "a\nb\nc\n",
      perhaps: "a\nb\nc\n",
      list: ["a\nb\nc\n"],
      map: { one: "a\nb\nc\n" },
      table: [{ a: "a\nb\nc\n" }],
    });
    await field("Secret").getByRole("button", { name: "Show values" }).click();
    const secret = page.getByRole("textbox", { name: "Secret" });
    await secret.press("ControlOrMeta+End");
    await page.keyboard.type("d");
    await save();
    expect(await stored("app.secret")).toBe("a\nb\nc\nd");
  });

  test("keeps the line ends that were not edited", async () => {
    const { page, save, stored } = await openShop({ "app.note": "one\r\ntwo\nthree" });
    const note = page.getByRole("textbox", { name: "Note" });
    await note.focus();
    await press(page, "ControlOrMeta+Home", "End");
    await page.keyboard.type(" 1");
    // Where several characters are typed, the caret has to stay.
    expect(await note.inputValue()).toBe("one 1\ntwo\nthree");
    await save();
    expect(await stored("app.note")).toBe("one 1\r\ntwo\nthree");
  });

  test("is applied to cells of the matrix by Enter, and gets a line by Shift Enter", async () => {
    const { screen, page, goTo, edits, startSaving } = await openScreen({ shop: {} }, { scopes });
    await goTo("#/matrix?q=field:app.note");
    await page.getByRole("gridcell").click();
    const bar = page.getByRole("region", { name: "Set the selected cells" });
    await reads(bar, "Set 1 cell of app.note to");
    await bar.getByRole("textbox", { name: "Note" }).focus();
    await page.keyboard.type("a");
    await press(page, "Shift+Enter");
    await page.keyboard.type("b");
    await press(page, "Enter");
    await reads(edits, "1 edit, not saved");
    await startSaving();
    await poll(() => screen.stored("shop", "app.note")).toBe("a\nb");
  });
});

describe("line ends", () => {
  test.each([
    ["a\nb", "a\nbc", "a\nbc"],
    ["a\r\nb", "a\nbc", "a\r\nbc"],
    ["a\r\nb", "ab", "ab"],
    ["a\r\nb", "a\n\nb", "a\r\n\r\nb"],
    ["a\r\nb\nc\rd", "a\nb\nc\nd!", "a\r\nb\nc\rd!"],
    ["a\r\nb\nc", "a\nc", "a\r\nc"],
    ["\r\n\r\n", "\n", "\r\n"],
    ["a\rb", "a\nx\nb", "a\rx\nb"],
    // A carriage return and a line feed would become one line end.
    ["a\rb", "a\n\nb", "a\n\nb"],
    ["a\r\nb", "", ""],
    ["", "a\nb", "a\nb"],
  ])("of %j, shown with line feeds and edited to %j, become %j", (before, typed, after) => {
    expect(withOwnLineEnds(before, typed)).toBe(after);
    expect(withLineFeeds(after)).toBe(typed);
  });
});
