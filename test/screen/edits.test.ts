import { expect, test } from "vitest";
import {
  connectionLost,
  describeScreen,
  dismiss,
  openScreen,
  openShop,
  poll,
  press,
  reads,
  shareScreen,
} from "../helpers/screen.ts";

describeScreen("edits", () => {
  const openOwnShop = shareScreen();

  test("are collected across repositories, shown as a diff, discarded one by one, and saved with a reason", async () => {
    const window = await openShop({ "svc.timeout": 30 }, { others: { store: {} } });
    const { screen, page, timeout, provider, choose, edits, focused } = window;
    await timeout.fill("60");
    await provider.fill("here");
    await page.getByRole("textbox", { name: "Domain", exact: true }).fill("shop.test");
    await choose("store");
    await page.getByRole("switch", { name: "Map subpaths" }).press("Space");
    await reads(edits, "4 edits in 2 repositories, not saved");
    // Nothing is written before a save.
    expect(await screen.stored("shop", "svc.timeout")).toBe(30);
    await edits.getByRole("button", { name: "Review" }).click();
    const dialog = page.getByRole("dialog", { name: "Review edits" });
    const shop = dialog.getByRole("region", { name: "shop" });
    await reads(shop.getByRole("row", { name: /svc\.timeout/ }), /from\s+30 seconds\s+to\s+60 seconds/);
    await reads(shop.getByRole("row", { name: /svc\.domain/ }), /from\s+empty default\s+to\s+shop\.test/);
    const subpath = dialog.getByRole("region", { name: "store" }).getByRole("row", { name: /subpath/ });
    await reads(subpath, /from\s+off default\s+to\s+on/);
    await shop.getByRole("button", { name: "Discard svc.provider" }).click();
    await shop.getByRole("row", { name: /provider/ }).waitFor({ state: "detached" });
    await poll(focused).not.toBe("body");
    await dialog.getByRole("textbox", { name: /Reason/ }).fill("slow database");
    await dialog.getByRole("button", { name: "Save these 3 edits" }).click();
    await dialog.waitFor({ state: "detached" });
    const { result } = await screen.t.owner.call("history/list", { repo: "shop" });
    expect(result[0]).toMatchObject({ reason: "slow database", source: "set" });
    expect(Object.keys(result[0]?.changes["svc"] ?? {}).sort()).toEqual(["domain", "timeout"]);
    expect(await screen.stored("store", "svc.proxy_subpath_map")).toBe(true);
    expect(await screen.stored("shop", "svc.provider")).toBeUndefined();
    await choose("shop");
    expect(await provider.inputValue()).toBe("");
  });

  test("Ctrl S saves from anywhere; in the review it saves with the reason entered there", async () => {
    const { screen, page, timeout, stored, focused, review, repo } = await openOwnShop();
    await timeout.fill("60");
    await press(page, "Control+s");
    await poll(() => stored("svc.timeout")).toBe(60);
    await poll(focused).toBe("spinbutton Timeout");
    await timeout.fill("70");
    await review();
    await page.getByRole("textbox", { name: /Reason/ }).fill("because");
    await press(page, "Control+s");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    const { result } = await screen.t.owner.call("history/list", { repo });
    expect(result[0]).toMatchObject({ reason: "because" });
  });

  test("a set is all or nothing: if one field is refused, none is saved and all stay edits", async () => {
    const { screen, page, provider, startSaving, messages, edits, repo, review, save, stored } = await openOwnShop();
    await provider.fill("here");
    await page.getByRole("textbox", { name: "Default port" }).fill("99999");
    await startSaving();
    await reads(messages, "Nothing was saved.");
    await reads(edits, "2 edits, not saved");
    expect(await screen.revision(repo)).toBe(1);
    // A save from the review reports it in the review, because nobody reads what is behind the dialog.
    await review();
    await page.getByRole("dialog").getByRole("button", { name: "Save these 2 edits" }).click();
    await reads(page.getByRole("dialog").getByRole("alert"), "Nothing was saved.");
    await dismiss(page.getByRole("dialog"));
    await page.getByRole("textbox", { name: "Default port" }).fill("9999");
    await save();
    expect(await stored("svc.provider")).toBe("here");
  });

  test("can be discarded all at once, and the stored value or the default again is no edit", async () => {
    const { page, timeout, edits, focused } = await openOwnShop({ "svc.timeout": 30 });
    await timeout.fill("31");
    await edits.waitFor();
    await timeout.fill("30");
    await edits.waitFor({ state: "detached" });
    // Nothing is stored of this field, which has its default again.
    const map = page.getByRole("switch", { name: "Map subpaths" });
    await map.press("Space");
    await reads(edits, "1 edit, not saved");
    await map.press("Space");
    await edits.waitFor({ state: "detached" });
    await timeout.fill("32");
    await page.getByRole("button", { name: "Discard all" }).click();
    await poll(() => timeout.inputValue()).toBe("30");
    await poll(focused).not.toBe("body");
  });

  test("the browser asks before leaving a page only if it has edits that the daemon does not have", async () => {
    const window = await openScreen({ shop: {} }, { page: { expected: connectionLost } });
    const { screen, page, row, choose, provider } = window;
    const asked: string[] = [];
    page.on("dialog", dialog => {
      asked.push(dialog.type());
      void dialog.dismiss();
    });
    await row("shop").waitFor();
    await page.reload();
    await choose("shop");
    await provider.click();
    await page.keyboard.type("here");
    await poll(screen.drafts).toMatchObject([{ value: "here" }]);
    // The page learns of it with the daemon's answer.
    const mayLeave = `dispatchEvent(new Event("beforeunload", { cancelable: true }))`;
    await poll(() => page.evaluate(mayLeave)).toBe(true);
    await page.reload();
    await choose("shop");
    expect(asked).toEqual([]);
    await screen.t.daemon.close();
    await provider.fill("there");
    // The question is dismissed, so the page stays.
    await page.close({ runBeforeUnload: true });
    await poll(() => asked).toEqual(["beforeunload"]);
    expect(await provider.inputValue()).toBe("there");
  });

  test("saves are undone and redone by keyboard, one after the other, each as a new revision", async () => {
    const { screen, page, timeout, save, row, messages } = await openShop({ "svc.timeout": 30 });
    const stored = () => screen.stored("shop", "svc.timeout");
    for (const value of ["40", "50"]) {
      await timeout.fill(value);
      await save();
    }
    await row("shop").focus();
    await press(page, "Control+z");
    await poll(stored).toBe(40);
    await poll(() => timeout.inputValue()).toBe("40");
    await press(page, "Control+z");
    await poll(stored).toBe(30);
    await press(page, "Control+z");
    await reads(messages, "Nothing to undo.");
    await press(page, "Control+Shift+Z");
    await poll(stored).toBe(40);
    await press(page, "Control+y");
    await poll(stored).toBe(50);
    await poll(() => timeout.inputValue()).toBe("50");
    await press(page, "Control+z");
    await poll(stored).toBe(40);
    const { result } = await screen.t.owner.call("history/list", { repo: "shop" });
    expect(result.slice(0, 5).map(({ source }) => source)).toEqual(Array(5).fill("restore"));
  });

  test("a field changed elsewhere in the meantime shows both values: keep mine or take theirs", async () => {
    const window = await openOwnShop({ "svc.timeout": 30, "svc.domain": "a.test" });
    const { page } = window;
    const domain = page.getByRole("textbox", { name: "Domain", exact: true });
    await window.timeout.fill("40");
    await domain.fill("mine.test");
    await window.set({ "svc.timeout": 50, "svc.domain": "theirs.test", "svc.provider": "elsewhere" });
    const choice = window.field("Timeout").getByRole("alert");
    await reads(choice, /Changed in the meantime by \w+/);
    const sides = choice.getByRole("row", { name: /svc\.timeout/ });
    await reads(sides.first(), /from\s+30 seconds\s+to\s+50 seconds/);
    await reads(sides.last(), /from\s+30 seconds\s+to\s+40 seconds/);
    expect(await window.timeout.inputValue()).toBe("40");
    // The review compares with the value stored now.
    const review = await window.review();
    await reads(review.getByRole("row", { name: /svc\.timeout/ }), /from\s+50 seconds\s+to\s+40 seconds/);
    await press(page, "Escape");
    // Nothing is saved until one is chosen.
    await window.startSaving();
    await reads(window.messages, "Choose which values to keep");
    expect(await window.stored("svc.timeout")).toBe(50);
    await choice.getByRole("button", { name: "Keep mine" }).press("Enter");
    await poll(window.focused).not.toBe("body");
    await window.field("Domain").getByRole("button", { name: "Take theirs" }).press("Enter");
    await poll(() => domain.inputValue()).toBe("theirs.test");
    await poll(window.focused).not.toBe("body");
    await window.save();
    expect(await window.stored("svc.timeout")).toBe(40);
    expect(await window.stored("svc.domain")).toBe("theirs.test");
    expect(await window.stored("svc.provider")).toBe("elsewhere");
  });
});
