import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { replaceFile, untilHealth } from "../helpers/broken-file.ts";
import { startTestDaemon } from "../helpers/daemon.ts";
import { systemError, watchFileSystem } from "../helpers/file-system.ts";
import { TestClock } from "../helpers/test-clock.ts";

/* A text that is set aside belongs to somebody: a later one must not replace it, even in the same millisecond. */

const noTimePasses = () => new TestClock({ timers: "run" });

test("texts replaced by restores in the same millisecond are all kept", async () => {
  await using t = await startTestDaemon({ rescanInterval: 3_600_000, clock: noTimePasses() });
  await t.addRepository("shop");
  const texts = ["{ the first", "{ the second", "{ the third"];
  const kept: string[] = [];
  for (const text of texts) {
    await replaceFile(t.repositoryFile("shop"), text);
    await untilHealth(t, "shop", health => health.length > 0);
    const { result, errors } = await t.owner.call("file/restore", { repo: "shop" });
    expect(errors).toEqual([]);
    kept.push(result.movedTo ?? "");
  }
  expect(await Promise.all(kept.map(path => readFile(path, "utf8")))).toEqual(texts);
});

test("files of a repository removed twice in the same millisecond are both kept", async () => {
  await using t = await startTestDaemon({ rescanInterval: 3_600_000, clock: noTimePasses() });
  const kept: string[] = [];
  for (const timeout of [10, 20]) {
    await t.addRepository("shop");
    await t.owner.call("config/set", { repo: "shop", "svc.timeout": timeout });
    const { result, errors } = await t.owner.call("repo/remove", { repo: "shop" });
    expect(errors).toEqual([]);
    kept.push(result.movedTo ?? "");
  }
  const texts = await Promise.all(kept.map(path => readFile(path, "utf8")));
  expect(texts.map(text => JSON.parse(text).config.svc.timeout)).toEqual([10, 20]);
});

test("a restore whose rename is blocked and retried keeps the previous text, once", async () => {
  const fileSystem = watchFileSystem();
  await using t = await startTestDaemon({ rescanInterval: 3_600_000, fileSystem });
  await t.addRepository("shop");
  await replaceFile(t.repositoryFile("shop"), "{ the first");
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
