import { expect, test } from "vitest";
import { untilHealth } from "../helpers/broken-file.ts";
import { saveByRename, shopText, startShop } from "../helpers/shop.ts";

/** Saves a text that lacks the previous set, so that the daemon merges the two. */
async function mergeWith(text: string) {
  const shop = await startShop();
  await shop.set({ "svc.timeout": 31 });
  await saveByRename(shop.file, text);
  await untilHealth(shop.t, "shop", health => health.length > 0);
  return shop;
}

test("the note of a merge that only added a comment names no revision and offers no undo, because the last revision is the tool's", async () => {
  await using shop = await mergeWith(shopText.replace("// What people", "// What we"));
  expect(await shop.revision()).toBe(2);
  const [note, ...more] = await shop.health();
  expect(more).toEqual([]);
  expect(note).toMatchObject({ code: 1104, message: expect.stringContaining("merged") });
  expect(note?.message).toContain("no revision");
  expect(note?.message).not.toMatch(/revision \d|undo/);
});

test("the note of a merge that changed a value names its revision and how to undo it", async () => {
  await using shop = await mergeWith(shopText.replace(`"refresh_day": 2`, `"refresh_day": 3`));
  expect(await shop.health()).toMatchObject([{ code: 1104, message: expect.stringMatching(/revision 3\).*undo/) }]);
  const { result } = await shop.t.owner.call("history/list", { repo: "shop", limit: 1 });
  expect(result).toMatchObject([{ revision: 3, source: "merge" }]);
});

test("@broken does not find a repository whose file was merged and is valid", async () => {
  await using shop = await mergeWith(shopText.replace(`"refresh_day": 2`, `"refresh_day": 3`));
  const search = () => shop.t.owner.call("config/search", { query: "@broken" });
  expect(await search()).toEqual({ result: [], errors: [] });
  // Waits until the file has the merged text: an edit during that write would be set aside.
  await shop.read();
  await saveByRename(shop.file, "{ broken");
  await untilHealth(shop.t, "shop", health => health[0]?.code === 1106);
  expect((await search()).result).toEqual([{ repo: "shop" }]);
});
