import { cpSync, renameSync } from "node:fs";
import { cp, mkdir, readFile, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { noRescans, startTestDaemon, until } from "../../helpers/daemon.ts";
import { watchFileSystem } from "../../helpers/file-system.ts";
import { timeoutOf } from "../../helpers/shared-world.ts";
import { temporaryFolder } from "../../helpers/temporary-folder.ts";

describe("a daemon whose home was removed or replaced", () => {
  const ways: { readonly [way: string]: (home: string) => Promise<void> } = {
    // In one step: if the daemon saw the owner's key disappear before the lock, it would only close the key's connections.
    "was removed": async home => {
      await rename(home, `${home}-before`);
      await rm(`${home}-before`, { recursive: true });
    },
    "was replaced by a copy of itself": async home => {
      // Node cannot copy sockets, and another daemon's would be useless.
      const filter = (path: string) => !path.startsWith(join(home, "socket"));
      await cp(home, `${home}-copy`, { recursive: true, filter });
      await rename(home, `${home}-before`);
      await rename(`${home}-copy`, home);
    },
    "lost its lock": home => rm(join(home, "lock")),
  };
  test.each(Object.entries(ways))(
    "%s: it notices, refuses sets, asks to stop, and leaves the next daemon's files alone",
    async (_way, replace) => {
      await using folder = await temporaryFolder();
      const home = join(folder.path, "home");
      let left = 0;
      await using first = await startTestDaemon({ ...noRescans, home, onStop: () => void left++ });
      await first.addRepository("shop");
      await replace(home);
      await until(() => left > 0, "the first daemon to ask to stop");
      await using second = await startTestDaemon({ ...noRescans, home });
      if (!(await second.owner.call("repo/list")).result.some(({ id }) => id === "shop"))
        await second.addRepository("shop");
      const set = { repo: "shop", "svc.timeout": 1 };
      expect(await first.owner.call("config/set", set)).toMatchObject({
        result: [],
        errors: [{ code: 1113, message: expect.stringContaining("removed or replaced") }],
      });
      expect(await first.owner.call("key/create", { name: "tool", grants: [] })).toMatchObject({
        errors: [{ code: 1113 }],
      });
      expect((await second.owner.call("config/set", { repo: "shop", "svc.timeout": 2 })).errors).toEqual([]);
      const endpoint = await readFile(join(home, "daemon.json"), "utf8");
      await first.daemon.close();
      // The first daemon must not delete or write daemon.json or the index.
      expect(await readFile(join(home, "daemon.json"), "utf8")).toBe(endpoint);
      await second.restart();
      expect(await timeoutOf(second, "shop")).toBe(2);
      expect(left).toBe(1);
    },
  );

  test("notices without an event of its watcher that the parent folder was moved", async () => {
    await using folder = await temporaryFolder();
    const parent = join(folder.path, "parent");
    await mkdir(parent);
    let left = false;
    await using t = await startTestDaemon({
      home: join(parent, "home"),
      rescanInterval: 20,
      onStop: () => {
        left = true;
      },
    });
    // After this, the use of the owner's key has been recorded: each write also checks the lock, and none is pending now.
    await t.owner.call("key/create", { name: "tool", grants: [] });
    await rename(parent, `${parent}-moved`);
    await until(() => left, "the daemon to ask to stop");
  });

  test("writes nothing from that moment on, not even the rest of a set: the copy's file stays unchanged", async () => {
    await using folder = await temporaryFolder();
    const home = join(folder.path, "home");
    const fileSystem = watchFileSystem();
    await using t = await startTestDaemon({ ...noRescans, home, fileSystem });
    await t.addRepository("shop");
    const before = await t.readRepository("shop");
    fileSystem.before = ({ operation, path }) => {
      // The new text has been written and recorded in the history, but not yet renamed into place.
      if (operation !== "datasync" || !path.includes("/journal/")) return;
      fileSystem.before = () => {};
      cpSync(home, `${home}-copy`, { recursive: true });
      renameSync(home, `${home}-before`);
      renameSync(`${home}-copy`, home);
    };
    // Durable in the log of the home that existed at the time of the request.
    expect(await t.owner.call("config/set", { repo: "shop", flush: true, "svc.timeout": 1 })).toMatchObject({
      result: [{ mirrored: false, mirrorProblem: expect.stringContaining("removed or replaced") }],
      errors: [],
    });
    expect((await t.owner.call("config/set", { repo: "shop", "svc.timeout": 2 })).errors).toMatchObject([
      { code: 1113, message: expect.stringContaining("removed or replaced") },
    ]);
    expect(await readFile(t.repositoryFile("shop"), "utf8")).toBe(before);
  });
});
