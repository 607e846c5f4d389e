import { mkdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { describeScreen, poll, press, reads, startScreen } from "../helpers/screen.ts";
import { temporaryFolder } from "../helpers/temporary-folder.ts";

describeScreen("going back", () => {
  test("restores the scroll position; another repository starts at the top", async () => {
    await using screen = await startScreen({ repositories: { shop: {}, store: {} } });
    await using window = await screen.open();
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
    await page.getByRole("spinbutton", { name: "Timeout" }).waitFor();
    await scroll(300);
    await poll(top).toBe(300);
    await window.choose("store");
    await poll(top).toBe(0);
    await page.getByRole("spinbutton", { name: "Timeout" }).waitFor();
    await scroll(150);
    await poll(top).toBe(150);
    // Not by mouse: Playwright would first scroll up to the links.
    const views = page.getByRole("navigation", { name: "Views of this repository" });
    await views.getByRole("link", { name: "History" }).dispatchEvent("click");
    await page.getByRole("region", { name: "History" }).waitFor();
    await poll(top).toBe(0);
    await views.getByRole("link", { name: "Fields" }).dispatchEvent("click");
    await poll(top).toBe(150);
    await window.choose("shop");
    await poll(top).toBe(300);
  });

  test("brings back discarded edits without replacing later ones", async () => {
    await using screen = await startScreen({ repositories: { shop: { "svc.timeout": 30 } } });
    await using window = await screen.open();
    const { page } = window;
    await window.choose("shop");
    await page.getByRole("spinbutton", { name: "Timeout" }).fill("60");
    await page.getByRole("textbox", { name: "Provider" }).fill("here");
    await page.getByRole("button", { name: "Discard all" }).click();
    await page.getByRole("region", { name: "Edits", exact: true }).waitFor({ state: "detached" });
    await page.getByRole("textbox", { name: "Provider" }).fill("there");
    const messages = page.getByRole("log", { name: "Messages" });
    await reads(messages, "2 edits were discarded.");
    await messages.getByRole("button", { name: "Bring back" }).click();
    await reads(page.getByRole("region", { name: "Edits", exact: true }), "2 edits, not saved");
    await poll(() => page.getByRole("spinbutton", { name: "Timeout" }).inputValue()).toBe("60");
    expect(await page.getByRole("textbox", { name: "Provider" }).inputValue()).toBe("there");
  });

  test("leads to a file with unsaved text, which the footer names everywhere else", async () => {
    await using screen = await startScreen({ repositories: { shop: { "svc.timeout": 30 }, store: {} } });
    await using window = await screen.open();
    const { page } = window;
    await window.choose("shop");
    await window.view("JSON");
    const editor = page.getByRole("textbox", { name: "Text of the file" });
    await editor.getByText(`"timeout"`).click();
    await press(page, "End");
    await page.keyboard.type(" // mine");
    const foot = page.getByRole("contentinfo");
    expect(await foot.innerText()).not.toContain("Unsaved text edits");
    await window.choose("store");
    await reads(foot, /Unsaved text edits:\s+shop/);
    await foot.getByRole("button", { name: "shop" }).click();
    await reads(editor, "// mine");
  });
});

describeScreen("the history of a repository", () => {
  test("reverts even the first change of a field, back to its default", async () => {
    await using screen = await startScreen({ repositories: { shop: {} } });
    await screen.set("shop", { "svc.timeout": 30 });
    await screen.set("shop", { "svc.provider": "here" });
    await using window = await screen.open();
    const { page } = window;
    await window.choose("shop");
    await window.view("History");
    await page.getByRole("button", { name: "Revert… revision 2" }).click();
    const dialog = page.getByRole("dialog", { name: "Revert revision 2" });
    await reads(dialog.getByRole("row", { name: /svc\.timeout/ }), /from\s+30 seconds\s+to\s+900 seconds default/);
    // Later changes are not included.
    expect(await dialog.getByRole("row").count()).toBe(2);
    await dialog.getByRole("button", { name: "Restore 1 field" }).click();
    await poll(() => screen.stored("shop", "svc.timeout")).toBeUndefined();
    expect(await screen.stored("shop", "svc.provider")).toBe("here");
    expect(await page.getByRole("button", { name: "Revert… revision 1" }).count()).toBe(0);
  });
});

describeScreen("adding repositories", () => {
  test("keeps the values of scanned repositories in their work trees if requested", async () => {
    await using folder = await temporaryFolder();
    for (const name of ["one", "two"]) await mkdir(join(folder.path, name, ".git"), { recursive: true });
    await using screen = await startScreen();
    await using window = await screen.open();
    const { page } = window;
    await page.getByRole("button", { name: "Add a repository" }).first().click();
    const dialog = page.getByRole("dialog");
    const place = dialog.getByRole("textbox", { name: /Folder/ });
    await place.fill(folder.path);
    await dialog.getByRole("button", { name: "Scan this folder" }).click();
    await dialog.getByRole("group", { name: "2 found" }).waitFor();
    // Another folder has not been scanned yet.
    await place.fill(join(folder.path, "none"));
    await dialog.getByRole("group").waitFor({ state: "detached" });
    await dialog.getByRole("button", { name: "Add", exact: true }).click();
    await reads(dialog.getByRole("alert"), `The folder ${join(folder.path, "none")} does not exist.`);
    await place.fill(folder.path);
    await dialog.getByRole("alert").waitFor({ state: "detached" });
    await dialog.getByRole("combobox", { name: /^Values/ }).selectOption("tree");
    await dialog.getByRole("button", { name: "Scan this folder" }).click();
    await dialog.getByRole("button", { name: "Add 2 of them" }).click();
    await dialog.waitFor({ state: "detached" });
    const { result } = await screen.t.owner.call("repo/list");
    expect(new Map(result.map(({ name, inTree }) => [name, inTree]))).toEqual(
      new Map([
        ["one", true],
        ["two", true],
      ]),
    );
    await screen.set(result.find(({ name }) => name === "one")?.id ?? "", { "svc.timeout": 30 });
    expect(await readFile(join(folder.path, "one/.repoconf.json"), "utf8")).toContain("30");
  });
});
