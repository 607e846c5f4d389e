import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { describeScreen, openScreen, openShop, poll, press, reads } from "../helpers/screen.ts";
import { temporaryFolder } from "../helpers/temporary-folder.ts";

/** Resolves after two frames and the work in them. */
const twoFrames = "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done))))";

describeScreen("while a response is pending", () => {
  test("the review keeps the focus on its button, ignores a second Enter, and says that it is saving", async () => {
    await using window = await openShop({}, { page: { hold: ["config/set"] } });
    const { screen, page, requests } = window;
    await window.provider.fill("here");
    const dialog = await window.review();
    await dialog.getByRole("button", { name: "Save this edit" }).focus();
    await press(page, "Enter");
    expect(await window.focused()).toBe("button Saving…");
    await requests.untilHeld();
    await press(page, "Enter", "Space", "Control+s");
    await page.evaluate(twoFrames);
    expect(await window.focused()).toBe("button Saving…");
    expect(await dialog.getByRole("button", { name: "Saving…" }).isDisabled()).toBe(true);
    expect(await dialog.getByRole("status").innerText()).toBe("Saving…");
    // Enter in a text field is ignored too: it would press the form's button.
    await dialog.getByRole("textbox", { name: /Reason/ }).press("Enter");
    expect(await dialog.getByRole("alert").count()).toBe(0);
    requests.release();
    await dialog.waitFor({ state: "detached" });
    expect(requests.asked("config/set")).toBe(1);
    expect(await screen.revision("shop")).toBe(2);
    // The focus is not on a nearby button such as Undo, which a second Enter would press by accident.
    await poll(window.focused).toMatch(/^main /);
  });

  test("a refused save keeps the focus on its button: Escape closes the review, Enter retries", async () => {
    await using window = await openShop({}, { page: { hold: ["config/set"] } });
    const { page, requests } = window;
    await page.getByRole("textbox", { name: "Default port" }).fill("99999");
    const dialog = await window.review();
    await dialog.getByRole("button", { name: "Save this edit" }).press("Enter");
    await requests.untilHeld();
    requests.release();
    await reads(dialog.getByRole("alert"), "Nothing was saved.");
    expect(await window.focused()).toBe("button Save this edit");
    await press(page, "Enter");
    await requests.untilHeld();
    expect(requests.asked("config/set")).toBe(2);
    requests.release();
    await dialog.getByRole("button", { name: "Save this edit" }).waitFor();
    await press(page, "Escape");
    await dialog.waitFor({ state: "detached" });
  });

  test("the bar keeps the focus on its button and saves once", async () => {
    await using window = await openShop({}, { page: { hold: ["config/set"] } });
    const { page, requests } = window;
    await window.provider.fill("here");
    await window.edits.getByRole("button", { name: "Save", exact: true }).press("Enter");
    expect(await window.focused()).toBe("button Saving…");
    await requests.untilHeld();
    await press(page, "Enter", "Control+s");
    await page.evaluate(twoFrames);
    expect(await window.focused()).toBe("button Saving…");
    expect(await window.edits.getByRole("status").allInnerTexts()).toContain("Saving…");
    requests.release();
    await window.edits.waitFor({ state: "detached" });
    expect(requests.asked("config/set")).toBe(1);
    expect(await window.focused()).not.toBe("body");
  });

  test("a restore is requested once, and its button keeps the focus", async () => {
    const sets = [{ "svc.timeout": 10 }, { "svc.timeout": 20 }];
    await using window = await openShop(sets, { page: { hold: ["history/restore"] } });
    const { screen, page, requests } = window;
    await window.view("History");
    await page.getByRole("button", { name: "Restore… revision 2" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByRole("button", { name: "Restore 1 field" }).press("Enter");
    expect(await window.focused()).toBe("button Restoring…");
    await requests.untilHeld();
    await press(page, "Enter");
    await dialog.getByRole("textbox", { name: /Reason/ }).press("Enter");
    requests.release();
    await dialog.waitFor({ state: "detached" });
    expect(requests.asked("history/restore")).toBe(1);
    expect(await screen.stored("shop", "svc.timeout")).toBe(10);
  });

  test("a file's text is saved once, and its button keeps the focus even when there is nothing left to save", async () => {
    await using window = await openShop({ "svc.timeout": 30 }, { page: { hold: ["file/write"] } });
    const { screen, page, requests } = window;
    await window.view("JSON");
    await page.getByRole("textbox", { name: "Text of the file" }).getByText(`"timeout"`).click();
    await press(page, "End", "Backspace");
    await page.keyboard.type("5");
    await page.getByRole("button", { name: "Save file" }).press("Enter");
    expect(await window.focused()).toBe("button Saving…");
    await requests.untilHeld();
    await press(page, "Enter");
    await page.getByRole("textbox", { name: "Text of the file" }).press("Control+s");
    await page.getByRole("button", { name: "Saving…" }).focus();
    requests.release();
    await page.getByRole("button", { name: "Save file" }).waitFor();
    expect(await window.focused()).toBe("button Save file");
    await poll(() => screen.stored("shop", "svc.timeout")).toBe(35);
    expect(requests.asked("file/write")).toBe(1);
    expect(await window.messages.innerText()).not.toContain("changed");
  });

  test("a repository is added once, and a scan keeps the focus on its button", async () => {
    await using folder = await temporaryFolder();
    await mkdir(join(folder.path, "shop", ".git"), { recursive: true });
    await using window = await openScreen({}, { page: { hold: ["repo/add", "repo/scan"] } });
    const { page, requests } = window;
    await page.getByRole("banner").getByRole("button", { name: "Add a repository" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByRole("textbox", { name: /^Folder/ }).fill(folder.path);
    await dialog.getByRole("button", { name: "Scan this folder" }).press("Enter");
    expect(await window.focused()).toBe("button Scanning…");
    await requests.untilHeld();
    await press(page, "Enter");
    requests.release();
    await dialog.getByRole("button", { name: "Scan this folder" }).waitFor();
    expect(await window.focused()).toBe("button Scan this folder");
    expect(requests.asked("repo/scan")).toBe(1);
    await dialog.getByRole("button", { name: "Add 1 of them" }).press("Enter");
    expect(await window.focused()).toBe("button Adding…");
    await requests.untilHeld();
    await press(page, "Enter");
    requests.release();
    await dialog.waitFor({ state: "detached" });
    expect(requests.asked("repo/add")).toBe(1);
    await window.row("shop").waitFor();
  });

  test("older history entries are requested once", async () => {
    const sets = Array.from({ length: 60 }, (_, at) => ({ "svc.timeout": at }));
    await using window = await openShop(sets, { page: { hold: ["history/list"] } });
    const { page, requests } = window;
    await window.view("History");
    await requests.untilHeld();
    requests.release();
    const older = page.getByRole("button", { name: "Show older entries" });
    await older.focus();
    const before = requests.asked("history/list");
    await press(page, "Enter");
    await requests.untilHeld();
    await press(page, "Enter");
    requests.release();
    const headings = page.getByRole("region", { name: "History" }).getByRole("heading", { level: 2 });
    await poll(() => headings.count()).toBe(61);
    expect(requests.asked("history/list")).toBe(before + 1);
    expect(await window.focused()).not.toBe("body");
  });
});

describeScreen("when the focused element is removed or disabled", () => {
  test("the nearest element gets the focus immediately, so that no key press is lost; a disabled button keeps it", async () => {
    await using window = await openShop({ "svc.proxy_aliases": ["a.test", "b.test"] });
    const { screen, page } = window;
    await window.expand("Proxy aliases");
    await window.field("Proxy aliases").getByRole("button", { name: "Remove entry 2 of Proxy aliases" }).focus();
    // In the same task as the click, before the next frame.
    expect(
      await page.evaluate(
        `(async () => {
          document.activeElement.click();
          for (let count = 0; count < 20; count += 1) await undefined;
          return document.activeElement.getAttribute("aria-label");
        })()`,
      ),
    ).toBe("Proxy aliases, entry 1");

    await page.getByRole("button", { name: "Discard all" }).click();
    const down = page.getByRole("button", { name: "Move entry 1 of Proxy aliases down" });
    await down.focus();
    await screen.set("shop", { "svc.proxy_aliases": ["a.test"] });
    await page.getByRole("textbox", { name: "Proxy aliases, entry 2" }).waitFor({ state: "detached" });
    expect(await down.isDisabled()).toBe(true);
    await press(page, "Enter");
    expect(await window.focused()).toBe("button Move entry 1 of Proxy aliases down");
    expect(await window.edits.count()).toBe(0);
  });
});
