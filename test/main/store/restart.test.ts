import { readFile, rm, unlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { startTestDaemon, type TestDaemon } from "../../helpers/daemon.ts";
import { healthOf, saveByRename, shopText } from "../../helpers/shop.ts";
import { temporaryFolder } from "../../helpers/temporary-folder.ts";

interface Stopped extends AsyncDisposable {
  readonly file: string;
  readonly index: string;
  /** Runs a daemon on this home during `task`. */
  run<Result>(task: (t: TestDaemon) => Promise<Result>): Promise<Result>;
}

/** A home left by a daemon: `shop` has timeout 31 and revision 3. */
async function stoppedHome(): Promise<Stopped> {
  const home = await temporaryFolder();
  const file = join(home.path, "repos/shop.json");
  const index = join(home.path, "index.json");
  const run: Stopped["run"] = async task => {
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
  return {
    file,
    index,
    run,
    [Symbol.asyncDispose]: () => home[Symbol.asyncDispose](),
  };
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

test("values, revision, name, counts and comments survive a restart", async () => {
  await using home = await stoppedHome();
  await home.run(async t => {
    const { result } = await t.owner.call("repo/list");
    expect(result).toEqual([{ id: "shop", name: "shop", inTree: false, revision: 3, modified: 2, health: [] }]);
    expect(await list(t)).toEqual({ timeout: 31, revision: 3 });
    expect((await set(t, 32)).revision).toBe(4);
  });
  expect(await readFile(home.file, "utf8")).toBe(changed.replace("31", "32"));
});

test.each([
  ["renamed over", saveByRename],
  ["written in place", (path: string, text: string) => writeFile(path, text)],
])("an edit made while no daemon ran (%s) is served and raises the revision", async (_style, save) => {
  await using home = await stoppedHome();
  await save(home.file, changed.replace("31", "45"));
  await home.run(async t => expect(await list(t)).toEqual({ timeout: 45, revision: 4 }));
  await home.run(async t => expect(await list(t)).toEqual({ timeout: 45, revision: 4 }));
});

describe("values and revision are restored from the journal", () => {
  test("when the index is older than acknowledged sets", async () => {
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
    await home.run(async t => expect((await set(t, 120)).revision).toBe(9));
  });

  test("when the index is older than a hand edit", async () => {
    await using home = await stoppedHome();
    const index = await readFile(home.index, "utf8");
    await saveByRename(home.file, changed.replace("31", "45"));
    await home.run(async t => expect(await list(t)).toEqual({ timeout: 45, revision: 4 }));
    await writeFile(home.index, index);
    await home.run(async t => expect(await list(t)).toEqual({ timeout: 45, revision: 4 }));
  });
});

describe("index.json is rebuilt, and revisions stay the same, when it", () => {
  const damages: [title: string, damage: (path: string) => Promise<void>][] = [
    ["is missing", path => rm(path)],
    ["is empty", path => writeFile(path, "")],
    ["is cut short", async path => writeFile(path, (await readFile(path, "utf8")).slice(0, 60))],
    ["is not an index", path => writeFile(path, "[]")],
    ["has entries with missing members", path => writeFile(path, `{"format":1,"repositories":{"shop":{}}}`)],
    ["is full of NULs", path => writeFile(path, new Uint8Array(300))],
  ];
  test.each(damages)("%s", async (_title, damage) => {
    await using home = await stoppedHome();
    await damage(home.index);
    await home.run(async t => {
      const now = await list(t);
      expect(now.timeout).toBe(31);
      const { result } = await t.owner.call("repo/list");
      expect(result).toMatchObject([{ id: "shop", modified: 2, health: [] }]);
      expect(now.revision).toBe(3);
    });
    const index = JSON.parse(await readFile(home.index, "utf8"));
    expect(index).toMatchObject({ repositories: { shop: { id: "shop", name: "shop", modified: 2 } } });
  });
});

describe("a file deleted by hand while no daemon ran", () => {
  test("stays reported as broken over further restarts, and its last values are served", async () => {
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
  });

  test("can then be removed, and stays removed", async () => {
    await using home = await stoppedHome();
    await unlink(home.file);
    await home.run(async t => {
      expect((await t.owner.call("repo/remove", { repo: "shop" })).errors).toEqual([]);
      expect((await t.owner.call("repo/list")).result).toEqual([]);
    });
    await home.run(async t => expect((await t.owner.call("repo/list")).result).toEqual([]));
  });
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
