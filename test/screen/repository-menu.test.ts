import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { describeScreen, type OpenScreen, openScreen, openShop, poll, press, reads } from "../helpers/screen.ts";
import { temporaryFolder } from "../helpers/temporary-folder.ts";

/** Chooses from the menu of the shown repository. */
async function choose({ page }: OpenScreen, item: string): Promise<void> {
  await page.getByRole("main").getByRole("button", { name: "Actions of" }).click();
  await page.getByRole("menuitem", { name: item, exact: true }).click();
}

describeScreen("the menu of a repository", () => {
  test("renames it, and shows its new folder, or says why that cannot be", async () => {
    await using folder = await temporaryFolder();
    const window = await openShop({}, { others: { store: {} } });
    const { page, screen } = window;
    await choose(window, "Rename…");
    const rename = page.getByRole("dialog", { name: "Rename shop" });
    await poll(() => rename.getByRole("textbox", { name: /^Name/ }).and(page.locator(":focus")).count()).toBe(1);
    await page.keyboard.type("Web shop");
    await press(page, "Enter");
    await page.getByRole("heading", { level: 1, name: "Web shop" }).waitFor();
    const moved = join(folder.path, "new");
    await mkdir(moved);
    await screen.t.owner.call("repo/update", { repo: "store", path: folder.path });
    await choose(window, "Its folder…");
    const move = page.getByRole("dialog", { name: "The folder of Web shop" });
    const path = move.getByRole("combobox", { name: /^Folder/ });
    await path.fill(join(folder.path, "none"));
    await press(page, "Enter");
    await reads(move.getByRole("alert"), "none");
    await path.fill(folder.path);
    await reads(move, "Already added as store.");
    await path.fill(moved);
    await press(page, "Enter");
    await reads(page.getByRole("main"), moved);
    expect((await screen.t.owner.call("repo/list", { repo: "shop" })).result).toMatchObject([
      { name: "Web shop", path: moved },
    ]);
  });

  test("removes it with three clicks, after saying what becomes of its file and its edits", async () => {
    const window = await openShop({ "svc.timeout": 5 });
    const { page, screen, timeout, messages, edits, row } = window;
    await timeout.fill("6");
    await choose(window, "Remove…");
    const dialog = page.getByRole("dialog", { name: "Remove shop?" });
    await reads(dialog, "moved to the folder “removed” of the home");
    await reads(dialog, "An edit of it that is not saved is lost.");
    await dialog.getByRole("button", { name: "Remove" }).click();
    await row("shop").waitFor({ state: "detached" });
    await edits.waitFor({ state: "detached" });
    await page.getByRole("heading", { level: 1, name: "No repository yet" }).waitFor();
    await reads(messages, "Removed shop. Its file was moved to ");
    const [, file = ""] = /moved to (\S+)/.exec(await messages.innerText()) ?? [];
    expect(await readFile(file, "utf8")).toContain('"timeout": 5');
    expect((await screen.t.owner.call("repo/list")).result).toEqual([]);
  });

  test("of a repository with a committed file says that its values stay there", async () => {
    const window = await openScreen({}, { clones: { site: { svc: { timeout: 7 } } } });
    const { page, choose: show } = window;
    await show("site");
    await choose(window, "Remove…");
    const dialog = page.getByRole("dialog", { name: "Remove site?" });
    await reads(dialog, "Its values stay in the .repoconf.json of its folder");
    await dialog.getByRole("button", { name: "Cancel" }).click();
    await page.getByRole("heading", { level: 1, name: "site" }).waitFor();
  });

  test("copies its path, id, link and command; all of it is among the commands too", async () => {
    const window = await openScreen({}, { clones: { site: {} } });
    const { page, choose: show, screen } = window;
    await show("site");
    const copied = () => page.evaluate<string>("navigator.clipboard.readText()");
    const [entry] = (await screen.t.owner.call("repo/list")).result;
    await choose(window, "Copy path");
    await poll(copied).toBe(entry?.path);
    await choose(window, "Copy id");
    await poll(copied).toBe("site");
    await choose(window, "Copy link");
    await poll(copied).toBe(`http://${screen.t.screenHost}/#/repo/site`);
    await press(page, "Control+k");
    const input = page.getByRole("combobox", { name: "Find a place or a command" });
    await poll(() => input.and(page.locator(":focus")).count()).toBe(1);
    await page.keyboard.type("copy the command");
    await reads(page.getByRole("option", { selected: true }), "Copy the command that lists its values");
    await press(page, "Enter");
    await poll(copied).toBe("repoconf list --repo site");
  });
});

describeScreen("the dialog to add a repository", () => {
  test("has the focus in the path, which the daemon completes, and opens what is there already", async () => {
    await using folder = await temporaryFolder();
    for (const name of ["shop", "clone"]) await mkdir(join(folder.path, name));
    await writeFile(join(folder.path, "clone", ".repoconf.json"), '{ "config": { "svc": { "timeout": 41 } } }');
    const { page, screen } = await openScreen({});
    await screen.t.owner.call("repo/add", { id: "one", name: "my shop", path: join(folder.path, "shop") });
    await page.getByRole("banner").getByRole("button", { name: "Add a repository" }).click();
    const dialog = page.getByRole("dialog", { name: "Add a repository" });
    const path = dialog.getByRole("combobox", { name: /^Folder/ });
    await poll(() => path.and(page.locator(":focus")).count()).toBe(1);
    await page.keyboard.type(`${folder.path}/`);
    const completions = () =>
      dialog.locator("datalist option").evaluateAll(options => options.map(one => one.getAttribute("value")));
    await poll(completions).toEqual([join(folder.path, "clone"), join(folder.path, "shop")]);
    await page.keyboard.type("clone");
    await reads(dialog, "It has a .repoconf.json: the values in it are used.");
    await path.fill(join(folder.path, "shop"));
    await reads(dialog, "Already added as my shop.");
    await dialog.getByRole("button", { name: "Open it" }).click();
    await page.getByRole("heading", { level: 1, name: "my shop" }).waitFor();
    expect((await screen.t.owner.call("repo/list")).result).toHaveLength(1);
  });
});
