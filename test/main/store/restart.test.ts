import { readFile, rm, unlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pino } from "pino";
import { expect, test } from "vitest";
import { createDaemon } from "../../../main/daemon/daemon.ts";
import { noRescans, startTestDaemon, type TestDaemon, until } from "../../helpers/daemon.ts";
import { watchFileSystem } from "../../helpers/file-system.ts";
import { freezeHome } from "../../helpers/frozen-home.ts";
import { RevisionNotes } from "../../helpers/revision-notes.ts";
import { timeoutOf } from "../../helpers/shared-world.ts";
import { healthOf, saveByRename, shopText } from "../../helpers/shop.ts";
import { temporaryFolder } from "../../helpers/temporary-folder.ts";

/** A home left by a daemon: `shop` has timeout 31 and revision 3. */
async function stoppedHome() {
  const home = await temporaryFolder();
  const file = join(home.path, "repos/shop.json");
  const index = join(home.path, "index.json");
  /** Runs a daemon on this home during `task`. */
  const run = async <Result>(task: (t: TestDaemon) => Promise<Result>): Promise<Result> => {
    await using t = await startTestDaemon({ home: home.path });
    return await task(t);
  };
  await run(async t => {
    await t.addRepository("shop");
    await t.owner.call("config/watch", { repo: "shop" });
    await t.writeRepository("shop", shopText);
    await t.owner.nextChange();
    expect((await set(t, 31)).revision).toBe(3);
  });
  return { file, index, run, [Symbol.asyncDispose]: () => home[Symbol.asyncDispose]() };
}

async function list(t: TestDaemon): Promise<{ timeout: unknown; revision: number }> {
  const { result, revision } = await t.owner.call("config/list", { repo: "shop" });
  return { timeout: result["svc"]?.["timeout"], revision: revision ?? -1 };
}

async function set(t: TestDaemon, timeout: number): Promise<{ revision: number }> {
  const { result, errors } = await t.owner.call("config/set", { repo: "shop", "svc.timeout": timeout });
  expect(errors).toEqual([]);
  return { revision: result[0]?.revision ?? -1 };
}

const changed = shopText.replace("30", "31");

test("values and revision are restored from the journal when the index is older than acknowledged sets and a hand edit", async () => {
  await using home = await stoppedHome();
  const index = await readFile(home.index, "utf8");
  for (const timeouts of [
    [100, 101, 102],
    [103, 104],
  ]) {
    const given = await home.run(async t => {
      for (const timeout of timeouts) await set(t, timeout);
      return list(t);
    });
    await writeFile(home.index, index);
    await home.run(async t => expect(await list(t)).toEqual(given));
  }
  await home.run(async t => expect((await set(t, 105)).revision).toBe(9));
  await saveByRename(home.file, changed.replace("31", "120"));
  for (const _ of ["read from the file", "known from the journal"]) {
    await writeFile(home.index, index);
    await home.run(async t => expect(await list(t)).toEqual({ timeout: 120, revision: 10 }));
  }
});

test.each<[title: string, damage: (text: string) => string | undefined]>([
  ["is missing", () => undefined],
  ["is empty", () => ""],
  ["is cut short", text => text.slice(0, 60)],
  ["names another repository", text => text.replaceAll('"shop"', '"other"')],
])("index.json is rebuilt, and revisions stay the same, when it %s", async (_title, damage) => {
  await using home = await stoppedHome();
  const text = damage(await readFile(home.index, "utf8"));
  await (text === undefined ? rm(home.index) : writeFile(home.index, text));
  await home.run(async t => {
    const now = await list(t);
    expect(now.timeout).toBe(31);
    const { result } = await t.owner.call("repo/list");
    expect(result).toMatchObject([{ id: "shop", modified: 2, inTree: false, health: [] }]);
    expect(now.revision).toBe(3);
    expect(t.log.filter(line => line.includes("cannot compare"))).toEqual([]);
  });
  const index = JSON.parse(await readFile(home.index, "utf8"));
  expect(index).toMatchObject({ repositories: { shop: { id: "shop", name: "shop", modified: 2 } } });
});

test("a file deleted by hand while no daemon ran stays reported as broken over restarts, its last values are served, and it can be removed", async () => {
  await using home = await stoppedHome();
  await unlink(home.file);
  for (const _ of [1, 2]) {
    await home.run(async t => {
      const { result } = await t.owner.call("repo/list");
      expect(result).toMatchObject([{ id: "shop", name: "shop", health: [{ code: 1106 }] }]);
      expect(await list(t)).toEqual({ timeout: 31, revision: 3 });
      const reply = await t.owner.call("config/set", { repo: "shop", "svc.timeout": 1 });
      expect(reply.errors).toMatchObject([{ code: 1106, repo: "shop" }]);
    });
  }
  await writeFile(home.file, changed);
  await home.run(async t => {
    expect(await list(t)).toEqual({ timeout: 31, revision: 3 });
    expect(await healthOf(t, "shop")).toEqual([]);
  });
  await unlink(home.file);
  await home.run(async t => expect((await t.owner.call("repo/remove", { repo: "shop" })).errors).toEqual([]));
  await home.run(async t => expect((await t.owner.call("repo/list")).result).toEqual([]));
});

test("files that were created or broken while no daemon ran are reported in the first reply", async () => {
  await using home = await stoppedHome();
  await writeFile(home.file, "{ half");
  await writeFile(home.file.replace("shop", "cellar"), shopText);
  await home.run(async t => {
    const { result } = await t.owner.call("repo/list");
    expect(result).toMatchObject([
      { id: "cellar", modified: 2, health: [] },
      { id: "shop", name: "shop", health: [{ code: 1106, line: 1, column: 3 }] },
    ]);
  });
});

test("no revision is assigned twice after a SIGKILL and then a start that is stopped before it has checked every file", async () => {
  await using t = await startTestDaemon(noRescans);
  const notes = new RevisionNotes();
  // More than are checked concurrently.
  const others = Array.from({ length: 40 }, (_, i) => `a${i}`);
  for (const id of [...others, "last"]) await t.addRepository(id);
  await t.restart();
  await notes.set(t, "last", 10, 20, 30);
  await using frozen = await freezeHome(t.homeFolder);
  for (const id of others) await saveByRename(join(frozen.path, `repos/${id}.json`), "{}");
  const fileSystem = watchFileSystem();
  const stopped = Promise.withResolvers<void>();
  fileSystem.before = async ({ path }) => {
    if (path.includes("/repos/a")) await stopped.promise;
  };
  const logger = pino({ level: "silent" });
  const daemon = await createDaemon({ home: frozen.path, version: "0.0.0-test", port: 0, logger }, { fileSystem });
  const closing = daemon.close();
  // The store is closing once the port no longer answers.
  await until(
    () =>
      fetch(daemon.url).then(
        () => false,
        () => true,
      ),
    "the daemon to be stopping",
  );
  setImmediate(stopped.resolve);
  await closing;
  await using after = await startTestDaemon({ ...noRescans, home: frozen.path });
  expect(await timeoutOf(after, "last")).toBe(30);
  await notes.note(after, "last");
  await notes.set(after, "last", 40, 50);
});

test.each(["a", "b"])(
  "an atomic set killed before the rename of %s, with the index saved in between, never gives one revision two contents",
  async last => {
    const fileSystem = watchFileSystem();
    await using t = await startTestDaemon({ ...noRescans, fileSystem });
    const notes = new RevisionNotes();
    for (const repo of ["a", "b", "c"]) await t.addRepository(repo);
    // The restart saves them in the index.
    await t.restart();
    for (const repo of ["a", "b"]) await notes.note(t, repo);
    const [reached, release] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    fileSystem.before = async ({ operation, path }) => {
      if (operation !== "rename" || !path.endsWith(`/tmp/${last}.json`)) return;
      reached.resolve();
      await release.promise;
    };
    const setting = t.owner.call("config/set", { repo: ["a", "b"], "svc.timeout": 5, atomic: true });
    await reached.promise;
    // A removal saves the index.
    expect((await t.owner.call("repo/remove", { repo: "c" })).errors).toEqual([]);
    await using frozen = await freezeHome(t.homeFolder);
    release.resolve();
    await setting;
    await using after = await startTestDaemon({ ...noRescans, home: frozen.path });
    for (const repo of ["a", "b"]) {
      await notes.note(after, repo);
      await notes.set(after, repo, 6, 7);
    }
    await after.restart();
    for (const repo of ["a", "b"]) await notes.note(after, repo);
  },
);
