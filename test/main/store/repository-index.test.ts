import { hash } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { expect, test, vi } from "vitest";
import { realFileSystem } from "../../../main/files/file-system.ts";
import { RepositoryIndex } from "../../../main/store/state/repository-index.ts";
import { systemClock } from "../../../main/time/clock.ts";
import { noRescans, startTestDaemon } from "../../helpers/daemon.ts";
import { watchFileSystem } from "../../helpers/file-system.ts";
import { timeoutOf } from "../../helpers/shared-world.ts";
import { temporaryFolder } from "../../helpers/temporary-folder.ts";
import { TestClock } from "../../helpers/test-clock.ts";

test("temporary names are never shared with repositories named like the home's own files, concurrent sets, new keys and saves of the index all succeed, and every file is complete", async () => {
  await using t = await startTestDaemon(noRescans);
  const ids = ["keys", "index", "daemon"];
  const rounds = 30;
  for (const id of ids) await t.addRepository(id);
  const failures: unknown[] = [];
  const made: string[] = [];
  const inTurn = async (act: (round: number) => Promise<{ readonly errors: readonly unknown[] }>) => {
    for (let round = 1; round <= rounds; round++) failures.push(...(await act(round)).errors);
  };
  let done = false;
  const readAll = async () => {
    while (!done) {
      for (const id of ids) expect(JSON.parse(await t.readRepository(id))).toMatchObject({ name: id });
      const keys = await readFile(join(t.homeFolder, "keys.json"), "utf8").catch(() => "");
      if (keys !== "") expect(JSON.parse(keys)).toHaveProperty("keys");
      await delay(1);
    }
  };
  const reading = readAll();
  await Promise.all([
    ...ids.map(repo => inTurn(round => t.owner.call("config/set", { repo, "svc.timeout": round }))),
    inTurn(async round => {
      const reply = await t.owner.call("key/create", { name: `tool ${round}`, grants: [] });
      if (reply.errors.length === 0) made.push(reply.result.key);
      return reply;
    }),
    // Each removal saves the index.
    inTurn(async round => {
      const added = await t.owner.call("repo/add", { id: `short-${round}`, name: "short" });
      const removed = await t.owner.call("repo/remove", { repo: `short-${round}` });
      return { errors: [...added.errors, ...removed.errors] };
    }),
  ]).finally(() => {
    done = true;
  });
  await reading;
  expect(failures).toEqual([]);
  await t.restart();
  for (const repo of ids) expect(await timeoutOf(t, repo)).toBe(rounds);
  expect((await t.owner.call("repo/list")).result.map(({ id, health }) => [id, health])).toEqual(
    [...ids].sort().map(id => [id, []]),
  );
  expect(made).toHaveLength(rounds);
  for (const key of made) (await t.connect(key)).socket.close();
});

test.each(["the end", "a removal"])(
  "the index has one writer: if a timer and %s save it at the same moment, it holds the newest state",
  async other => {
    const clock = new TestClock();
    await using home = await temporaryFolder();
    const fileSystem = watchFileSystem();
    const t = await startTestDaemon({ home: home.path, fileSystem, clock });
    const held = Promise.withResolvers<void>();
    const release = Promise.withResolvers<void>();
    let calls = 0;
    let syncs = 0;
    fileSystem.before = async ({ path, operation }) => {
      if (!path.endsWith("/tmp/index.json")) return;
      if (operation === "sync") syncs++;
      if (calls++ > 0) {
        // Time for the first writer to remove the file that the second one is about to rename.
        if (operation === "rename") await delay(50);
        return;
      }
      held.resolve();
      await release.promise;
    };
    await t.addRepository("shop");
    await t.addRepository("old");
    // The index is saved five seconds after a change.
    clock.advance(5_000);
    await held.promise;
    await t.owner.call("config/set", { repo: "shop", "svc.timeout": 10 });
    const { result } = await t.owner.call("config/set", { repo: "shop", "svc.timeout": 20 });
    const removes = other === "a removal";
    const second = removes ? t.owner.call("repo/remove", { repo: "old" }) : t[Symbol.asyncDispose]();
    // Long enough for a second writer, if there is one, to be in the middle of its write.
    for (let wait = 0; wait < 30 && syncs === 0; wait++) await delay(10);
    release.resolve();
    await second;
    if (removes) await t[Symbol.asyncDispose]();
    const index = JSON.parse(await readFile(join(home.path, "index.json"), "utf8"));
    expect(Object.keys(index.repositories).sort()).toEqual(removes ? ["shop"] : ["old", "shop"]);
    expect(index.repositories.shop.revision).toBe(result[0]?.revision);
    expect(t.log.filter(line => line.includes("index"))).toEqual([]);
  },
);

test("a start parses only the entries that it asks for, and reads the one line that an earlier version wrote", async () => {
  await using home = await temporaryFolder();
  const t = await startTestDaemon({ home: home.path, ...noRescans });
  const ids = ["a", "b", "c"];
  for (const id of ids) await t.owner.call("repo/add", { id, name: `"inTree":true \n${id}` });
  await t[Symbol.asyncDispose]();
  const path = join(home.path, "index.json");
  const index = new RepositoryIndex(path, home.path, realFileSystem, systemClock);
  const whole = JSON.parse(await readFile(path, "utf8"));
  const parse = vi.spyOn(JSON, "parse");
  const { data } = await index.read();
  expect([...data.repositories.ids()]).toEqual(ids);
  for (const id of ids) expect(data.repositories.get(id, '"inTree":true')).toBe(undefined);
  expect(parse).toHaveBeenCalledTimes(1);
  expect(ids.map(id => data.repositories.textOf(id))).toEqual(ids.map(id => JSON.stringify(whole.repositories[id])));
  expect(data.repositories.get("b")).toBe(data.repositories.get("b", '"no such":'));
  expect(parse).toHaveBeenCalledTimes(2);
  data.repositories.delete("a");
  expect(ids.map(id => data.repositories.get(id))).toEqual([undefined, whole.repositories.b, whole.repositories.c]);
  const { checksum: _, ...content } = whole;
  const line = JSON.stringify(content).slice(0, -1);
  await writeFile(path, `${line},"checksum":"${hash("sha256", line)}"}\n`);
  const { data: earlier, damaged } = await index.read();
  expect([damaged, earlier.log, earlier.repositories.get("c")]).toEqual([false, whole.log, whole.repositories.c]);
});
