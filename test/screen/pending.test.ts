import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import type { Locator } from "playwright-core";
import { expect, test } from "vitest";
import { describeScreen, dismiss, type OpenScreen, openShop, poll, press, reads } from "../helpers/screen.ts";

/** Resolves after two frames and the work in them. */
const twoFrames = "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done))))";

/** Leads to the button that scans a folder with one clone in it. */
async function openScan({ screen, page }: OpenScreen): Promise<Locator> {
  const folder = join(screen.t.homeFolder, "../clones");
  await mkdir(join(folder, "web", ".git"), { recursive: true });
  await page.getByRole("banner").getByRole("button", { name: "Add a repository" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByRole("combobox", { name: /^Folder/ }).fill(folder);
  return dialog.getByRole("button", { name: "Scan this folder" });
}

describeScreen("the focus", () => {
  test("while a response is pending, the review keeps the focus on its button, ignores a second Enter, and says that it is saving", async () => {
    const window = await openShop({}, { page: { hold: ["config/set"] } });
    const { screen, page, requests, provider, review, focused } = window;
    await provider.fill("here");
    const dialog = await review();
    await dialog.getByRole("button", { name: "Save this edit" }).focus();
    await press(page, "Enter");
    expect(await focused()).toBe("button Saving…");
    await requests.untilHeld();
    await press(page, "Enter", "Space", "Control+s");
    await page.evaluate(twoFrames);
    expect(await focused()).toBe("button Saving…");
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
    await poll(focused).toMatch(/^main /);
  });

  test.each<{
    readonly what: string;
    readonly operation: string;
    readonly says: string;
    /** Leads to the button. */
    button(window: OpenScreen): Promise<Locator> | Locator;
  }>([
    {
      what: "a save by the bar",
      operation: "config/set",
      says: "Saving…",
      button: async ({ edits, provider }) => {
        await provider.fill("here");
        return edits.getByRole("button", { name: "Save", exact: true });
      },
    },
    {
      what: "a restore",
      operation: "history/restore",
      says: "Restoring…",
      button: async ({ page, view }) => {
        await view("History");
        await page.getByRole("button", { name: "Restore… revision 2" }).click();
        return page.getByRole("button", { name: "Restore 1 field" });
      },
    },
    { what: "a scan", operation: "repo/scan", says: "Scanning…", button: openScan },
    {
      what: "adding what a scan found",
      operation: "repo/add",
      says: "Adding…",
      button: async window => {
        await (await openScan(window)).click();
        return window.page.getByRole("button", { name: "Add 1 of them" });
      },
    },
  ])(
    "while a response is pending, $what is requested once, and its button keeps the focus and says so",
    async ({ operation, says, button }) => {
      const sets = [{ "svc.timeout": 10 }, { "svc.timeout": 20 }];
      const window = await openShop(sets, { page: { hold: [operation] } });
      const { page, requests } = window;
      await (await button(window)).press("Enter");
      await poll(window.focused).toBe(`button ${says}`);
      await requests.untilHeld();
      await press(page, "Enter", "Control+s");
      await page.evaluate(twoFrames);
      expect(await window.focused()).toBe(`button ${says}`);
      expect(await page.getByRole("status").allInnerTexts()).toContain(says);
      requests.release();
      await page.getByRole("button", { name: says }).waitFor({ state: "detached" });
      expect(requests.asked(operation)).toBe(1);
      await poll(window.focused).not.toBe("body");
    },
  );

  test("while a response is pending, a refused save keeps the focus on its button: Escape closes the review, Enter retries", async () => {
    const { page, requests, review, focused } = await openShop({}, { page: { hold: ["config/set"] } });
    await page.getByRole("textbox", { name: "Default port" }).fill("99999");
    const dialog = await review();
    await dialog.getByRole("button", { name: "Save this edit" }).press("Enter");
    await requests.untilHeld();
    requests.release();
    await reads(dialog.getByRole("alert"), "Nothing was saved.");
    expect(await focused()).toBe("button Save this edit");
    await press(page, "Enter");
    await requests.untilHeld();
    expect(requests.asked("config/set")).toBe(2);
    requests.release();
    await dialog.getByRole("button", { name: "Save this edit" }).waitFor();
    await dismiss(dialog);
  });

  test("while a response is pending, a file's text is saved once, and its button keeps the focus even when there is nothing left to save", async () => {
    const window = await openShop({ "svc.timeout": 30 }, { page: { hold: ["file/write"] } });
    const { screen, page, requests, view, typeAfter, focused, text, messages } = window;
    await view("JSON");
    await typeAfter("timeout", "5", "Backspace");
    await page.getByRole("button", { name: "Save file" }).press("Enter");
    expect(await focused()).toBe("button Saving…");
    await requests.untilHeld();
    await press(page, "Enter");
    await text.press("Control+s");
    await page.getByRole("button", { name: "Saving…" }).focus();
    requests.release();
    await page.getByRole("button", { name: "Save file" }).waitFor();
    expect(await focused()).toBe("button Save file");
    await poll(() => screen.stored("shop", "svc.timeout")).toBe(35);
    expect(requests.asked("file/write")).toBe(1);
    expect(await messages.innerText()).not.toContain("changed");
  });

  test("while a response is pending, older history entries are requested once", async () => {
    const sets = Array.from({ length: 60 }, (_, at) => ({ "svc.timeout": at }));
    const { page, requests, view, history, focused } = await openShop(sets, { page: { hold: ["history/list"] } });
    await view("History");
    await requests.untilHeld();
    requests.release();
    const older = page.getByRole("button", { name: "Show older entries" });
    await older.focus();
    const before = requests.asked("history/list");
    await press(page, "Enter");
    await requests.untilHeld();
    await press(page, "Enter");
    requests.release();
    const headings = history.getByRole("heading", { level: 2 });
    await poll(() => headings.count()).toBe(61);
    expect(requests.asked("history/list")).toBe(before + 1);
    expect(await focused()).not.toBe("body");
  });

  test("when the focused element is removed or disabled, the nearest element gets the focus immediately, so that no key press is lost; a disabled button keeps it", async () => {
    const window = await openShop({ "svc.proxy_aliases": ["a.test", "b.test"] });
    const { screen, page, expand, field, focused, edits } = window;
    await expand("Proxy aliases");
    await field("Proxy aliases").getByRole("button", { name: "Remove entry 2 of Proxy aliases" }).focus();
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
    expect(await focused()).toBe("button Move entry 1 of Proxy aliases down");
    expect(await edits.count()).toBe(0);
  });
});
