import { readFile, rm, unlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { startTestDaemon, type TestDaemon } from "../../../helpers/daemon.ts";
import { healthOf, saveByRename, shopText } from "../../../helpers/shop.ts";
import { temporaryFolder } from "../../../helpers/temporary-folder.ts";

interface Stopped extends AsyncDisposable {
  readonly file: string;
  readonly index: string;
  /** A daemon on this home while `task` runs. */
  run<Result>(task: (t: TestDaemon) => Promise<Result>): Promise<Result>;
  /** Makes the home look as after kill -9: nobody took the endpoint file away, and the index is the one given. */
  pretendCrash(index: string): Promise<void>;
}

/** A home in which a daemon ran: `shop` has timeout 31 and revision 3. */
async function stoppedHome(): Promise<Stopped> {
  const home = await temporaryFolder();
  const file = join(home.path, "repos/shop.json");
  const index = join(home.path, "index.json");
  let endpoint = "";
  const run: Stopped["run"] = async task => {
    await using t = await startTestDaemon({ home: home.path });
    endpoint = await readFile(join(home.path, "daemon.json"), "utf8");
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
    pretendCrash: async text => {
      await writeFile(index, text);
      await writeFile(join(home.path, "daemon.json"), endpoint);
    },
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
])("an edit while no daemon ran (%s) is served and raises the revision", async (_style, save) => {
  await using home = await stoppedHome();
  await save(home.file, changed.replace("31", "45"));
  await home.run(async t => expect(await list(t)).toEqual({ timeout: 45, revision: 4 }));
  await home.run(async t => expect(await list(t)).toEqual({ timeout: 45, revision: 4 }));
});

describe("after a crash no revision is given twice", () => {
  test("when the index is behind what was acknowledged", async () => {
    await using home = await stoppedHome();
    const index = await readFile(home.index, "utf8");
    const given = await home.run(async t => {
      for (let timeout = 100; timeout < 120; timeout++) await set(t, timeout);
      return (await list(t)).revision;
    });
    await home.pretendCrash(index);
    await home.run(async t => {
      const now = await list(t);
      expect(now.timeout).toBe(119);
      expect(now.revision).toBeGreaterThan(given);
      expect((await set(t, 120)).revision).toBe(now.revision + 1);
    });
  });

  test("when the index is missing", async () => {
    await using home = await stoppedHome();
    await home.pretendCrash("");
    await rm(home.index);
    await home.run(async t => {
      const now = await list(t);
      expect(now.timeout).toBe(31);
      expect(now.revision).toBeGreaterThan(3);
    });
  });

  test("when a second crash follows soon on many sets", async () => {
    await using home = await stoppedHome();
    const index = await readFile(home.index, "utf8");
    await home.run(t => set(t, 40));
    await home.pretendCrash(index);
    const given = await home.run(async t => {
      for (let timeout = 100; timeout < 150; timeout++) await set(t, timeout);
      return (await list(t)).revision;
    });
    await home.pretendCrash(index);
    await home.run(async t => {
      const now = await list(t);
      expect(now.timeout).toBe(149);
      expect(now.revision).toBeGreaterThanOrEqual(given);
    });
  });

  test("and an untouched repository keeps its own", async () => {
    await using home = await stoppedHome();
    await home.pretendCrash(await readFile(home.index, "utf8"));
    await home.run(async t => expect(await list(t)).toEqual({ timeout: 31, revision: 3 }));
  });
});

describe("index.json is rebuilt, and no revision is given twice, when it", () => {
  const damages: [title: string, damage: (path: string) => Promise<void>][] = [
    ["is missing", unlink],
    ["is empty", path => writeFile(path, "")],
    ["is cut short", async path => writeFile(path, (await readFile(path, "utf8")).slice(0, 60))],
    ["is another thing", path => writeFile(path, "[]")],
    ["has entries without what they need", path => writeFile(path, `{"format":1,"repositories":{"shop":{}}}`)],
    ["is a folder's worth of NULs", path => writeFile(path, new Uint8Array(300))],
  ];
  test.each(damages)("%s", async (_title, damage) => {
    await using home = await stoppedHome();
    await damage(home.index);
    await home.run(async t => {
      const now = await list(t);
      expect(now.timeout).toBe(31);
      const { result } = await t.owner.call("repo/list");
      expect(result).toMatchObject([{ id: "shop", modified: 2, health: [] }]);
      // 3 was this state's before; a greater one is as good.
      expect(now.revision).toBeGreaterThanOrEqual(3);
    });
    const index = JSON.parse(await readFile(home.index, "utf8"));
    expect(index).toMatchObject({ repositories: { shop: { id: "shop", name: "shop", modified: 2 } } });
  });
});

describe("a file deleted by hand while no daemon ran", () => {
  test("stays known as broken, with the index, over further restarts", async () => {
    await using home = await stoppedHome();
    await unlink(home.file);
    for (const _ of [1, 2]) {
      await home.run(async t => {
        const { result } = await t.owner.call("repo/list");
        expect(result).toMatchObject([{ id: "shop", name: "shop", health: [{ code: 1106 }] }]);
        expect((await t.owner.call("config/list", { repo: "shop" })).errors).toMatchObject([{ code: 1106 }]);
        const reply = await t.owner.call("config/set", { repo: "shop", "svc.timeout": 1 });
        expect(reply.errors).toMatchObject([{ code: 1106, repo: "shop" }]);
      });
    }
    await writeFile(home.file, changed);
    await home.run(async t => {
      expect(await list(t)).toMatchObject({ timeout: 31 });
      expect(await healthOf(t, "shop")).toEqual([]);
      expect((await list(t)).revision).toBeGreaterThanOrEqual(3);
    });
  });

  test("can be removed then, and stays removed", async () => {
    await using home = await stoppedHome();
    await unlink(home.file);
    await home.run(async t => {
      expect((await t.owner.call("repo/remove", { repo: "shop" })).errors).toEqual([]);
      expect((await t.owner.call("repo/list")).result).toEqual([]);
    });
    await home.run(async t => expect((await t.owner.call("repo/list")).result).toEqual([]));
  });
});

test("files that came and broke while no daemon ran are told at the first answer", async () => {
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
