import { mkdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { describeScreen, openScreen, openShop, poll, reads, shareScreen } from "../helpers/screen.ts";
import { takeOption } from "../helpers/take-option.ts";
import { temporaryFolder } from "../helpers/temporary-folder.ts";

const openOwnShop = shareScreen();

describeScreen("places", () => {
  test("going back restores the scroll position; another repository starts at the top", async () => {
    const { page, choose, timeout, history } = await openScreen({ shop: {}, store: {} });
    const main = page.getByRole("main");
    const top = () => main.evaluate(element => element.scrollTop);
    // The scroll event fires in a later frame; a test could leave the page before it, which no person could.
    const scroll = (to: number) =>
      main.evaluate((element, place) => {
        const heard = new Promise(resolve => element.addEventListener("scroll", resolve, { once: true }));
        element.scrollTo(0, place);
        return heard.then(() => {});
      }, to);
    await choose("shop");
    await timeout.waitFor();
    await scroll(300);
    await poll(top).toBe(300);
    await choose("store");
    await poll(top).toBe(0);
    await timeout.waitFor();
    await scroll(150);
    await poll(top).toBe(150);
    // Not by mouse: Playwright would first scroll up to the links.
    const views = page.getByRole("navigation", { name: "Views of this repository" });
    await views.getByRole("link", { name: "History" }).dispatchEvent("click");
    await history.waitFor();
    await poll(top).toBe(0);
    await views.getByRole("link", { name: "Fields" }).dispatchEvent("click");
    await poll(top).toBe(150);
    await choose("shop");
    await poll(top).toBe(300);
  });

  test("going back brings back discarded edits without replacing later ones", async () => {
    const { page, timeout, provider, edits, messages } = await openOwnShop({ "svc.timeout": 30 });
    await timeout.fill("60");
    await provider.fill("here");
    await page.getByRole("button", { name: "Discard all" }).click();
    await edits.waitFor({ state: "detached" });
    await provider.fill("there");
    await reads(messages, "2 edits were discarded.");
    await messages.getByRole("button", { name: "Bring back" }).click();
    await reads(edits, "2 edits, not saved");
    await poll(() => timeout.inputValue()).toBe("60");
    expect(await provider.inputValue()).toBe("there");
  });

  test("going back leads to a file with unsaved text, which the footer names everywhere else", async () => {
    const { page, view, typeAfter, choose, text } = await openShop({ "svc.timeout": 30 }, { others: { store: {} } });
    await view("JSON");
    await typeAfter("timeout", " // mine");
    const foot = page.getByRole("contentinfo");
    expect(await foot.innerText()).not.toContain("Unsaved text edits");
    await choose("store");
    await reads(foot, /Unsaved text edits:\s+shop/);
    await foot.getByRole("link", { name: "shop" }).click();
    await reads(text, "// mine");
  });

  test("the history of a repository reverts even the first change of a field, back to its default", async () => {
    const { page, view, stored } = await openOwnShop([{ "svc.timeout": 30 }, { "svc.provider": "here" }]);
    await view("History");
    await page.getByRole("button", { name: "Revert… revision 2" }).click();
    const dialog = page.getByRole("dialog", { name: "Revert revision 2" });
    await reads(dialog.getByRole("row", { name: /svc\.timeout/ }), /from\s+30 seconds\s+to\s+900 seconds default/);
    // Later changes are not included.
    expect(await dialog.getByRole("row").count()).toBe(2);
    await dialog.getByRole("button", { name: "Restore 1 field" }).click();
    await poll(() => stored("svc.timeout")).toBeUndefined();
    expect(await stored("svc.provider")).toBe("here");
    expect(await page.getByRole("button", { name: "Revert… revision 1" }).count()).toBe(0);
  });

  test("adding repositories adds those that a scan has found and that are chosen, with their values in their work trees if requested", async () => {
    await using folder = await temporaryFolder();
    for (const name of ["one", "two", "three"]) await mkdir(join(folder.path, name, ".git"), { recursive: true });
    const { screen, page, row } = await openScreen({});
    await screen.t.owner.call("repo/add", { name: "one", path: join(folder.path, "one") });
    await row("one").waitFor();
    await page.getByRole("banner").getByRole("button", { name: "Add a repository" }).click();
    const dialog = page.getByRole("dialog");
    const place = dialog.getByRole("combobox", { name: /Folder/ });
    await place.fill(folder.path);
    await dialog.getByRole("button", { name: "Scan this folder" }).click();
    await dialog.getByRole("group", { name: "3 found" }).waitFor();
    // Another folder has not been scanned yet.
    await place.fill(join(folder.path, "none"));
    await dialog.getByRole("group").waitFor({ state: "detached" });
    await dialog.getByRole("button", { name: "Add", exact: true }).click();
    await reads(dialog.getByRole("alert"), `The folder ${join(folder.path, "none")} does not exist.`);
    await place.fill(folder.path);
    await dialog.getByRole("alert").waitFor({ state: "detached" });
    await takeOption(dialog.getByRole("button", { name: /Values where/ }), /^In .repoconf.json in the folder/);
    await dialog.getByRole("button", { name: "Scan this folder" }).click();
    await reads(dialog, "already added");
    await dialog.getByRole("checkbox", { name: /three/ }).uncheck();
    await dialog.getByRole("button", { name: "Add 1 of them" }).click();
    await dialog.waitFor({ state: "detached" });
    const { result } = await screen.t.owner.call("repo/list");
    expect(Object.fromEntries(result.map(({ name, inTree }) => [name, inTree]))).toEqual({ one: false, two: true });
    await screen.set(result.find(({ name }) => name === "two")?.id ?? "", { "svc.timeout": 30 });
    expect(await readFile(join(folder.path, "two/.repoconf.json"), "utf8")).toContain("30");
  });
});
