import { mkdir, readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { takeLock } from "../../main/home/lock.ts";
import { startTestDaemon } from "../helpers/daemon.ts";
import { systemError, watchFileSystem } from "../helpers/file-system.ts";
import { timeoutOf } from "../helpers/revision-notes.ts";
import { temporaryFolder } from "../helpers/temporary-folder.ts";

test("the lock is taken without writing anything, so a full disk cannot prevent it", async () => {
  await using folder = await temporaryFolder();
  const path = join(folder.path, "lock");
  const lock = takeLock(path);
  expect(await readdir(folder.path)).toEqual(["lock"]);
  expect((await stat(path)).size).toBe(0);
  lock?.release();
});

test("a daemon starts on a full disk and serves, using the space reserved by an earlier one; without it the start fails and names the full disk", async () => {
  const fileSystem = watchFileSystem();
  await using t = await startTestDaemon({ fileSystem });
  const reserve = join(t.homeFolder, "reserve");
  const isReserved = (path: string) =>
    stat(path).then(
      ({ blocks }) => blocks > 0,
      () => false,
    );
  await t.addRepository("shop");
  await t.owner.call("config/set", { repo: "shop", "svc.timeout": 31 });
  expect(await isReserved(reserve)).toBe(true);

  fileSystem.before = async ({ operation, path }) => {
    if (/^write/.test(operation) && (!path.endsWith("/tmp/daemon.json") || (await isReserved(reserve))))
      throw systemError("ENOSPC");
  };
  await t.restart();
  expect(await isReserved(reserve)).toBe(false);
  expect(await timeoutOf(t, "shop")).toBe(31);
  expect((await t.owner.call("config/set", { repo: "shop", "svc.timeout": 32 })).errors).toMatchObject([
    { code: 1108 },
  ]);

  fileSystem.before = () => {};
  await t.restart();
  expect(await isReserved(reserve)).toBe(true);

  fileSystem.before = ({ operation }) => {
    if (/^write/.test(operation)) throw systemError("ENOSPC");
  };
  await expect(t.restart()).rejects.toThrow(`The disk of ${t.homeFolder} is full. Free some space and retry.`);
  fileSystem.before = () => {};
  await t.restart();
});

test("a daemon starts even if the schema for editors cannot be written", async () => {
  await using t = await startTestDaemon();
  const path = join(t.homeFolder, "repository.schema.json");
  await rm(path);
  await mkdir(path);
  await t.restart();
  expect((await t.owner.call("daemon/status")).errors).toEqual([]);
  expect(t.log.filter(line => line.includes("repository.schema.json"))).toHaveLength(1);
});
