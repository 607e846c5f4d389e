import { readFile, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { FolderWatcher } from "../../../main/files/folder-watcher.ts";
import { noRescans, startTestDaemon, type TestDaemon, until } from "../../helpers/daemon.ts";
import { startWithWorktrees } from "../../helpers/linked-worktrees.ts";
import { startWorkTree, treeText } from "../../helpers/work-tree.ts";

const mark = async ({ owner }: TestDaemon, repo: string, favourite: boolean | null = true) => {
  const { result, errors } = await owner.call("repo/update", { repo, favourite });
  return errors[0]?.code ?? result.favourite;
};
/** The ids of the favourites. */
const favourites = async ({ owner }: TestDaemon) =>
  (await owner.call("repo/list")).result.flatMap(({ id, favourite }) => (favourite ? [id] : []));
const inFile = async (t: TestDaemon) => JSON.parse(await readFile(t.repositoryFile("shop"), "utf8")).favourite;
const edit = async (t: TestDaemon, favourite: unknown) =>
  t.writeRepository("shop", JSON.stringify({ ...JSON.parse(await t.readRepository("shop")), favourite }));

test("a favourite is in the file of the home before the reply, and stays one whatever becomes of the rest", async () => {
  await using t = await startTestDaemon({ repositories: ["shop", "store"] });
  const before = await t.readRepository("store");
  expect([await mark(t, "shop"), await inFile(t)]).toEqual([true, true]);
  await t.owner.call("repo/update", { repo: "shop", name: "Shop", path: t.homeFolder });
  await t.owner.call("config/set", { repo: "shop", "svc.timeout": 5 });
  // Read from the file without an index, then from the index without the file.
  await t.restart(() => rm(join(t.homeFolder, "index.json")));
  expect(await favourites(t)).toEqual(["shop"]);
  await t.restart(() => t.writeRepository("shop", "{"));
  await t.owner.call("file/restore", { repo: "shop" });
  expect([await favourites(t), await inFile(t)]).toEqual([["shop"], true]);
  expect((await t.owner.call("history/list", { repo: "shop" })).result).toHaveLength(2);
  expect([await mark(t, "shop", false), await inFile(t), await mark(t, "shop")]).toEqual([undefined, undefined, true]);
  await t.owner.call("repo/remove", { repo: "shop" });
  await t.addRepository("shop");
  expect([await favourites(t), await t.readRepository("store")]).toEqual([[], before]);
  const other = await t.connectWith([{ repos: "*", fields: ["*"], right: "write" }]);
  expect(await mark({ ...t, owner: other }, "shop")).toBe(1105);
  expect([await mark(t, "nowhere"), await mark(t, "shop", null), await favourites(t)]).toEqual([1102, 1101, []]);
});

test("it is told once and not written again, and edits by hand count, unless it is marked again before they are read", async () => {
  await using t = await startTestDaemon({ repositories: ["shop"] });
  const other = await t.connect();
  await other.call("config/watch");
  await mark(t, "shop");
  await until(() => other.events.length > 0, "the event");
  expect(other.events).toMatchObject([["repo", "updated", { id: "shop", favourite: true }]]);
  const { ino } = await stat(t.repositoryFile("shop"));
  expect([await mark(t, "shop"), (await stat(t.repositoryFile("shop"))).ino]).toEqual([true, ino]);
  await edit(t, "yes");
  await until(async () => (await favourites(t)).length === 0, "the edit by hand");
  vi.spyOn(FolderWatcher.prototype, "add").mockResolvedValue();
  await using unwatched = await startTestDaemon({ repositories: ["shop"], ...noRescans });
  await mark(unwatched, "shop");
  await edit(unwatched, undefined);
  expect([await mark(unwatched, "shop"), await inFile(unwatched)]).toEqual([true, true]);
});

test("that of a work tree is not in it, can be changed while its folder is missing, and may be a linked worktree alone", async () => {
  await using tree = await startWorkTree(treeText);
  const { t, folder, file } = tree;
  await mark(t, "site");
  await t.restart();
  expect([await favourites(t), await readFile(file, "utf8")]).toEqual([["site"], treeText]);
  await rename(folder, `${folder}-2`);
  await t.owner.call("file/read", { repo: "site" });
  expect([await mark(t, "site", false), await mark(t, "site")]).toEqual([undefined, true]);
  await t.owner.call("repo/update", { repo: "site", path: `${folder}-2` });
  expect(await favourites(t)).toEqual(["site"]);
  await using world = await startWithWorktrees();
  const id = await world.link("feature");
  expect([await mark(world.t, id), await favourites(world.t)]).toEqual([true, [id]]);
});
