import { readdir, readFile, rename, unlink } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { RepositoryEntry } from "../../../shared/protocol.ts";
import { untilHealth } from "../../helpers/broken-file.ts";
import { noRescans, startTestDaemon, type TestDaemon, until } from "../../helpers/daemon.ts";
import { systemError, watchFileSystem } from "../../helpers/file-system.ts";
import { RevisionNotes } from "../../helpers/revision-notes.ts";
import { timeoutOf } from "../../helpers/shared-world.ts";
import { saveByRename, startShop } from "../../helpers/shop.ts";
import { TestClock } from "../../helpers/test-clock.ts";

const putBack = (t: TestDaemon, movedTo: string) => rename(movedTo, t.repositoryFile("a"));
const addAgain = (t: TestDaemon) => t.addRepository("a");
test.each<[how: string, same: boolean, restore: (t: TestDaemon, movedTo: string) => Promise<unknown>]>([
  ["its file is put back by hand", true, putBack],
  [
    "its file is put back by hand while no daemon runs",
    true,
    async (t, movedTo) => {
      await t.daemon.close();
      await putBack(t, movedTo);
      await t.restart();
    },
  ],
  ["its id is added again", false, addAgain],
  ["its id is added again after a restart", false, t => t.restart().then(() => addAgain(t))],
])("the revisions of a removed repository continue when %s", async (_how, same, restore) => {
  await using t = await startTestDaemon(noRescans);
  const notes = new RevisionNotes();
  await t.addRepository("a");
  await notes.set(t, "a", 1, 2, 3);
  const before = notes.highest;
  const { result } = await t.owner.call("repo/remove", { repo: "a" });
  await restore(t, result.movedTo ?? "");
  await until(async () => (await repository(t, "a")) !== undefined, "the repository to exist again");
  // The same state keeps its revision; a different one gets the next.
  expect(await notes.note(t, "a")).toBe(same ? before : before + 1);
  await notes.set(t, "a", 4, 5);
  await t.restart();
  await notes.note(t, "a");
  const { result: history } = await t.owner.call("history/list", { repo: "a" });
  expect(history.map(({ revision }) => revision)).toEqual(descendingFrom(notes.highest));
});

describe("removing a repository", () => {
  test("whose file was deleted by hand replies without movedTo", async () => {
    await using t = await startTestDaemon(noRescans);
    await t.addRepository("a");
    await unlink(t.repositoryFile("a"));
    await untilHealth(t, "a", health => health.length > 0);
    const { result, errors } = await t.owner.call("repo/remove", { repo: "a" });
    expect(errors).toEqual([]);
    expect(result).not.toHaveProperty("movedTo");
    expect(await repository(t, "a")).toBeUndefined();
  });

  test.each([
    ["the file", "rename", "repos/a.json"],
    ["the folder for removed files", "sync", "removed"],
  ])("while the disk fails at %s is refused with 1108, and the repository stays", async (_what, failing, place) => {
    const fileSystem = watchFileSystem();
    await using t = await startTestDaemon({ ...noRescans, fileSystem });
    const notes = new RevisionNotes();
    await t.addRepository("a");
    await notes.set(t, "a", 31);
    fileSystem.before = ({ operation, path }) => {
      if (operation === failing && path === join(t.homeFolder, place)) throw systemError("EIO");
    };
    const { errors } = await t.owner.call("repo/remove", { repo: "a" });
    fileSystem.before = () => {};
    expect(errors.map(({ code, details }) => ({ code, details }))).toEqual([{ code: 1108, details: { cause: "EIO" } }]);
    expect(await t.readRepository("a")).toContain("31");
    expect(await repository(t, "a")).toMatchObject({ health: [] });
    await notes.set(t, "a", 32);
    await t.restart();
    expect(await timeoutOf(t, "a")).toBe(32);
    expect((await t.owner.call("repo/remove", { repo: "a" })).errors).toEqual([]);
  });
});

async function repository(t: TestDaemon, id: string): Promise<RepositoryEntry | undefined> {
  return (await t.owner.call("repo/list")).result.find(entry => entry.id === id);
}

/** All whole numbers from this one down to 1. */
function descendingFrom(highest: number): number[] {
  return Array.from({ length: highest }, (_, index) => highest - index);
}

/* A text that is set aside belongs to somebody: a later one must not replace it, even in the same millisecond. */

test("texts replaced by restores, and files of removed repositories, are all kept in one millisecond", async () => {
  await using t = await startTestDaemon({ ...noRescans, clock: new TestClock({ timers: "run" }) });
  const kept: string[] = [];
  const texts = ["{ the first", "{ the second", "{ the third"];
  for (const timeout of [10, 20]) {
    await t.addRepository("shop");
    for (const text of texts) {
      await saveByRename(t.repositoryFile("shop"), text);
      await untilHealth(t, "shop", health => health.length > 0);
      kept.push((await t.owner.call("file/restore", { repo: "shop" })).result.movedTo ?? "");
    }
    await t.owner.call("config/set", { repo: "shop", "svc.timeout": timeout });
    kept.push((await t.owner.call("repo/remove", { repo: "shop" })).result.movedTo ?? "");
  }
  const found = await Promise.all(kept.map(path => readFile(path, "utf8")));
  const removed = (timeout: number) => expect.stringContaining(`"timeout": ${timeout}`);
  expect(found).toEqual([...texts, removed(10), ...texts, removed(20)]);
});

test("a restore whose rename is blocked and retried keeps the previous text, once", async () => {
  const fileSystem = watchFileSystem();
  await using t = await startTestDaemon({ ...noRescans, fileSystem });
  await t.addRepository("shop");
  await saveByRename(t.repositoryFile("shop"), "{ the first");
  await untilHealth(t, "shop", health => health.length > 0);
  let blocked = 2;
  fileSystem.before = ({ operation, path }) => {
    if (operation === "rename" && path.endsWith("/tmp/shop.json") && blocked-- > 0) throw systemError("EBUSY");
  };
  const { result, errors } = await t.owner.call("file/restore", { repo: "shop" });
  expect(errors).toEqual([]);
  expect(await readFile(result.movedTo ?? "", "utf8")).toBe("{ the first");
  expect(await readdir(join(t.homeFolder, "removed"))).toHaveLength(1);
});

test("no temporary file stays in the home when a repository is removed or its file is restored", async () => {
  await using shop = await startShop();
  const left = async () => (await readdir(join(shop.t.homeFolder, "tmp"))).filter(name => name.startsWith("shop"));
  await shop.set({ "svc.timeout": 31 });
  await shop.t.owner.call("file/restore", { repo: "shop" });
  expect(await left()).toEqual([]);
  for (const repo of ["shop-1", "shop-2", "shop-3", "shop-4"]) {
    await shop.t.addRepository(repo);
    // Sent together, so that the file is nearly always written during the removal.
    const set = shop.t.owner.call("config/set", { repo, "svc.timeout": 32 });
    await shop.t.owner.call("repo/remove", { repo });
    expect((await set).errors).toEqual([]);
    expect(await left()).toEqual([]);
  }
});
