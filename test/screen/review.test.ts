import { expect, test } from "vitest";
import { describeScreen, openScreen, openShop, poll, reads } from "../helpers/screen.ts";

const grid = (columns: number) => Array.from({ length: columns }, (_, at) => `https://${at}.example.test/a/long/path`);

describeScreen("the review", () => {
  test("shows what several repositories have in common once, with their names, and discards it in all of them", async () => {
    const timeout = { "svc.timeout": 30 };
    const window = await openScreen({ blog: timeout, shop: timeout, store: {}, web: { "svc.timeout": 31 } });
    const { page, edits, review, row, goTo } = window;
    await row("shop").waitFor();
    await goTo("#/matrix?q=field:svc.timeout");
    await page.getByRole("columnheader", { name: /svc\.timeout/ }).click();
    await page.getByRole("spinbutton", { name: "Timeout" }).fill("60");
    await page.getByRole("button", { name: "Apply" }).click();
    await reads(edits, "4 edits in 4 repositories");
    const dialog = await review();
    // Those that have another value now, or none, would change in another way.
    await poll(() => dialog.getByRole("heading", { level: 3 }).allInnerTexts()).toEqual([
      "2 repositories",
      "store",
      "web",
    ]);
    const both = dialog.getByRole("region", { name: "2 repositories" });
    await reads(both, /blog\s+shop/);
    await both.getByRole("row", { name: "svc.timeout from 30 seconds to 60 seconds Discard svc.timeout" }).waitFor();
    await both.getByRole("button", { name: "Discard svc.timeout" }).click();
    await both.waitFor({ state: "detached" });
    await dialog.getByRole("button", { name: "Save these 2 edits" }).waitFor();
  });

  test("keeps its reason and its buttons in sight, however many edits there are and however small the window is", async () => {
    const { page, screen, review } = await openScreen({ shop: {} }, { page: { width: 360, height: 740 } });
    const drafts = Object.entries({ app_path: "/a", domain: "a.test", provider: "p", proxy_aliases: grid(40) });
    await screen.t.owner.call("draft/set", {
      drafts: drafts.map(([field, value]) => ({ repo: "shop", field: `svc.${field}`, value })),
    });
    const dialog = await review();
    await dialog.getByRole("row", { name: /proxy_aliases\[39\]/ }).waitFor();
    const inSight = async (name: string) => {
      const box = await dialog.getByRole("button", { name }).boundingBox();
      return box !== null && box.y >= 0 && box.y + box.height <= 740;
    };
    expect(await inSight("Save these 4 edits")).toBe(true);
    expect(await inSight("Cancel")).toBe(true);
    await dialog.getByRole("row", { name: /proxy_aliases\[39\]/ }).scrollIntoViewIfNeeded();
    expect(await inSight("Save these 4 edits")).toBe(true);
    // What has the focus is not behind them.
    const discard = dialog.getByRole("button", { name: "Discard svc.provider" });
    await discard.focus();
    await poll(async () => {
      const [box, foot] = [
        await discard.boundingBox(),
        await dialog.getByRole("textbox", { name: /^Reason/ }).boundingBox(),
      ];
      return box !== null && foot !== null && box.y + box.height <= foot.y;
    }).toBe(true);
    expect(await page.getByRole("dialog").count()).toBe(1);
  });

  test("folds a long value to where it differs, and shows all of it on request", async () => {
    const text = (end: string) => `${"a".repeat(400)} ${end} ${"z".repeat(400)}`;
    const properties = { note: { title: "Note", type: "string", default: "" } };
    const scopes = { app: { type: "object", properties } };
    const { screen, page, review } = await openShop({ "app.note": text("before") }, { scopes });
    await page.getByRole("textbox", { name: "Note" }).fill(text("after"));
    const dialog = await review();
    const line = dialog.getByRole("row", { name: /app\.note/ });
    await reads(line, /…a+ before z+….*…a+ after z+…/s);
    expect((await line.innerText()).length).toBeLessThan(700);
    await line.getByRole("button", { name: "Show all 807 characters of app.note after" }).press("Enter");
    await reads(line, text("after"));
    expect(await line.innerText()).not.toContain(text("before"));
    await line.getByRole("button", { name: "Show less of app.note after" }).press("Enter");
    expect(await line.innerText()).not.toContain(text("after"));
    expect(await screen.stored("shop", "app.note")).toBe(text("before"));
    expect(await page.getByRole("dialog").count()).toBe(1);
  });
});
