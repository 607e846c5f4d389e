import { expect, test } from "vitest";
import { favouritesFirst, inOrder } from "../../renderer/state/repository-order.ts";
import type { RepositoryEntry } from "../../shared/protocol.ts";
import { breakFile } from "../helpers/broken-file.ts";
import { connectionLost, describeScreen, openScreen, poll, press, reads, type ScreenPage } from "../helpers/screen.ts";

/** The names on the start page, in the tree from top to bottom, and in the tree with a star. */
const shown = async ({ page, tree }: ScreenPage) => {
  const names = (name: RegExp) => tree.getByRole("treeitem", { name }).locator(".tree-name").allInnerTexts();
  const listed = await page.getByRole("region", { name: "Favourites" }).getByRole("link").allInnerTexts();
  return [listed, await names(/./), await names(/\bfavourite\b/)];
};

/** Chooses from the menu of the shown repository by the keyboard. */
async function choose({ page }: ScreenPage, item: string): Promise<void> {
  await page.getByRole("main").getByRole("button", { name: "Actions of" }).press("Enter");
  await page.getByRole("menuitem", { name: item, exact: true }).press("Enter");
}

describeScreen("favourites", () => {
  test("are chosen in the menu, on the start page and first in the tree, in other tabs too and after a restart, and among the commands", async () => {
    const repositories = { apples: {}, pears: {}, quinces: {} };
    const window = await openScreen(repositories, { page: { expected: connectionLost } });
    const { screen, page: before } = window;
    await using other = await screen.open({ expected: connectionLost });
    await poll(() => shown(other)).toEqual([[], ["apples", "pears", "quinces"], []]);
    for (const name of ["quinces", "pears"]) {
      await window.choose(name);
      await choose(window, "Add to favourites");
      await reads(window.messages, `Added ${name} to favourites.`);
    }
    const both = ["pears", "quinces"];
    await poll(() => shown(other)).toEqual([both, [...both, "apples"], both]);
    await before.close();
    await other.choose("apples");
    await screen.t.restart(async () => {
      await reads(other.page.getByRole("banner").getByRole("status"), "is not responding");
      await choose(other, "Add to favourites");
      await reads(other.messages, "apples was not added to favourites. The daemon does not answer.");
    });
    await using again = await screen.open();
    const { page, messages } = again;
    const options = page.getByRole("option");
    await poll(() => shown(again)).toEqual([both, [...both, "apples"], both]);
    await again.choose("apples");
    await again.choose("pears");
    await press(page, "Control+k");
    await reads(options.nth(0), /apples\s+Fields\s+Recent/);
    await reads(options.nth(1), /quinces\s+quinces\s+Favourite/);
    await page.keyboard.type("favourites");
    await reads(options.nth(0), "Remove this repository from favourites");
    await press(page, "Enter");
    await poll(() => shown(again)).toEqual([[], ["quinces", "apples", "pears"], ["quinces"]]);
    await breakFile(screen.t, "pears");
    await choose(again, "Add to favourites");
    await reads(messages, /pears was not added to favourites\. .*pears\.json/);
  });

  test("the start page shows twenty of many, and says how many more there are", async () => {
    const files = Array.from({ length: 23 }, (_, at) => `repo${at}`);
    const { screen, page } = await openScreen({}, { files });
    for (const repo of files) await screen.t.owner.call("repo/update", { repo, favourite: true });
    const text = /^Favourites(\s+repo\d+\s+no folder){20}\s+And 3 more, in the list of repositories\.$/;
    await reads(page.getByRole("region", { name: "Favourites" }), text);
  });
});

test("a linked worktree stays with its repository, also if only it is a favourite", () => {
  const entry = (id: string, more: Partial<RepositoryEntry> = {}): RepositoryEntry => {
    return { id, name: id, inTree: false, revision: 1, modified: 0, health: [], ...more };
  };
  const ids = (...entries: readonly RepositoryEntry[]) => favouritesFirst(inOrder(entries)).map(({ id }) => id);
  const others = [entry("a"), entry("b"), entry("c", { favourite: true })];
  expect(ids(entry("0", { base: "b" }), ...others)).toEqual(["c", "a", "b", "0"]);
  expect(ids(entry("0", { base: "b", favourite: true }), ...others)).toEqual(["b", "0", "c", "a"]);
});
