import { expect, test } from "vitest";
import { describeScreen, poll, reads, shareScreen } from "../helpers/screen.ts";
import { takeOption } from "../helpers/take-option.ts";

/** Revisions 2 to 4 of the repository shop. */
const sets = [
  { "svc.timeout": 10, "svc.domain": "one.test", reason: "first" },
  { "svc.timeout": 20, reason: "second" },
  { "svc.timeout": 30, "svc.domain": "three.test", "svc.provider": "here", reason: "third" },
];

describeScreen("history", () => {
  const openShop = shareScreen();

  test("is a timeline of what changed, by whom and why, of all fields or of one, and updates live", async () => {
    const window = await openShop(sets);
    await window.goTo(`#/repo/${window.repo}/history?field=svc.domain`);
    const history = window.history;
    const headings = history.getByRole("heading", { level: 2 });
    const field = history.getByRole("button", { name: /Field$/ });
    await poll(() => headings.allInnerTexts()).toEqual(["Revision 4", "Revision 2"]);
    await reads(field, "svc.domain");
    await takeOption(field, "all fields");
    const all = ["Revision 4", "Revision 3", "Revision 2", "Revision 1"];
    await poll(() => headings.allInnerTexts()).toEqual(all);
    const entries = history.getByRole("listitem");
    await reads(entries.first(), "third");
    await reads(entries.first(), "by you");
    await reads(entries.first().getByRole("row", { name: /svc\.timeout/ }), /from\s+20 seconds\s+to\s+30 seconds/);
    await window.set({ "svc.timeout": 40 });
    await reads(entries.first(), "Revision 5");
  });

  test("compares any two revisions", async () => {
    const { page, view, history, hash, repo } = await openShop(sets);
    await view("History");
    await page.getByRole("button", { name: "Compare revision 4" }).click();
    await reads(history.getByRole("status"), "Choose a second revision");
    await page.getByRole("button", { name: "Compare revision 2" }).click();
    await page.getByRole("heading", { level: 1, name: "Compare" }).waitFor();
    await poll(hash).toBe(`#/compare/${repo}@2/${repo}@4`);
    await page.getByRole("row", { name: /svc\.timeout .*revision 2: 10 seconds .*revision 4: 30 seconds/ }).waitFor();
    await page.getByRole("row", { name: /svc\.provider .*: empty default .*: here/ }).waitFor();
    expect(await page.getByRole("row").count()).toBe(4);
    await page.goBack();
    await page.getByRole("button", { name: "Compare revision 4", pressed: false }).waitFor();
  });

  test("a restore first shows what it would change, skips excluded fields, and can be undone", async () => {
    const { page, view, stored, history } = await openShop(sets);
    await view("History");
    await page.getByRole("button", { name: "Restore… revision 2" }).waitFor();
    expect(await page.getByRole("button", { name: "Restore… revision 4" }).count()).toBe(0);
    await page.getByRole("button", { name: "Restore… revision 2" }).click();
    const dialog = page.getByRole("dialog", { name: "Restore revision 2" });
    await reads(dialog.getByRole("row", { name: /svc\.timeout/ }), /from\s+30 seconds\s+to\s+10 seconds/);
    await reads(dialog.getByRole("row", { name: /svc\.domain/ }), /from\s+three\.test\s+to\s+one\.test/);
    await dialog.getByRole("button", { name: "Exclude svc.domain" }).click();
    await dialog.getByRole("button", { name: "Include svc.domain" }).waitFor();
    await dialog.getByRole("textbox", { name: /Reason/ }).fill("back");
    await dialog.getByRole("button", { name: "Restore 2 fields" }).click();
    await dialog.waitFor({ state: "detached" });
    const config = () => stored("svc");
    expect(await config()).toEqual({ timeout: 10, domain: "three.test" });
    await reads(history.getByRole("listitem").first(), "back");
    await page.getByRole("banner").getByRole("button", { name: "Undo" }).click();
    await poll(config).toEqual({ timeout: 30, domain: "three.test", provider: "here" });
  });
});
