import { pino } from "pino";
import { describe, expect, test } from "vitest";
import { createDaemon } from "../../../main/daemon/daemon.ts";
import { homeAt } from "../../../main/home/home.ts";
import { readStartProgress } from "../../../main/home/start-progress.ts";
import type { IndexingProgress } from "../../../shared/protocol.ts";
import { startTestDaemon, until } from "../../helpers/daemon.ts";
import { freezeHome } from "../../helpers/frozen-home.ts";
import { connect } from "../../helpers/patient-client.ts";
import { isRepositoryFile, repositoryNames, slowDisk, writeRepositoryFiles } from "../../helpers/slow-disk.ts";
import { temporaryFolder } from "../../helpers/temporary-folder.ts";
import { TestClock } from "../../helpers/test-clock.ts";

describe("files that have not been read yet", () => {
  test("are read 32 at a time; meanwhile the daemon answers and reports its progress, and requests that need all files wait", async () => {
    await using home = await temporaryFolder();
    await writeRepositoryFiles(home.path, repositoryNames(100));
    const disk = slowDisk(isRepositoryFile);
    await using t = await startTestDaemon({ home: home.path, fileSystem: disk.fileSystem });
    await until(() => disk.held.length === 32, "32 files to be opening");
    const { result: status } = await t.owner.call("daemon/status");
    expect(status).toMatchObject({ repositories: 100, indexing: { done: 0, total: 100 } });
    const list = t.owner.call("repo/list");
    const first = await Promise.race([list, t.owner.call("scope/list").then(() => "something else")]);
    expect(first).toBe("something else");
    disk.release();
    const { result } = await list;
    expect(result).toHaveLength(100);
    expect((await t.owner.call("daemon/status")).result).not.toHaveProperty("indexing");
    expect(disk.most()).toBe(32);
  });

  test("that appear while the daemon runs are also read 32 at a time, and repositories can be added in between", async () => {
    await using home = await temporaryFolder();
    const first = new Set<string>();
    const disk = slowDisk(call => isRepositoryFile(call) && !first.has(call.path));
    disk.release();
    await using t = await startTestDaemon({ home: home.path, fileSystem: disk.fileSystem });
    await t.owner.call("repo/list");
    disk.hold();
    await writeRepositoryFiles(home.path, repositoryNames(100));
    const status = async () => (await t.owner.call("daemon/status")).result;
    await until(async () => (await status()).indexing?.total === 100, "all of them to be seen");
    // The files seen first are applied before it is known that more will come.
    for (const path of disk.paths) first.add(path);
    for (const open of disk.held.splice(0)) open();
    await until(() => disk.held.length === 32, "32 files to be opening");
    disk.release();
    const added = await t.owner.call("repo/add", { name: "another", id: "another" });
    expect(added.errors).toEqual([]);
    await until(async () => (await status()).indexing === undefined, "the end of the indexing");
    expect(await status()).toMatchObject({ repositories: 101 });
    expect(disk.most()).toBe(32);
  });

  test("show their progress to clients that proved their key: with numbers to the owner, without numbers to others", async () => {
    await using home = await temporaryFolder();
    // The clock stands still, so that progress is reported only once.
    const clock = new TestClock({ timers: "run" });
    await writeRepositoryFiles(home.path, repositoryNames(100));
    const disk = slowDisk(isRepositoryFile);
    await using t = await startTestDaemon({ home: home.path, fileSystem: disk.fileSystem, clock });
    const grants = [{ repos: "*", fields: ["*"], right: "read" }];
    const { result: key } = await t.owner.call("key/create", { name: "other", grants });
    const plain = await t.connect();
    const reported: { readonly owner: unknown[]; readonly limited: unknown[] } = { owner: [], limited: [] };
    using owner = await connect({ home: home.path, onIndexing: progress => void reported.owner.push(progress) });
    const onIndexing = (progress: unknown) => void reported.limited.push(progress);
    using limited = await connect({ home: home.path, apiKey: key.key, onIndexing });
    await until(() => disk.held.length === 32, "files to be opening");
    const lists = Promise.all([owner.repositories(), limited.repositories()]);
    // Both requests have arrived.
    await Promise.all([owner.run("key/self", {}), limited.run("key/self", {})]);
    for (const open of disk.held.splice(0, 1)) open();
    await until(() => reported.owner.length > 0 && reported.limited.length > 0, "the progress");
    const [progress] = reported.owner as IndexingProgress[];
    expect(progress?.total).toBe(100);
    expect(progress?.done).toBeGreaterThan(0);
    expect(reported.limited).toEqual([{}]);
    disk.release();
    const [all, some] = await lists;
    expect([all.length, some.length]).toEqual([100, 100]);
    expect(reported.owner.at(-1)).toBeUndefined();
    expect(reported.limited.at(-1)).toBeUndefined();
    expect(plain.events).toEqual([]);
  });
});

test("recovery from a crash handles 32 files at a time, and the start records its progress while no client can ask for it yet", async () => {
  const ids = repositoryNames(100);
  const stuck = slowDisk(({ path }) => path.includes("/journal/"));
  stuck.release();
  await using t = await startTestDaemon({ fileSystem: stuck.fileSystem });
  for (const id of ids) await t.addRepository(id);
  stuck.hold();
  const { errors } = await t.owner.call("config/set", { repo: ids, "svc.timeout": 7 });
  expect(errors).toEqual([]);
  await using crashed = await freezeHome(t.homeFolder);
  stuck.release();

  const disk = slowDisk(isRepositoryFile);
  const { fileSystem } = disk;
  const logger = pino({ level: "silent" });
  const clock = new TestClock({ timers: "run" });
  const starting = createDaemon({ home: crashed.path, version: "0", port: 0, logger }, { fileSystem, clock });
  await until(() => disk.held.length === 32, "32 files to be opening");
  expect(await readStartProgress(homeAt(crashed.path))).toBeUndefined();
  disk.held.shift()?.();
  await until(async () => (await readStartProgress(homeAt(crashed.path))) !== undefined, "the progress of the start");
  expect(await readStartProgress(homeAt(crashed.path))).toEqual({ done: 1, total: 100 });
  disk.release();
  const daemon = await starting;
  expect(await readStartProgress(homeAt(crashed.path))).toBeUndefined();
  expect(disk.most()).toBe(32);
  await daemon.close();
});
