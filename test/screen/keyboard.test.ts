import { expect, test } from "vitest";
import { describeScreen, openScreen, poll, press, reads } from "../helpers/screen.ts";

describeScreen("the keyboard alone", () => {
  test("reaches a field, changes it and others, reviews, and saves with a reason", async () => {
    const window = await openScreen({ shop: { "svc.services": { web: { ready: "true", image: "node:24" } } } });
    const { screen, page, focused, row, timeout, field } = window;
    const stored = (path: string) => screen.stored("shop", path);
    await row("shop").focus();
    await press(page, "Enter");
    await timeout.waitFor();
    await tabTo(/^spinbutton Timeout/);

    // Fields: a number, then Tab to a select, and to the cards.
    await press(page, "Control+a");
    await page.keyboard.type("120");
    await press(page, "ArrowUp");
    await tabTo(/^button .*(none|Default service)/);
    await press(page, "Enter");
    await page.getByRole("option", { name: "web" }).waitFor();
    await press(page, "ArrowDown");
    await poll(() => page.getByRole("option", { name: "web" }).and(page.locator(":focus")).count()).toBe(1);
    await press(page, "Enter");
    await page.getByRole("option").first().waitFor({ state: "detached" });
    await reads(field("Default service"), "web");
    await tabTo(/^button Services:/);
    await press(page, "Enter");
    await tabTo(/^input Name of the new entry in Services/);
    await page.keyboard.type("cache");
    await press(page, "Enter");
    await poll(focused).toBe("textarea Services: cache: Ready");
    await page.keyboard.type("true");
    await tabTo(/^textarea Services: cache: Image/);
    await page.keyboard.type("redis:8");
    await tabTo(/^(switch|input) Proxy HTTP$/);
    await press(page, "Space");

    // Edits: review, discard one, save with a reason.
    await tabTo(/^button Review/);
    await press(page, "Enter");
    await page.getByRole("dialog", { name: "Review edits" }).waitFor();
    await tabTo(/^button Discard svc\.proxy_http$/);
    await press(page, "Enter");
    await page.getByRole("row", { name: /proxy_http/ }).waitFor({ state: "detached" });
    await poll(focused).not.toBe("body");
    await tabTo(/^input .*/, "Reason");
    await page.keyboard.type("by hand alone");
    await press(page, "Enter");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await poll(() => stored("svc.timeout")).toBe(121);
    expect(await stored("svc.default")).toBe("web");
    expect(Object.keys(Object(await stored("svc.services")))).toEqual(["web", "cache"]);
    expect(await stored("svc.proxy_http")).toBeUndefined();
    await poll(focused).not.toBe("body");

    /** Presses Tab until the focus is on the wanted element; `label` is the text of a label that wraps its control. */
    async function tabTo(wanted: RegExp, label?: string): Promise<void> {
      // The focused element may just have been removed; the screen then moves the focus.
      await poll(focused).not.toBe("body");
      for (let count = 0; count < 150; count += 1) {
        const now = await focused();
        expect(now).not.toBe("body");
        const labelled = label === undefined || (await page.getByLabel(label).and(page.locator(":focus")).count()) > 0;
        if (wanted.test(now) && labelled) return;
        await press(page, "Tab");
      }
      throw new Error(`Tab does not lead to ${String(wanted)}`);
    }
  });
});
