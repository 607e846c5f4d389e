import { rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, test } from "vitest";
import { noRescans, startTestDaemon, until } from "../../helpers/daemon.ts";
import { watchFileSystem } from "../../helpers/file-system.ts";
import { collectGarbage } from "../../helpers/kept-memory.ts";
import { randomNumbers } from "../../helpers/random.ts";
import { timeoutOf } from "../../helpers/shared-world.ts";
import { TestClock } from "../../helpers/test-clock.ts";

/** The time after the last write by which an idle repository can be evicted. */
const idleTime = 11_000;

async function startCrowded(mostOpen: number, clock = new TestClock({ timers: "run" })) {
  const fileSystem = watchFileSystem();
  const t = await startTestDaemon({ ...noRescans, mostOpen, clock, fileSystem });
  const ids = Array.from({ length: 6 }, (_, index) => `r${index}`);
  for (const id of ids) await t.addRepository(id);
  return {
    t,
    clock,
    fileSystem,
    ids,
    /** Evicts idle repositories, and frees their memory. */
    evict: async () => {
      clock.advance(idleTime);
      await nextTurn();
      collectGarbage();
    },
    [Symbol.asyncDispose]: () => t[Symbol.asyncDispose](),
  };
}

test("only a limited number of idle repositories stays in memory; an evicted one is read again when it is requested", async () => {
  // With this clock, delayed work such as the check of a replaced file is over once the clock has been advanced.
  await using crowd = await startCrowded(2, new TestClock());
  const { t, ids, fileSystem } = crowd;
  for (const repo of ids) await t.owner.call("config/set", { repo, "svc.timeout": 5, flush: true });
  await crowd.evict();
  const readAgain = async (id: string) => {
    const path = join(t.homeFolder, "repos", `${id}.json`);
    const from = fileSystem.calls.length;
    expect(await timeoutOf(t, id)).toBe(5);
    return fileSystem.calls.slice(from).some(call => call.operation === "open" && call.path === path);
  };
  // A repository whose file is being checked stays until the others are used again.
  await until(async () => {
    for (const id of ids) expect(await timeoutOf(t, id)).toBe(5);
    await crowd.evict();
    expect(await readAgain("r5")).toBe(false);
    expect(await readAgain("r4")).toBe(false);
    return readAgain("r0");
  }, "an evicted repository to be read again");
  expect(await readAgain("r0")).toBe(false);
  // This is known about the others without reading them.
  const { result } = await t.owner.call("repo/list", {});
  expect(result.map(({ id, revision, modified }) => [id, revision, modified])).toEqual(ids.map(id => [id, 2, 1]));
});

test("local values are evicted with their repository, which is known without reading them, and are changed by hand again", async () => {
  await using crowd = await startCrowded(2, new TestClock());
  const { t, ids, fileSystem } = crowd;
  const fileOf = (id: string) => join(t.homeFolder, "local", `${id}.json`);
  for (const repo of ids) {
    await t.owner.call("config/set", { repo, "svc.timeout": 5, flush: true });
    await t.owner.call("config/set", { repo, "svc.timeout": 6, layer: "local", flush: true });
  }
  await until(async () => {
    for (const id of ids) expect(await timeoutOf(t, id)).toBe(6);
    await crowd.evict();
    const from = fileSystem.calls.length;
    expect(await timeoutOf(t, "r0")).toBe(6);
    return fileSystem.calls.slice(from).some(call => call.operation === "open" && call.path === fileOf("r0"));
  }, "evicted local values to be read again");
  const { result } = await t.owner.call("repo/list", {});
  expect(result.map(({ id, revision, modified }) => [id, revision, modified])).toEqual(ids.map(id => [id, 3, 1]));
  // Replaced as a whole: where the file is empty for a moment, it is read again at a time that this clock never reaches.
  await writeFile(join(t.homeFolder, "edit"), JSON.stringify({ config: { svc: { timeout: 7 } } }));
  await rename(join(t.homeFolder, "edit"), fileOf("r1"));
  await until(async () => (await timeoutOf(t, "r1")) === 7, "an edit of evicted local values");
});

test("a hand-edited name in an evicted repository is reported, once, even if the save first leaves an empty file", async () => {
  await using crowd = await startCrowded(1);
  const { t, ids } = crowd;
  for (const id of ids) await timeoutOf(t, id);
  await crowd.evict();
  for (const id of ids.slice(1)) await timeoutOf(t, id);
  await crowd.evict();
  await t.owner.call("config/watch", {});
  await t.writeRepository("r0", "");
  await t.writeRepository("r0", JSON.stringify({ name: "another", config: {} }));
  await until(() => t.owner.events.some(([, event]) => event === "updated"), "its name");
  expect(t.owner.events).toMatchObject([["repo", "updated", { id: "r0", name: "another", health: [] }]]);
});

test("a repository with pending work is not evicted, however many others are used", async () => {
  await using crowd = await startCrowded(1);
  const { t, ids, fileSystem } = crowd;
  const gate = Promise.withResolvers<void>();
  fileSystem.before = async ({ operation, path }) => {
    if (operation === "rename" && path.includes("r0.json")) await gate.promise;
  };
  const set = t.owner.call("config/set", { repo: "r0", "svc.timeout": 7, flush: true });
  await until(
    () => fileSystem.calls.some(({ operation, path }) => operation === "datasync" && path.includes("r0.")),
    "its history",
  );
  for (const id of ids.slice(1)) await timeoutOf(t, id);
  await crowd.evict();
  for (const id of ids.slice(1)) await timeoutOf(t, id);
  expect(await timeoutOf(t, "r0")).toBe(7);
  gate.resolve();
  expect((await set).result).toMatchObject([{ revision: 2, mirrored: true }]);
});

test("sets, hand edits and reads of repositories that are evicted again and again produce each change once, in order", async () => {
  await using crowd = await startCrowded(2);
  const { t, ids } = crowd;
  const random = randomNumbers(7);
  await t.owner.call("config/watch", {});
  const wanted = new Map(ids.map(id => [id, ["1 set"]]));
  const received = (repo: string) =>
    t.owner.events.flatMap(([resource, , payload]) =>
      resource === "config" && payload.repo === repo ? [`${payload.revision} ${payload.source}`] : [],
    );
  for (let step = 1; step <= 60; step++) {
    const repo = ids[random(ids.length)] ?? "r0";
    const done = wanted.get(repo) ?? [];
    const act = random(4);
    if (act === 0) await t.owner.call("history/list", { repo });
    else if (act === 1) {
      await t.readRepository(repo);
      await t.writeRepository(repo, JSON.stringify({ name: repo, config: { svc: { timeout: step } } }));
      done.push(`${done.length + 1} file`);
      await until(() => received(repo).length === done.length - 1, "the edit");
    } else {
      const { errors } = await t.owner.call("config/set", { repo, "svc.timeout": step, flush: act === 2 });
      expect(errors).toEqual([]);
      done.push(`${done.length + 1} set`);
    }
    if (random(2) === 0) await crowd.evict();
  }
  for (const [repo, done] of wanted) {
    const { result } = await t.owner.call("history/list", { repo, limit: 1000 });
    expect(result.map(({ revision, source }) => `${revision} ${source}`).reverse()).toEqual(done);
    expect(received(repo)).toEqual(done.slice(1));
  }
});
