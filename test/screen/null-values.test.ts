import { expect, test } from "vitest";
import { describeScreen, openScreen, poll, press, reads, shareScreen } from "../helpers/screen.ts";

const properties = {
  retries: { title: "Retries", type: ["integer", "null"], default: 3 },
  note: { title: "Note", type: ["string", "null"], default: "a note" },
  mode: { title: "Mode", enum: [null, "null", true, "true", 1, "1", "", "none"], default: "1" },
};
const scopes = { app: { properties } };
const repositories = { shop: { "app.retries": null, "app.note": null, "app.mode": null }, plain: {} };

describeScreen("a stored null", () => {
  const openShop = shareScreen({ scopes });

  test("is null in its row, in the tree, in a review and in the history", async () => {
    const { page, field, row, repo, review, save, stored, view } = await openShop(repositories.shop);
    const none = page.getByRole("checkbox", { name: "Retries: none" });
    for (const one of [none, page.getByRole("checkbox", { name: "Note: none" })])
      expect(await one.isChecked()).toBe(true);
    await row(repo).focus();
    await press(page, "ArrowRight");
    await row("app").focus();
    await press(page, "ArrowRight");
    await reads(row("Retries"), "null");
    await page.getByRole("searchbox", { name: "Filter fields" }).fill("retries null");
    await reads(page.getByRole("main"), "1 of 23 fields");
    await page.getByRole("searchbox", { name: "Filter fields" }).fill("");
    const retries = field("Retries").getByRole("spinbutton");
    expect([await retries.inputValue(), await retries.getAttribute("placeholder")]).toEqual(["", "none"]);
    await retries.fill("3");
    await review();
    await page.getByRole("row", { name: "app.retries from null to 3 Discard app.retries" }).waitFor();
    await press(page, "Escape");
    // The default is no edit only where nothing is stored.
    await save();
    expect(await stored("app.retries")).toBe(3);
    await none.check();
    await save();
    expect(await stored("app.retries")).toBeNull();
    await view("History");
    await page.getByRole("row", { name: "app.retries from null to 3", exact: true }).waitFor();
    await page.getByRole("row", { name: "app.retries from 3 to null", exact: true }).first().waitFor();
  });

  test("stays null when it arrives from elsewhere and in an edit, and conflicts as null", async () => {
    const window = await openShop({ "app.retries": 5 });
    await window.set({ "app.retries": null });
    const none = window.field("Retries").getByRole("checkbox", { name: "Retries: none" });
    await poll(() => none.isChecked()).toBe(true);
    await window.field("Retries").getByRole("spinbutton").fill("7");
    await window.set({ "app.retries": 8 });
    const conflict = window.field("Retries").getByRole("alert").filter({ hasText: "where you changed it too" });
    await reads(conflict, /Theirs.*from\s+null\s+to\s+8/s);
    await conflict.getByRole("button", { name: "Take theirs" }).click();
    await none.check();
    await reads(window.field("Retries"), "edited");
    await window.page.reload();
    await window.choose(window.repo);
    await poll(() => none.isChecked()).toBe(true);
  });

  test("is null in the matrix, in a comparison and in what is copied from it", async () => {
    const { screen, page, goTo, startSaving } = await openScreen(repositories, { scopes });
    await goTo("#/matrix?q=field:app.retries");
    const cell = (name: string) => page.getByRole("row", { name: new RegExp(`^${name}`) }).getByRole("gridcell");
    await poll(() => cell("shop").getAttribute("aria-label")).toMatch(/^null, stored/);
    await poll(() => cell("plain").getAttribute("aria-label")).toMatch(/^3/);
    await cell("plain").click();
    const bar = page.getByRole("region", { name: "Set the selected cells" });
    await bar.getByRole("checkbox", { name: "Retries: none" }).check();
    await bar.getByRole("button", { name: "Apply" }).click();
    await poll(() => cell("plain").getAttribute("aria-label")).toMatch(/^null, stored.*edited/);
    await page.getByRole("button", { name: "Discard all" }).click();
    await goTo("#/compare/shop/plain");
    await reads(page.getByRole("main"), "3 of 23 fields differ.");
    await page.getByRole("row", { name: /^app\.retries shop: null plain: 3 default/ }).waitFor();
    const row = page.getByRole("row", { name: "app.retries" });
    await row.getByRole("button", { name: "Copy to the right" }).click();
    await page.getByRole("row", { name: /^app\.retries shop: null plain: null edited/ }).waitFor();
    await startSaving();
    await poll(() => screen.stored("plain", "app.retries")).toBeNull();
  });

  test("is told apart in a choice from a text that reads like it, as are truths and numbers, also in diffs", async () => {
    const { page, field, review, save, stored, inspector } = await openShop(repositories.shop);
    const mode = field("Mode").locator("[aria-haspopup='listbox']");
    await reads(mode, "null");
    await mode.click();
    const options = page.getByRole("option");
    await poll(() => options.allInnerTexts()).toEqual(["null", `"null"`, "on", `"true"`, "1", `"1"`, "none", `"none"`]);
    await options.nth(1).click();
    await review();
    await page.getByRole("row", { name: `app.mode from null to "null" Discard app.mode` }).waitFor();
    await press(page, "Escape");
    await save();
    expect(await stored("app.mode")).toBe("null");
    await mode.click();
    await page.getByRole("option", { name: "1", exact: true }).click();
    await save();
    expect(await stored("app.mode")).toBe(1);
    await mode.focus();
    await reads(inspector, `One of null, "null", on, "true", 1, "1", empty, "none"`);
    await reads(inspector, /Default\s+"1"/);
  });
});
