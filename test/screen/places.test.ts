import { mkdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { describeScreen, openScreen, openShop, poll, reads, shareScreen } from "../helpers/screen.ts";
import { temporaryFolder } from "../helpers/temporary-folder.ts";

const openOwnShop = shareScreen();

describeScreen("places", () => {
  test("going back restores the scroll position; another repository starts at the top", async () => {
    await using window = await openScreen({ shop: {}, store: {} });
    const { page } = window;
    const main = page.getByRole("main");
    const top = () => main.evaluate(element => element.scrollTop);
    // The scroll event fires in a later frame; a test could leave the page before it, which no person could.
    const scroll = (to: number) =>
      main.evaluate((element, place) => {
        const heard = new Promise(resolve => element.addEventListener("scroll", resolve, { once: true }));
        element.scrollTo(0, place);
        return heard.then(() => {});
      }, to);
    await window.choose("shop");
    await window.timeout.waitFor();
    await scroll(300);
    await poll(top).toBe(300);
    await window.choose("store");
    await poll(top).toBe(0);
    await window.timeout.waitFor();
    await scroll(150);
    await poll(top).toBe(150);
    // Not by mouse: Playwright would first scroll up to the links.
    const views = page.getByRole("navigation", { name: "Views of this repository" });
    await views.getByRole("link", { name: "History" }).dispatchEvent("click");
    await window.history.waitFor();
    await poll(top).toBe(0);
    await views.getByRole("link", { name: "Fields" }).dispatchEvent("click");
    await poll(top).toBe(150);
    await window.choose("shop");
    await poll(top).toBe(300);
  });

  test("going back brings back discarded edits without replacing later ones", async () => {
    const window = await openOwnShop({ "svc.timeout": 30 });
    const { page } = window;
    await window.timeout.fill("60");
    await window.provider.fill("here");
    await page.getByRole("button", { name: "Discard all" }).click();
    await window.edits.waitFor({ state: "detached" });
    await window.provider.fill("there");
    await reads(window.messages, "2 edits were discarded.");
    await window.messages.getByRole("button", { name: "Bring back" }).click();
    await reads(window.edits, "2 edits, not saved");
    await poll(() => window.timeout.inputValue()).toBe("60");
    expect(await window.provider.inputValue()).toBe("there");
  });

  test("going back leads to a file with unsaved text, which the footer names everywhere else", async () => {
    await using window = await openShop({ "svc.timeout": 30 }, { others: { store: {} } });
    const { page } = window;
    await window.view("JSON");
    await window.typeAfter("timeout", " // mine");
    const foot = page.getByRole("contentinfo");
    expect(await foot.innerText()).not.toContain("Unsaved text edits");
    await window.choose("store");
    await reads(foot, /Unsaved text edits:\s+shop/);
    await foot.getByRole("button", { name: "shop" }).click();
    await reads(window.text, "// mine");
  });

  test("the history of a repository reverts even the first change of a field, back to its default", async () => {
    const window = await openOwnShop([{ "svc.timeout": 30 }, { "svc.provider": "here" }]);
    const { page } = window;
    await window.view("History");
    await page.getByRole("button", { name: "Revert… revision 2" }).click();
    const dialog = page.getByRole("dialog", { name: "Revert revision 2" });
    await reads(dialog.getByRole("row", { name: /svc\.timeout/ }), /from\s+30 seconds\s+to\s+900 seconds default/);
    // Later changes are not included.
    expect(await dialog.getByRole("row").count()).toBe(2);
    await dialog.getByRole("button", { name: "Restore 1 field" }).click();
    await poll(() => window.stored("svc.timeout")).toBeUndefined();
    expect(await window.stored("svc.provider")).toBe("here");
    expect(await page.getByRole("button", { name: "Revert… revision 1" }).count()).toBe(0);
  });

  test("adding repositories adds those that a scan has found and that are chosen, with their values in their work trees if requested", async () => {
    await using folder = await temporaryFolder();
    for (const name of ["one", "two", "three"]) await mkdir(join(folder.path, name, ".git"), { recursive: true });
    await using window = await openScreen({});
    const { screen, page } = window;
    await screen.t.owner.call("repo/add", { name: "one", path: join(folder.path, "one") });
    await window.row("one").waitFor();
    await page.getByRole("banner").getByRole("button", { name: "Add a repository" }).click();
    const dialog = page.getByRole("dialog");
    const place = dialog.getByRole("textbox", { name: /Folder/ });
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
    await dialog.getByRole("combobox", { name: /^Values/ }).selectOption("tree");
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
