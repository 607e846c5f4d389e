import { expect, test } from "vitest";
import { describeScreen, openShop, poll, press, reads, shareScreen } from "../helpers/screen.ts";

const text = { type: "string", default: "" };
const properties = {
  list: { type: "array", items: text, title: "List", default: [] },
  map: { type: "object", additionalProperties: text, title: "Map", default: {} },
  share: { type: "number", title: "Share", default: 1 },
};

describeScreen("someone who goes on typing", () => {
  const openShared = shareScreen({ scopes: { app: { properties } } });

  test("while a save is under way edits what was saved: no conflict with the page's own save", async () => {
    const window = await openShop({}, { page: { hold: ["config/set"] } });
    const { page, provider, edits, requests, screen, startSaving, messages } = window;
    await provider.fill("here");
    await edits.getByRole("button", { name: "Save", exact: true }).click();
    await requests.untilHeld();
    await provider.fill("here and there");
    requests.release();
    await poll(() => screen.stored("shop", "svc.provider")).toBe("here");
    await reads(messages, "Saved 1 field in shop.");
    await reads(edits, "1 edit");
    expect(await page.getByText("changed by").count()).toBe(0);
    await startSaving();
    await requests.untilHeld();
    requests.release();
    await poll(() => screen.stored("shop", "svc.provider")).toBe("here and there");
    await edits.waitFor({ state: "detached" });
  });

  test("under a filter keeps the row: its value may stop matching", async () => {
    const { page, timeout, focused } = await openShared({ "svc.timeout": 4711 });
    const filter = page.getByRole("searchbox", { name: "Filter fields" });
    await filter.fill("4711");
    await page.getByText("1 of 23 fields").waitFor();
    await timeout.focus();
    await press(page, "End", "Backspace", "Backspace");
    expect(await focused()).toBe("spinbutton Timeout");
    await page.keyboard.type("00");
    expect(await timeout.inputValue()).toBe("4700");
    await filter.fill("4700");
    await page.getByText("1 of 23 fields").waitFor();
    await filter.fill("nothing has this");
    await page.getByText("No field matches.").waitFor();
  });

  test("moves the same entry by each press", async () => {
    const { page, expand, field, focused, save, stored } = await openShared({ "app.list": ["a", "b", "c", "d"] });
    await expand("List");
    await field("List").getByRole("button", { name: "Move entry 1 of List down" }).focus();
    await press(page, "Enter", "Enter", "Enter");
    await poll(focused).toBe("button Move entry 4 of List down");
    await press(page, "Enter");
    await save();
    expect(await stored("app.list")).toEqual(["b", "c", "d", "a"]);
  });

  test("steps decimals by ones", async () => {
    const { page, field } = await openShared({ "app.share": 2.3 });
    const share = field("Share").getByRole("spinbutton");
    await share.focus();
    await press(page, "ArrowDown");
    expect(await share.inputValue()).toBe("1.3");
  });

  test("loses no name: Ctrl S and a click elsewhere enter it, without spaces around it, and Escape within a composition cancels nothing", async () => {
    const { page, expand, field, timeout, save, stored } = await openShared({ "app.map": { web: "1" } });
    await expand("Map");
    const map = field("Map");
    const added = map.getByRole("textbox", { name: "Name of the new entry in Map" });
    await added.fill(" web ");
    await reads(map, "This name already exists.");
    await added.fill(" db ");
    await timeout.click();
    await map.getByRole("textbox", { name: "Map: db" }).waitFor();
    await added.fill("cache");
    await press(page, "ControlOrMeta+s");
    await poll(() => stored("app.map")).toEqual({ web: "1", db: "", cache: "" });
    await map.getByRole("button", { name: "Rename db" }).click();
    const renamed = map.getByRole("textbox", { name: "New name for db" });
    await renamed.fill("data");
    await renamed.dispatchEvent("keydown", { key: "Escape", isComposing: true, bubbles: true });
    await renamed.press("Escape");
    await map.getByRole("button", { name: "Rename db" }).click();
    await renamed.fill("data");
    await timeout.click();
    await save();
    expect(await stored("app.map")).toEqual({ web: "1", data: "", cache: "" });
  });

  test("finds an entry where it was after renaming it to a number, and a new one at the end", async () => {
    const { page, expand, field, focused, save, stored } = await openShared({ "app.map": { web: "w", db: "d" } });
    await expand("Map");
    const map = field("Map");
    await map.getByRole("button", { name: "Rename db" }).click();
    await map.getByRole("textbox", { name: "New name for db" }).fill("7");
    await press(page, "Enter");
    await map.getByRole("textbox", { name: "Name of the new entry in Map" }).fill("1");
    await press(page, "Enter");
    await poll(focused).toMatch(/^textarea Map: 1/);
    expect(await map.getByRole("heading", { level: 4 }).allInnerTexts()).toEqual(["web", "7", "1"]);
    await page.keyboard.type("first");
    await save();
    expect(await stored("app.map")).toEqual({ web: "w", 7: "d", 1: "first" });
    expect(await map.getByRole("heading", { level: 4 }).allInnerTexts()).toEqual(["web", "7", "1"]);
  });

  test("takes back the open edit first, then the save, and can bring the edit back", async () => {
    const { page, timeout, provider, save, edits, messages, stored } = await openShared();
    await timeout.fill("5");
    await save();
    await provider.fill("here");
    const undo = page.getByRole("banner").getByRole("button", { name: "Undo" });
    await undo.click();
    await reads(messages, "The edit of svc.provider was taken back.");
    expect(await provider.inputValue()).toBe("");
    expect(await stored("svc.timeout")).toBe(5);
    await messages.getByRole("button", { name: "Bring back" }).click();
    expect(await provider.inputValue()).toBe("here");
    await undo.click();
    await edits.waitFor({ state: "detached" });
    await undo.click();
    await poll(() => stored("svc.timeout")).toBe(undefined);
  });
});
