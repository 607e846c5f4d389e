import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { breakFile } from "../helpers/broken-file.ts";
import { startTestDaemon, until } from "../helpers/daemon.ts";
import { describeScreen, openPage, openScreen, openShop, poll, press, reads, screenFolder } from "../helpers/screen.ts";
import { isRepositoryFile, repositoryNames, slowDisk, writeRepositoryFiles } from "../helpers/slow-disk.ts";
import { temporaryFolder } from "../helpers/temporary-folder.ts";

const reason = (page: Page, name: string) => page.getByRole("main").getByRole("region", { name });

async function openStart(page: Page): Promise<void> {
  await page.getByRole("tree").waitFor();
  await page.getByRole("link", { name: "Repoconf" }).click();
  await page.getByRole("heading", { level: 1, name: "Needs attention" }).waitFor();
}

describeScreen("the start page", () => {
  test("shows the daemon's progress in reading the files", async () => {
    await using home = await temporaryFolder();
    await writeRepositoryFiles(home.path, repositoryNames(200));
    const disk = slowDisk(isRepositoryFile);
    await using t = await startTestDaemon({ home: home.path, screenFolder, fileSystem: disk.fileSystem });
    await using window = await openPage(t.daemon.createLink(60_000));
    const reading = window.page.getByText(/^Reading \d+ of 200 files…$/);
    await until(async () => {
      disk.held.shift()?.();
      return (await reading.count()) === 1;
    }, "how far it is");
    disk.release();
    await window.page.getByRole("heading", { level: 1, name: "Needs attention" }).waitFor();
    await reads(window.page.getByRole("main"), "200 repositories");
  });

  test("says that nothing needs attention until something does", async () => {
    const { screen, page, hash } = await openScreen({ shop: {} });
    await reads(page.getByRole("main"), "Nothing needs attention");
    await breakFile(screen.t, "shop");
    await reads(reason(page, "Files with problems"), "shop.json");
    await page.getByText("Nothing needs attention").waitFor({ state: "detached" });
    await reason(page, "Files with problems").getByRole("link", { name: "Open the text of shop" }).press("Enter");
    await poll(hash).toBe("#/repo/shop/json");
    await page.goBack();
    await screen.t.owner.call("file/restore", { repo: "shop" });
    await reads(page.getByRole("main"), "Nothing needs attention");
  });

  test("lists each problem of a refused schema with its place", async () => {
    const { screen, page } = await openShop({});
    const file = join(screen.t.homeFolder, "scopes/tool.schema.json");
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, JSON.stringify({ properties: { a: { type: "text" }, b: { minLength: -1 } } }));
    await openStart(page);
    const problems = reason(page, "Problems of the daemon");
    await reads(problems, `${file}, line 1, column 28, at /properties/a/type: the field "a"`);
    await reads(problems, "at /properties/b/minLength: ");
  });

  test("lists edits in conflict, with a link to each, and refused edits", async () => {
    const window = await openShop({}, { others: { store: {} } });
    const { screen, page, provider, hash, field, choose, timeout, startSaving, messages } = window;
    await provider.fill("mine");
    await screen.set("shop", { "svc.provider": "theirs" });
    await openStart(page);
    const waiting = reason(page, "Edits to resolve");
    await reads(waiting, /shop, svc\.provider\s+was also changed by you in the meantime/);
    await waiting.getByRole("link", { name: "shop, svc.provider" }).press("Enter");
    await poll(hash).toBe("#/repo/shop/svc.provider");
    await field("Provider").getByRole("button", { name: "Take theirs" }).click();
    await choose("store");
    await timeout.fill("-5");
    await startSaving();
    await messages.getByText("Nothing was saved").waitFor();
    await openStart(page);
    await reads(waiting, /store, svc\.timeout\s+was refused/);
    expect(await waiting.getByRole("listitem").count()).toBe(1);
  });

  test("lists unsaved edits, including those of a file's text, even after a reload", async () => {
    const window = await openShop({}, { others: { store: { "svc.timeout": 1 } } });
    const { screen, page, provider, timeout, choose, view, text, hash } = window;
    await provider.fill("mine");
    await timeout.fill("7");
    await choose("store");
    await view("JSON");
    await text.pressSequentially("//");
    await openStart(page);
    await poll(async () => (await screen.drafts()).length).toBe(3);
    await page.reload();
    const unsaved = reason(page, "Unsaved edits");
    await reads(unsaved, /shop\s+2 edits/);
    await reads(unsaved, /store\s+edited as text/);
    await unsaved.getByRole("link", { name: "store" }).press("Enter");
    await poll(hash).toBe("#/repo/store/json");
    await page.goBack();
    await unsaved.getByRole("button", { name: "Review edits" }).press("Enter");
    const dialog = page.getByRole("dialog", { name: "Review edits" });
    await dialog.getByRole("button", { name: "Save these 2 edits" }).press("Enter");
    await dialog.waitFor({ state: "detached" });
    expect(await screen.stored("shop", "svc.timeout")).toBe(7);
    await poll(() => unsaved.getByRole("listitem").allInnerTexts()).toEqual(["store\nedited as text"]);
  });

  test("lists what changed since yesterday, live, with a link to all of it", async () => {
    const { screen, page, hash } = await openScreen({ shop: {}, store: {}, web: {} });
    const recent = reason(page, "Changed since yesterday");
    await poll(() => recent.getByRole("listitem").count()).toBe(3);
    await reads(recent.getByRole("listitem").last(), /shop\s+added\s+just now by you/);
    await screen.t.owner.call("config/set", { repo: ["shop", "store"], "svc.timeout": 5 });
    await reads(recent.getByRole("listitem").first(), /2 repositories\s+svc\.timeout\s+just now by you/);
    await screen.set("web", { "svc.domain": "web.test" });
    await reads(recent.getByRole("listitem").first(), /web\s+svc\.domain/);
    for (let timeout = 1; timeout <= 3; timeout += 1) await screen.set("web", { "svc.timeout": timeout });
    // Only the newest five.
    await poll(() => recent.getByRole("listitem").count()).toBe(5);
    await recent.getByRole("link", { name: "All that changed in the last 24 hours" }).press("Enter");
    await poll(hash).toBe("#/activity?q=since%3A24h");
    await page.getByRole("heading", { level: 1, name: "Activity" }).waitFor();
  });

  test("leads an empty home in three steps to a value that is used, and says which are done", async () => {
    const { screen, page } = await openScreen({});
    const steps = page.getByRole("list", { name: "First steps" });
    await poll(() => steps.getByRole("heading").allInnerTexts()).toEqual([
      "Add a repository",
      "Give it a value",
      "Use it",
    ]);
    await steps.getByRole("button", { name: "Add a repository" }).click();
    await page.getByRole("dialog", { name: "Add a repository" }).waitFor();
    await press(page, "Escape");
    await screen.add("shop", {});
    await reads(steps.getByRole("listitem").first(), /Add a repository\s+done/);
    await screen.set("shop", { "svc.timeout": 5 });
    await steps.waitFor({ state: "detached" });
  });

  test("lists the repositories that this window showed last, then those that the person changed last", async () => {
    const { page, choose, goTo, hash } = await openScreen({ blog: {}, shop: {}, store: { "svc.timeout": 5 }, web: {} });
    const recent = reason(page, "Recent repositories");
    const names = () => recent.getByRole("link").allInnerTexts();
    await choose("shop");
    await choose("blog");
    await goTo("#/");
    await poll(async () => (await names()).slice(0, 2)).toEqual(["blog", "shop"]);
    await poll(async () => (await names()).slice(2).toSorted()).toEqual(["store", "web"]);
    await recent.getByRole("link", { name: "shop" }).press("Enter");
    await poll(hash).toBe("#/repo/shop");
  });

  test("aligns what each line is about and what is said of it, and stacks them in a narrow window", async () => {
    const window = await openScreen({ shop: { "svc.timeout": 1 }, "a-much-longer-name": { "svc.domain": "a.test" } });
    const { page } = window;
    await breakFile(window.screen.t, "shop");
    const left = (name: string) =>
      reason(page, name)
        .getByRole("listitem")
        .locator(":scope > :nth-child(2)")
        .evaluateAll(all => all.map(one => Math.round(one.getBoundingClientRect().left)));
    await reads(reason(page, "Files with problems"), "shop.json");
    await poll(async () => (await left("Changed since yesterday")).length).toBe(4);
    const all = [...(await left("Changed since yesterday")), ...(await left("Files with problems"))];
    expect(new Set(all).size).toBe(1);
    await page.setViewportSize({ width: 360, height: 740 });
    const first = reason(page, "Changed since yesterday").getByRole("listitem").first();
    await poll(async () => {
      const [name, field] = await Promise.all([
        first.getByRole("link").boundingBox(),
        first.locator("code").boundingBox(),
      ]);
      return name !== null && field !== null && field.x === name.x && field.y >= name.y + name.height;
    }).toBe(true);
  });
});
