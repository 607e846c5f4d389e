import { cpSync, renameSync } from "node:fs";
import { cp, mkdir, readFile, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { startTestDaemon, until } from "../helpers/daemon.ts";
import { watchFileSystem } from "../helpers/file-system.ts";
import { timeoutOf } from "../helpers/revision-notes.ts";
import { temporaryFolder } from "../helpers/temporary-folder.ts";

const noRescans = { rescanInterval: 3_600_000 };

describe("a daemon whose home is no longer the one it took", () => {
  const ways: { readonly [way: string]: (home: string) => Promise<void> } = {
    // At once: who sees the owner's key go before the lock cuts its connections off, as for a key that is taken away.
    "was removed": async home => {
      await rename(home, `${home}-before`);
      await rm(`${home}-before`, { recursive: true });
    },
    "gave way to a copy of itself": async home => {
      // Node copies no sockets; nor would that of another daemon be of use.
      const filter = (path: string) => !path.startsWith(join(home, "socket"));
      await cp(home, `${home}-copy`, { recursive: true, filter });
      await rename(home, `${home}-before`);
      await rename(`${home}-copy`, home);
    },
    "lost its lock": home => rm(join(home, "lock")),
  };
  test.each(Object.entries(ways))(
    "%s: it notices, refuses sets and asks to leave, and the next one's files are its own",
    async (_way, replace) => {
      await using folder = await temporaryFolder();
      const home = join(folder.path, "home");
      let left = 0;
      await using first = await startTestDaemon({ ...noRescans, home, onStop: () => void left++ });
      await first.addRepository("shop");
      await replace(home);
      await until(() => left > 0, "the first daemon to ask for its end");
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
      // Neither daemon.json nor the index is the first one's to take away or to write.
      expect(await readFile(join(home, "daemon.json"), "utf8")).toBe(endpoint);
      await second.restart();
      expect(await timeoutOf(second, "shop")).toBe(2);
      expect(left).toBe(1);
    },
  );

  test("finds out by itself though no watch tells: the folder above was moved away", async () => {
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
    // Behind the note that the owner's key is used: each write checks the lock too, and none is on its way now.
    await t.owner.call("key/create", { name: "tool", grants: [] });
    await rename(parent, `${parent}-moved`);
    await until(() => left, "the daemon to ask for its end");
  });

  test("writes nothing more from the moment on, not even the rest of a set: the copy's file stays as it is", async () => {
    await using folder = await temporaryFolder();
    const home = join(folder.path, "home");
    const fileSystem = watchFileSystem();
    await using t = await startTestDaemon({ ...noRescans, home, fileSystem });
    await t.addRepository("shop");
    const before = await t.readRepository("shop");
    fileSystem.before = ({ operation, path }) => {
      // The new text is written and not yet in place.
      if (operation !== "sync" || !path.endsWith("/tmp/shop.json")) return;
      fileSystem.before = () => {};
      cpSync(home, `${home}-copy`, { recursive: true });
      renameSync(home, `${home}-before`);
      renameSync(`${home}-copy`, home);
    };
    // Durable in the log of the home that was there when it was asked for.
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
