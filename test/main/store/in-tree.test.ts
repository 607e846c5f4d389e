import { lstat, mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { untilHealth } from "../../helpers/broken-file.ts";
import { until } from "../../helpers/daemon.ts";
import { systemError, watchFileSystem } from "../../helpers/file-system.ts";
import { healthOf, saveByRename } from "../../helpers/shop.ts";
import { TestClock } from "../../helpers/test-clock.ts";
import { startWorkTree, treeText } from "../../helpers/work-tree.ts";

const modeOf = async (path: string) => (await lstat(path)).mode & 0o777;

describe("an in-tree repository", () => {
  test("has no stored values without a file; a set writes one that contains only config, and touches no other", async () => {
    await using tree = await startWorkTree(null);
    const stored = await tree.t.owner.call("config/list", { repo: "site", stored: true });
    expect(stored).toMatchObject({ result: {}, errors: [] });
    expect(await tree.value("timeout")).toBe(900);
    expect(await healthOf(tree.t, "site")).toEqual([]);
    // Somebody's own, although it is named like a temporary one.
    await writeFile(`${tree.file}.tmp`, "mine");
    expect(await tree.set({ "svc.timeout": 31 })).toEqual([]);
    expect(await readFile(`${tree.file}.tmp`, "utf8")).toBe("mine");
    expect(JSON.parse(await readFile(tree.file, "utf8"))).toEqual({ config: { svc: { timeout: 31 } } });
    if (process.platform !== "win32") expect(await modeOf(tree.file)).toBe(0o644 & ~process.umask());
  });

  test("makes no event while its file is missing for less than 250 ms, and a set meanwhile keeps the content that returns", async () => {
    const clock = new TestClock();
    await using tree = await startWorkTree(treeText, { clock });
    await rename(tree.file, `${tree.file}.away`);
    // The daemon looks for the file several times before it considers it missing.
    const untilNextCheck = async (pause: number) => {
      await until(() => clock.waiting(pause) === 1, "the next check of the file");
      clock.advance(pause);
    };
    for (const pause of [5, 15, 40, 90]) await untilNextCheck(pause);
    const set = tree.set({ "svc.timeout": 31 });
    await until(() => clock.waiting(100) === 1, "the last check but one");
    await rename(`${tree.file}.away`, tree.file);
    await untilNextCheck(100);
    expect(await set).toEqual([]);
    expect(await tree.t.owner.nextChange()).toMatchObject({ source: "set", revision: 2 });
    expect(await readFile(tree.file, "utf8")).toBe(treeText.replace("30", "31"));
  });
});

test.each([
  ["beside", "../moved"],
  ["below", "moved"],
])(
  "a new path %s the old one switches to the new work tree's file, and the old file is no longer watched",
  async (_where, to) => {
    await using tree = await startWorkTree();
    const moved = join(tree.folder, to);
    await mkdir(moved);
    await writeFile(join(moved, ".repoconf.json"), treeText.replace("30", "50"));
    const { errors } = await tree.t.owner.call("repo/update", { repo: "site", path: moved });
    expect(errors).toEqual([]);
    expect(await tree.value("timeout")).toBe(50);
    await tree.t.owner.nextChange();
    await writeFile(tree.file, treeText.replace("30", "77"));
    await saveByRename(join(moved, ".repoconf.json"), treeText.replace("30", "51"));
    expect(await tree.t.owner.nextChange()).toMatchObject({
      changes: { svc: { timeout: { value: 51, previous: 50 } } },
    });
  },
);

test("a work tree's folder that is deleted and created again is watched as before", async () => {
  await using tree = await startWorkTree(treeText, { rescanInterval: 50 });
  await rm(tree.folder, { recursive: true });
  await untilHealth(tree.t, "site", health => health.some(({ code }) => code === 1106));
  expect(await tree.set({ "svc.timeout": 31 })).toMatchObject([{ code: 1106 }]);
  expect(await tree.value("timeout")).toBe(30);
  await mkdir(tree.folder);
  await writeFile(tree.file, treeText.replace("30", "32"));
  expect(await tree.t.owner.nextChange()).toMatchObject({
    changes: { svc: { timeout: { value: 32, previous: 30 } } },
  });
  await saveByRename(tree.file, treeText.replace("30", "33"));
  expect(await tree.t.owner.nextChange()).toMatchObject({ changes: { svc: { timeout: { value: 33, previous: 32 } } } });
  expect(await tree.set({ "svc.timeout": 34 })).toEqual([]);
});

describe("an in-tree repository whose folder was moved", () => {
  test("can be pointed to the new folder before the daemon has noticed it and after, and right after a start, and keeps its values and its revision", async () => {
    await using tree = await startWorkTree(treeText, { rescanInterval: 20 });
    const { t, folder: first } = tree;
    const above = dirname(first);
    const moved = (from: string, to: string) => rename(join(above, from), join(above, to));
    const point = async (name: string) => {
      const path = join(above, name);
      const pointed = await t.owner.call("repo/update", { repo: "site", path });
      expect(pointed).toMatchObject({ result: { path, inTree: true, revision: 1, health: [] }, errors: [] });
      expect((await t.owner.call("config/list", { repo: "site", stored: true })).result).toEqual({
        svc: { timeout: 30 },
      });
    };
    await moved("site", "second");
    await point("second");
    await moved("second", "third");
    await untilHealth(t, "site", health => health.some(({ code }) => code === 1106));
    await point("third");
    await moved("third", "fourth");
    await t.restart();
    await point("fourth");
    expect(await tree.set({ "svc.timeout": 31 })).toEqual([]);
    expect(await readFile(join(above, "fourth/.repoconf.json"), "utf8")).toContain("31");
  });

  test("can be renamed while its folder is missing, but not pointed to a missing folder, or while the file with its path is broken", async () => {
    await using tree = await startWorkTree(treeText, { rescanInterval: 20 });
    const { t, folder: old } = tree;
    const folder = dirname(old);
    await rename(old, join(folder, "new"));
    await untilHealth(t, "site", health => health.length > 0);
    const renamed = await t.owner.call("repo/update", { repo: "site", name: "the site" });
    const entry = { name: "the site", path: old, health: [{ code: 1106 }] };
    expect(renamed).toMatchObject({ result: entry, errors: [] });
    const nowhere = await t.owner.call("repo/update", { repo: "site", path: join(folder, "nowhere") });
    expect(nowhere).toMatchObject({ result: null, errors: [{ code: 1101, repo: "site" }] });
    await writeFile(t.repositoryFile("site"), "{ broken");
    await untilHealth(t, "site", health => health[0]?.line === 1);
    const broken = await t.owner.call("repo/update", { repo: "site", path: join(folder, "new") });
    expect(broken).toMatchObject({ result: null, errors: [{ code: 1106, repo: "site" }] });
    expect(await t.readRepository("site")).toBe("{ broken");
  });
});

test("a set that is not yet in the work tree's file survives a rename of its repository", async () => {
  const fileSystem = watchFileSystem();
  await using tree = await startWorkTree(treeText, { fileSystem });
  const { t } = tree;
  await t.owner.call("file/read", { repo: "site" });
  fileSystem.before = ({ operation, path }) => {
    if (operation === "rename" && path.includes(".repoconf.json")) throw systemError("EACCES");
  };
  const { result } = await t.owner.call("config/set", { repo: "site", flush: true, "svc.timeout": 31 });
  expect(result).toMatchObject([{ mirrored: false }]);
  expect((await t.owner.call("repo/update", { repo: "site", name: "another" })).errors).toEqual([]);
  fileSystem.before = () => {};
  const text = (await t.owner.call("file/read", { repo: "site" })).result.text;
  expect(text).toContain(`"timeout": 31`);
  const history = (await t.owner.call("history/list", { repo: "site" })).result;
  expect(history.map(({ source }) => source)).toEqual(["set", "set"]);
});
