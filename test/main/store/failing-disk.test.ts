import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { noRescans, startTestDaemon, until } from "../../helpers/daemon.ts";
import { systemError, watchFileSystem } from "../../helpers/file-system.ts";
import { timeoutOf } from "../../helpers/shared-world.ts";
import { healthOf, saveByRename, shopText, startShop } from "../../helpers/shop.ts";
import { temporaryFolder } from "../../helpers/temporary-folder.ts";
import { TestClock } from "../../helpers/test-clock.ts";

test("1108 names the cause, and a set queued behind a failing one is written", async () => {
  const fileSystem = watchFileSystem();
  await using shop = await startShop(undefined, { fileSystem });
  let failures = 1;
  const behind = Promise.withResolvers<Awaited<ReturnType<typeof shop.set>>>();
  fileSystem.before = async ({ operation, path }) => {
    if (operation === "write" && path.includes("/log/") && failures-- > 0) {
      behind.resolve(shop.set({ "svc.refresh_day": 5 }));
      // Messages of one socket are processed in order: once this one is answered, that set is queued.
      await shop.t.owner.call("daemon/status");
      throw systemError("ENOSPC");
    }
  };
  const [first, second] = await Promise.all([shop.set({ "svc.timeout": 31 }), behind.promise]);
  expect(first.errors).toMatchObject([{ code: 1108, repo: "shop", details: { cause: "ENOSPC" } }]);
  expect(second.errors).toEqual([]);
  expect(await shop.read()).toBe(shopText.replace(`"refresh_day": 2`, `"refresh_day": 5`));
});

test("an atomic set on several repositories is served as a whole if one file cannot be written; health reports that file until it can be", async () => {
  const fileSystem = watchFileSystem();
  await using shop = await startShop(undefined, { fileSystem });
  await shop.t.addRepository("zoo");
  fileSystem.before = ({ operation, path }) => {
    if (operation === "rename" && path.endsWith("zoo.json")) throw systemError("ENOSPC");
  };
  const args = { repo: ["shop", "zoo"], atomic: true, flush: true, "svc.timeout": 31 };
  const { result, errors } = await shop.t.owner.call("config/set", args);
  expect(errors).toEqual([]);
  expect(result).toMatchObject([
    { repo: "shop", mirrored: true },
    { repo: "zoo", mirrored: false, mirrorProblem: "ENOSPC" },
  ]);
  expect(await healthOf(shop.t, "zoo")).toMatchObject([{ code: 1108 }]);
  expect(await timeoutOf(shop.t, "zoo")).toBe(31);
  fileSystem.before = () => {};
  await until(async () => (await healthOf(shop.t, "zoo")).length === 0, "the file to be written");
  expect(await shop.t.readRepository("zoo")).toContain(`"timeout": 31`);
});

test("a revision that a read of the history has appended is there once, if the next write of the history fails", async () => {
  const fileSystem = watchFileSystem();
  await using shop = await startShop(undefined, { fileSystem });
  const isHeld = Promise.withResolvers<void>();
  let writes = 0;
  fileSystem.before = async ({ operation, path }) => {
    if (operation === "open" && path.endsWith("tmp/shop.json")) await isHeld.promise;
    if (operation === "write" && path.includes("/journal/") && ++writes === 2) throw systemError("ENOSPC");
  };
  const revisions = async () => {
    const { result } = await shop.t.owner.call("history/list", { repo: "shop" });
    return result.map(({ revision }) => revision);
  };
  // Without waiting for the file.
  await shop.t.owner.call("config/set", { repo: "shop", "svc.timeout": 31 });
  const before = await revisions();
  isHeld.resolve();
  await until(async () => (await shop.read()).includes("31"), "the file");
  expect(writes).toBeGreaterThan(2);
  expect(await revisions()).toEqual(before);
  await shop.set({ "svc.timeout": 32 });
  expect(await revisions()).toEqual([(before[0] ?? 0) + 1, ...before]);
});

test("repo/add on a full disk fails with 1108 and adds nothing", async () => {
  const fileSystem = watchFileSystem();
  await using shop = await startShop(undefined, { fileSystem });
  fileSystem.before = ({ operation }) => {
    if (operation === "sync") throw systemError("ENOSPC");
  };
  expect((await shop.t.owner.call("repo/add", { id: "zoo", name: "zoo" })).errors).toMatchObject([{ code: 1108 }]);
  fileSystem.before = () => {};
  expect((await shop.t.owner.call("repo/list")).result.map(({ id }) => id)).toEqual(["shop"]);
  expect(await readdir(join(shop.t.homeFolder, "repos"))).toEqual(["shop.json"]);
  expect((await shop.t.owner.call("repo/add", { id: "zoo", name: "zoo" })).errors).toEqual([]);
});

// No file handles are left, or the disk cannot be read.
test.each(["EMFILE", "EIO"])(
  "a hand edit made while every read of the file fails with %s is noticed once the file can be read",
  async code => {
    const fileSystem = watchFileSystem();
    await using shop = await startShop(undefined, { fileSystem, rescanInterval: 20 });
    let tries = 0;
    let failing = true;
    fileSystem.before = ({ operation, path }) => {
      if (!failing || operation !== "open" || path !== shop.file) return;
      tries++;
      throw systemError(code);
    };
    await saveByRename(shop.file, shopText.replace("30", "31"));
    const isReported = async () => code === "EMFILE" || (await shop.health()).length > 0;
    await until(async () => tries >= 2 && (await isReported()), "the failure to be noticed");
    const noticed = tries;
    await until(() => tries >= noticed + 3, "a few rescans that find the edit and cannot read it either");
    expect(await shop.value("timeout")).toBe(30);
    failing = false;
    await until(async () => (await shop.value("timeout")) === 31, "the edit");
    expect(await shop.health()).toEqual([]);
  },
);

test.each(["EPERM", "EBUSY"])(
  "a journal that refuses a record with %s delays no set, and is reported immediately",
  async code => {
    const clock = new TestClock();
    const fileSystem = watchFileSystem();
    await using shop = await startShop(undefined, { fileSystem, clock });
    fileSystem.before = ({ operation, path }) => {
      if (operation === "datasync" && path.endsWith(".jsonl")) throw systemError(code);
    };
    // The clock stands still: waiting for it would never end.
    const reply = shop.set({ "svc.timeout": 31 });
    expect(await reply).toMatchObject({ result: [{ mirrored: false, mirrorProblem: code }], errors: [] });
    expect(await shop.value("timeout")).toBe(31);
    fileSystem.before = () => {};
    expect(await shop.set({ "svc.timeout": 32 })).toMatchObject({ result: [{ mirrored: true }], errors: [] });
  },
);

test("a commit that one history could not store is still in the log at the next start, even if other repositories are done with it", async () => {
  const fileSystem = watchFileSystem();
  await using home = await temporaryFolder();
  const options = { ...noRescans, home: home.path, fileSystem };
  const t = await startTestDaemon(options);
  for (const id of ["one", "other"]) await t.addRepository(id);
  await t.owner.call("file/read", { repo: "one" });
  fileSystem.before = ({ operation, path }) => {
    if (operation === "datasync" && path.includes("one.0-")) throw systemError("EIO");
  };
  const { result } = await t.owner.call("config/set", { repo: "one", flush: true, "svc.timeout": 31 });
  expect(result).toMatchObject([{ mirrored: false, mirrorProblem: "EIO" }]);
  await t.owner.call("config/set", { repo: "other", flush: true, "svc.timeout": 32 });
  await t[Symbol.asyncDispose]();
  fileSystem.before = () => {};
  await using again = await startTestDaemon(options);
  expect(await timeoutOf(again, "one")).toBe(31);
  const history = await again.owner.call("history/list", { repo: "one", limit: 1 });
  expect(history.result).toMatchObject([{ revision: 2, source: "set", actor: "owner" }]);
});

test("values of an unfinished atomic set appear in no past revision and cannot be restored", async () => {
  const fileSystem = watchFileSystem();
  await using t = await startTestDaemon({ fileSystem });
  for (const id of ["aa", "bb"]) await t.addRepository(id);
  await t.owner.call("config/set", { repo: "aa", "svc.timeout": 10 });
  await t.owner.call("config/set", { repo: "aa", "svc.refresh_day": 3 });
  const gate = Promise.withResolvers<void>();
  let stopped = false;
  fileSystem.before = async ({ operation, path }) => {
    if (operation !== "datasync" || !path.includes("/log/") || stopped) return;
    stopped = true;
    await gate.promise;
    throw systemError("ENOSPC");
  };
  const setting = t.owner.call("config/set", { repo: ["aa", "bb"], "svc.timeout": 99, atomic: true });
  await until(() => stopped, "the sync of the log");
  const past = await t.owner.call("config/list", { repo: "aa", revision: 2, stored: true });
  const restoring = t.owner.call("history/restore", { repo: "aa", to: 2 });
  gate.resolve();
  expect((await setting).errors).toMatchObject([{ code: 1108 }]);
  await restoring;
  expect(past.result).toEqual({ svc: { timeout: 10 } });
  expect(await timeoutOf(t, "aa")).toBe(10);
});
