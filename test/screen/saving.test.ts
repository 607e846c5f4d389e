import { expect, test } from "vitest";
import { describeScreen, openScreen, openShop, poll, press, reads, startScreen } from "../helpers/screen.ts";

describeScreen("saving", () => {
  test("a save to several repositories says where it was refused, and one undo reverts all of it", async () => {
    const { screen, page, choose, timeout, startSaving, messages, edits, save } = await openScreen({
      shop: { "svc.timeout": 30 },
      store: { "svc.timeout": 30 },
      web: { "svc.timeout": 30 },
    });
    for (const repo of ["shop", "store", "web"]) {
      await choose(repo);
      await timeout.fill(repo === "store" ? "-5" : "60");
    }
    await startSaving();
    await reads(messages, /Saved in shop and web\. Not saved in store: /);
    await reads(edits, "1 edit, not saved");
    const stored = () => Promise.all(["shop", "store", "web"].map(repo => screen.stored(repo, "svc.timeout")));
    expect(await stored()).toEqual([60, 30, 60]);
    await page.getByRole("banner").getByRole("button", { name: "Undo" }).click();
    await poll(stored).toEqual([30, 30, 30]);
    await reads(messages, "2 fields: undone.");
    // The message stays, because an edit is still refused.
    await reads(messages, "Not saved in store");
    await page.getByRole("button", { name: "Redo" }).click();
    await poll(stored).toEqual([60, 30, 60]);
    // The message disappears once the edit is saved.
    await choose("store");
    await timeout.fill("50");
    await save();
    await poll(() => messages.innerText()).not.toContain("Not saved");
  });

  test("a save is undone except in repositories that someone has changed since, and the save before it is undone next", async () => {
    const window = await openShop({ "svc.timeout": 30 }, { others: { store: {} } });
    const { screen, page, provider, save, timeout, choose, messages } = window;
    await provider.fill("here");
    await save();
    await timeout.fill("60");
    await choose("store");
    await timeout.fill("60");
    await save();
    await screen.set("store", { "svc.timeout": 70 });
    await page.getByRole("banner").getByRole("button", { name: "Undo" }).click();
    await reads(messages, "svc.timeout: undone. svc.timeout has been changed in store since and was not touched.");
    expect(await screen.stored("shop", "svc.timeout")).toBe(30);
    expect(await screen.stored("store", "svc.timeout")).toBe(70);
    await page.getByRole("banner").getByRole("button", { name: "Undo" }).click();
    await poll(() => screen.stored("shop", "svc.provider")).toBeUndefined();
  });

  test("a save of a file's text is undone before earlier saves", async () => {
    const { screen, page, provider, save, view, typeAfter, messages } = await openShop({ "svc.timeout": 30 });
    await provider.fill("here");
    await save();
    await view("JSON");
    await typeAfter("timeout", "5", "ArrowLeft");
    await page.getByRole("button", { name: "Save file" }).click();
    await poll(() => screen.stored("shop", "svc.timeout")).toBe(305);
    await reads(messages, "Saved the file.");
    await page.getByRole("banner").getByRole("button", { name: "Undo" }).click();
    await poll(() => screen.stored("shop", "svc.timeout")).toBe(30);
    expect(await screen.stored("shop", "svc.provider")).toBe("here");
  });

  test("an edit of a masked value says whether it changes the value: in the review, for an equal default, and in a conflict", async () => {
    const token = { type: "string", default: "hush", "x-masked": true, title: "Token" };
    const scopes = { deploy: { type: "object", properties: { token } } };
    const { screen, page, field, review } = await openShop({ "deploy.token": "hush" }, { scopes });
    const reset = field("Token").getByRole("button", { name: /^Reset to default/ });
    await reset.click();
    const row = (await review()).getByRole("row", { name: /deploy\.token/ });
    await reads(row, /•••• Show\s+deploy\.token after\s+default\s+not changed/);
    await press(page, "Escape");
    await page.getByRole("textbox", { name: "Token" }).fill("mine-12");
    await review();
    await reads(row, /•••• Show\s+deploy\.token after\s+changed/);
    await press(page, "Escape");
    await screen.set("shop", { "deploy.token": "theirs-1" });
    await reads(field("Token").getByRole("alert").first(), /•••• Show\s+deploy\.token after\s+changed/);
    expect(await page.locator("body").innerText()).not.toMatch(/hush|mine-12|theirs-1/);
  });

  test("an edit survives a control that crashes, and the rest of the page keeps working", async () => {
    await using screen = await startScreen({ repositories: { shop: {} } });
    // An injected fault that stands for an unknown one: controls for numbers with a maximum call this function.
    const initialScript = `Number.prototype.toLocaleString = function () {
      if (window.isFailing) throw new Error("put in on purpose");
      return String(this);
    };`;
    await using window = await screen.open({ initialScript, expected: /put in on purpose|error boundary/i });
    const { page } = window;
    await window.choose("shop");
    await window.timeout.fill("60");
    await page.evaluate("window.isFailing = true");
    await window.timeout.fill("61");
    const failed = window.field("Timeout").getByRole("alert");
    await reads(failed, "The editor for svc.timeout cannot be shown: put in on purpose");
    await reads(failed, "Your edits are kept.");
    await window.provider.fill("here");
    await page.evaluate("window.isFailing = false");
    await failed.getByRole("button", { name: "Try again" }).click();
    await poll(() => window.timeout.inputValue()).toBe("61");
    await window.save();
    expect(await screen.stored("shop", "svc.timeout")).toBe(61);
    expect(await screen.stored("shop", "svc.provider")).toBe("here");
  });
});
