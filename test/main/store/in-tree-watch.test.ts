import fs from "node:fs";
import { mkdir, rename, symlink, unlink, writeFile } from "node:fs/promises";
import { syncBuiltinESMExports } from "node:module";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { afterEach, describe, expect, test } from "vitest";
import { type Clock, systemClock } from "../../../main/time/clock.ts";
import { noRescans, startTestDaemon, type TestDaemon, until } from "../../helpers/daemon.ts";
import { timeoutOf } from "../../helpers/shared-world.ts";
import { temporaryFolder } from "../../helpers/temporary-folder.ts";

/** Saves the in-tree file until its value is active, because a test cannot see when the watch has started. */
async function untilActive(t: TestDaemon, tree: string, ids: readonly string[], timeout: number): Promise<void> {
  for (const id of ids) {
    await until(async () => {
      await writeFile(join(tree, ".repoconf.json"), `{ "config": { "svc": { "timeout": ${timeout} } } }`);
      await delay(20);
      return (await timeoutOf(t, id)) === timeout;
    }, `the edit to be active in ${id}`);
  }
}

describe("an in-tree repository is watched", () => {
  test.each(["index.json is missing", "its pointer is created while no daemon runs"])("even if %s", async how => {
    await using home = await temporaryFolder();
    await using tree = await temporaryFolder();
    const t = await startTestDaemon({ ...noRescans, home: home.path });
    if (how.startsWith("index")) {
      const added = await t.owner.call("repo/add", { id: "t", name: "t", path: tree.path, inTree: true });
      expect(added.errors).toEqual([]);
      await t[Symbol.asyncDispose]();
      await unlink(join(home.path, "index.json"));
    } else {
      await t[Symbol.asyncDispose]();
      const pointer = JSON.stringify({ name: "t", path: tree.path, inTree: true });
      await writeFile(join(home.path, "repos/t.json"), pointer);
    }
    await using after = await startTestDaemon({ ...noRescans, home: home.path });
    // The first read needs no watch, so it proves nothing.
    await timeoutOf(after, "t");
    await untilActive(after, tree.path, ["t"], 5);
    await untilActive(after, tree.path, ["t"], 6);
  });

  test("for each of two pointers to one work tree, and for the remaining one when the other is removed", async () => {
    await using tree = await temporaryFolder();
    await using t = await startTestDaemon(noRescans);
    await t.owner.call("repo/add", { id: "one", name: "one", path: tree.path, inTree: true });
    await t.writeRepository("two", JSON.stringify({ name: "two", path: tree.path, inTree: true }));
    await until(async () => (await t.owner.call("repo/list")).result.length === 2, "the second pointer to be seen");
    await untilActive(t, tree.path, ["one", "two"], 5);
    await t.owner.call("config/set", { repo: "one", "svc.timeout": 6 });
    await until(async () => (await timeoutOf(t, "two")) === 6, "the other one to see what was set");
    await t.owner.call("repo/remove", { repo: "one" });
    await untilActive(t, tree.path, ["two"], 7);
  });

  test.skipIf(process.platform === "win32")("even if its path is a symbolic link", async () => {
    await using tree = await temporaryFolder();
    await using t = await startTestDaemon(noRescans);
    const [folder, path] = [join(tree.path, "real"), join(tree.path, "link")];
    await mkdir(folder);
    await symlink(folder, path);
    await t.owner.call("repo/add", { id: "t", name: "t", path, inTree: true });
    await untilActive(t, folder, ["t"], 5);
    await untilActive(t, path, ["t"], 6);
  });

  test("even after an enclosing work tree of another repository is no longer watched", async () => {
    await using tree = await temporaryFolder();
    await using t = await startTestDaemon(noRescans);
    const inner = join(tree.path, "inner");
    await mkdir(inner);
    await t.owner.call("repo/add", { id: "inner", name: "inner", path: inner, inTree: true });
    await t.owner.call("repo/add", { id: "outer", name: "outer", path: tree.path, inTree: true });
    await untilActive(t, tree.path, ["outer"], 5);
    await untilActive(t, inner, ["inner"], 5);
    await t.owner.call("repo/remove", { repo: "outer" });
    await untilActive(t, inner, ["inner"], 6);
  });
});

describe("an edit immediately before the watch of a folder starts is found without a rescan", () => {
  const edit = `{ "config": { "svc": { "timeout": 7 } } }`;
  const real = fs.watch;
  afterEach(() => replaceWatch(real));

  /** Saves the in-tree file right before fs.watch is called for its folder. */
  function editBeforeWatch(tree: string): void {
    replaceWatch(((...args: Parameters<typeof real>) => {
      if (args[0] === tree) fs.writeFileSync(join(tree, ".repoconf.json"), edit);
      return real(...args);
    }) as typeof real);
  }

  function replaceWatch(watch: typeof real): void {
    fs.watch = watch;
    syncBuiltinESMExports();
  }

  test("when the repository is added", async () => {
    await using tree = await temporaryFolder();
    await using t = await startTestDaemon(noRescans);
    editBeforeWatch(tree.path);
    await t.owner.call("repo/add", { id: "t", name: "t", path: tree.path, inTree: true });
    await until(async () => (await timeoutOf(t, "t")) === 7, "the edit to be seen");
  });

  test("when a rescan finds that the folder has been replaced", async () => {
    await using folder = await temporaryFolder();
    const tree = join(folder.path, "tree");
    await mkdir(tree);
    const due: (() => void)[] = [];
    const schedule: Clock["schedule"] = (milliseconds, task) => {
      if (milliseconds !== noRescans.rescanInterval) return systemClock.schedule(milliseconds, task);
      due.push(task);
      return () => {};
    };
    await using t = await startTestDaemon({ ...noRescans, clock: { ...systemClock, schedule } });
    await t.owner.call("repo/add", { id: "t", name: "t", path: tree, inTree: true });
    await untilActive(t, tree, ["t"], 5);
    await rename(tree, `${tree}-before`);
    await mkdir(tree);
    // The file itself stays the same.
    await rename(join(`${tree}-before`, ".repoconf.json"), join(tree, ".repoconf.json"));
    editBeforeWatch(tree);
    for (const run of due.splice(0)) run();
    await until(async () => (await timeoutOf(t, "t")) === 7, "the edit to be seen");
  });
});
