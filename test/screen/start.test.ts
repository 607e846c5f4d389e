import { expect, test } from "vitest";
import { breakFile } from "../helpers/broken-file.ts";
import { startTestDaemon, until } from "../helpers/daemon.ts";
import {
  describeScreen,
  openPage,
  openScreen,
  openShop,
  poll,
  reads,
  type ScreenPage,
  screenFolder,
} from "../helpers/screen.ts";
import { isRepositoryFile, repositoryNames, slowDisk, writeRepositoryFiles } from "../helpers/slow-disk.ts";
import { temporaryFolder } from "../helpers/temporary-folder.ts";

const reason = ({ page }: ScreenPage, name: string) => page.getByRole("main").getByRole("region", { name });

async function openStart(window: ScreenPage): Promise<void> {
  await window.tree.waitFor();
  await window.page.getByRole("link", { name: "Repoconf" }).click();
  await window.page.getByRole("heading", { level: 1, name: "Needs attention" }).waitFor();
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
    await using window = await openScreen({ shop: {} });
    const { screen, page } = window;
    await reads(page.getByRole("main"), "Nothing needs attention");
    await breakFile(screen.t, "shop");
    await reads(reason(window, "Files with problems"), "shop.json");
    await page.getByText("Nothing needs attention").waitFor({ state: "detached" });
    await reason(window, "Files with problems").getByRole("link", { name: "Open the text of shop" }).press("Enter");
    await poll(window.hash).toBe("#/repo/shop/json");
    await page.goBack();
    await screen.t.owner.call("file/restore", { repo: "shop" });
    await reads(page.getByRole("main"), "Nothing needs attention");
  });

  test("lists edits in conflict, with a link to each, and refused edits", async () => {
    await using window = await openShop({}, { others: { store: {} } });
    const { screen } = window;
    await window.provider.fill("mine");
    await screen.set("shop", { "svc.provider": "theirs" });
    await openStart(window);
    const waiting = reason(window, "Edits to resolve");
    await reads(waiting, "owner changed it too in the meantime");
    await waiting.getByRole("link", { name: "shop, svc.provider" }).press("Enter");
    await poll(window.hash).toBe("#/repo/shop/svc.provider");
    await window.field("Provider").getByRole("button", { name: "Take theirs" }).click();
    await window.choose("store");
    await window.timeout.fill("-5");
    await window.startSaving();
    await window.messages.getByText("Nothing was saved").waitFor();
    await openStart(window);
    await reads(waiting, "store, svc.timeout was refused");
    expect(await waiting.getByRole("listitem").count()).toBe(1);
  });

  test("lists unsaved edits, including those of a file's text, even after a reload", async () => {
    await using window = await openShop({}, { others: { store: { "svc.timeout": 1 } } });
    const { screen, page } = window;
    await window.provider.fill("mine");
    await window.timeout.fill("7");
    await window.choose("store");
    await window.view("JSON");
    await window.text.pressSequentially("//");
    await openStart(window);
    await poll(async () => (await screen.drafts()).length).toBe(3);
    await page.reload();
    const unsaved = reason(window, "Unsaved edits");
    await reads(unsaved, "shop 2 edits");
    await reads(unsaved, "store edited as text");
    await unsaved.getByRole("link", { name: "store" }).press("Enter");
    await poll(window.hash).toBe("#/repo/store/json");
    await page.goBack();
    await unsaved.getByRole("button", { name: "Review edits" }).press("Enter");
    const dialog = page.getByRole("dialog", { name: "Review edits" });
    await dialog.getByRole("button", { name: "Save these 2 edits" }).press("Enter");
    await dialog.waitFor({ state: "detached" });
    expect(await screen.stored("shop", "svc.timeout")).toBe(7);
    await poll(() => unsaved.getByRole("listitem").allInnerTexts()).toEqual(["store edited as text"]);
  });

  test("lists what changed since yesterday, live, with a link to all of it", async () => {
    await using window = await openScreen({ shop: {}, store: {}, web: {} });
    const { screen } = window;
    const recent = reason(window, "Changed since yesterday");
    await poll(() => recent.getByRole("listitem").count()).toBe(3);
    await screen.t.owner.call("config/set", { repo: ["shop", "store"], "svc.timeout": 5 });
    await reads(recent.getByRole("listitem").first(), /2 repositories\s+svc\.timeout\s+just now by owner/);
    await screen.set("web", { "svc.domain": "web.test" });
    await reads(recent.getByRole("listitem").first(), /web\s+svc\.domain/);
    for (let timeout = 1; timeout <= 3; timeout += 1) await screen.set("web", { "svc.timeout": timeout });
    // Only the newest five.
    await poll(() => recent.getByRole("listitem").count()).toBe(5);
    await recent.getByRole("link", { name: "All that changed in the last 24 hours" }).press("Enter");
    await poll(window.hash).toBe("#/activity?q=since%3A24h");
    await window.page.getByRole("heading", { level: 1, name: "Activity" }).waitFor();
  });
});
