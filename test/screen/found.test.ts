import { appendFile, mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { describeScreen, reads, startScreen } from "../helpers/screen.ts";
import { healthOf } from "../helpers/shop.ts";

describeScreen("what the daemon found", () => {
  test("is shown in the overview and with its repository, until it is dismissed there", async () => {
    await using screen = await startScreen({ repositories: { shop: [{ "svc.timeout": 30 }, { "svc.timeout": 31 }] } });
    const { t } = screen;
    const at = (name: string) => join(t.homeFolder, name);
    const journal = at("journal/shop.0-0.jsonl");
    await writeFile(journal, (await readFile(journal, "utf8")).replace(`"after":30`, `"after":39`));
    await t.owner.call("history/list", { repo: "shop" });
    await t.daemon.close();
    await writeFile(at("index.json"), "damaged");
    await t.restart();
    await using window = await screen.open();
    const { page } = window;
    const found = page.getByRole("region", { name: "Found by Repoconf" });
    await reads(found, journal);
    const ofHome = found.getByRole("listitem").filter({ hasText: "index.json" });
    await ofHome.getByRole("button", { name: "Dismiss" }).click();
    await ofHome.waitFor({ state: "detached" });
    expect((await t.owner.call("daemon/status")).result.findings).toMatchObject([{ repo: "shop" }]);

    await window.choose("shop");
    const note = page.getByRole("complementary", { name: "Problems with the file" });
    await reads(note, journal);
    await note.getByRole("button", { name: "Dismiss" }).click();
    await note.waitFor({ state: "detached" });
    expect(await healthOf(t, "shop")).toEqual([]);
  });

  test("offers to restore no revision before lost records, and no file of a folder that is another one", async () => {
    const clones = { site: { svc: { timeout: 30 } } };
    const shop = [{ "svc.timeout": 30 }, { "svc.timeout": 31 }];
    await using screen = await startScreen({ repositories: { shop }, clones });
    const { t } = screen;
    const path = join(t.homeFolder, "../site");
    await t.daemon.close();
    await appendFile(join(t.homeFolder, "journal/shop.0-0.jsonl"), "damaged\nlines\n");
    await rename(path, `${path}-elsewhere`);
    await mkdir(path);
    await t.restart();
    await using window = await screen.open();
    const { page } = window;
    await window.choose("site");
    const note = page.getByRole("complementary", { name: "Problems with the file" });
    await reads(note, "The folder of the work tree is missing or another one");
    expect(await note.getByRole("button", { name: "Restore last valid file" }).count()).toBe(0);
    const lost = await screen.revision("shop");
    await screen.set("shop", { "svc.timeout": 32 });
    await window.choose("shop");
    await window.view("History");
    await reads(window.history.getByRole("listitem").nth(1), "Earlier changes are unknown");
    await page.getByRole("button", { name: `Restore… revision ${lost}` }).waitFor();
    await page.getByRole("button", { name: "Compare revision 3" }).waitFor();
    expect(await page.getByRole("button", { name: /^Restore…/ }).count()).toBe(1);
  });
});
