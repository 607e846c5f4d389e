import { readFile, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { startTestDaemon, type TestDaemon } from "../../helpers/daemon.ts";
import { freezeHome } from "../../helpers/frozen-home.ts";
import { saveByRename, startShop } from "../../helpers/shop.ts";

/** The newest three revisions, the active timeout, and the one in the file. */
async function stateOf(t: TestDaemon) {
  const { result } = await t.owner.call("history/list", { repo: "shop", limit: 3 });
  const list = await t.owner.call("config/list", { repo: "shop", field: "svc.timeout" });
  const text = await t.readRepository("shop");
  return {
    history: result.map(({ revision, source }) => `${revision} ${source}`),
    timeout: list.result["svc"]?.["timeout"],
    inFile: Number(/"timeout": (\d+)/.exec(text)?.[1]),
  };
}

/** The text after the first of three sets, and the home after all of them, as a kill leaves it. */
async function setThrice() {
  await using shop = await startShop();
  await shop.set({ "svc.timeout": 31 });
  const older = await shop.read();
  for (const timeout of [32, 33]) {
    await shop.set({ "svc.timeout": timeout });
    await shop.read();
  }
  return { older, frozen: await freezeHome(shop.t.homeFolder) };
}

test("an older text that the backup has is not taken for a hand edit, because the restored log has the later sets", async () => {
  const { older, frozen } = await setThrice();
  await using _frozen = frozen;
  await saveByRename(join(frozen.path, "repos/shop.json"), older);
  // As a restore leaves it.
  await writeFile(join(frozen.path, "log/copy"), "");
  await using t = await startTestDaemon({ home: frozen.path, rescanInterval: 3_600_000 });
  expect(await stateOf(t)).toEqual({ history: ["4 set", "3 set", "2 set"], timeout: 33, inFile: 33 });
});

test("an older text that somebody put back after a kill is an edit like any other, although the daemon wrote it once", async () => {
  const { older, frozen } = await setThrice();
  await using _frozen = frozen;
  await saveByRename(join(frozen.path, "repos/shop.json"), older);
  await using t = await startTestDaemon({ home: frozen.path, rescanInterval: 3_600_000 });
  expect(await stateOf(t)).toEqual({ history: ["5 file", "4 set", "3 set"], timeout: 31, inFile: 31 });
  expect(await readFile(join(frozen.path, "repos/shop.json"), "utf8")).toBe(older);
});

test("an older text restored by hand is an edit like any other once everything in the log is written", async () => {
  const { older, frozen } = await setThrice();
  await using _frozen = frozen;
  const stopped = await startTestDaemon({ home: frozen.path, rescanInterval: 3_600_000 });
  await stopped.owner.call("config/list", { repo: "shop" });
  await stopped[Symbol.asyncDispose]();
  await writeFile(join(frozen.path, "repos/shop.json"), older);
  await using t = await startTestDaemon({ home: frozen.path, rescanInterval: 3_600_000 });
  expect(await stateOf(t)).toEqual({ history: ["5 file", "4 set", "3 set"], timeout: 31, inFile: 31 });
  expect(await readFile(join(frozen.path, "repos/shop.json"), "utf8")).toBe(older);
});

test("the text that the last write replaced, put back after a clean stop, is an edit", async () => {
  const { frozen } = await setThrice();
  await using _frozen = frozen;
  const file = join(frozen.path, "repos/shop.json");
  const stopped = await startTestDaemon({ home: frozen.path, rescanInterval: 3_600_000 });
  const replaced = await stopped.readRepository("shop");
  await stopped.owner.call("config/set", { repo: "shop", "svc.timeout": 34 });
  await stopped[Symbol.asyncDispose]();
  await saveByRename(file, replaced);
  await using t = await startTestDaemon({ home: frozen.path, rescanInterval: 3_600_000 });
  expect(await stateOf(t)).toEqual({ history: ["6 file", "5 set", "4 set"], timeout: 33, inFile: 33 });
  expect(await readFile(file, "utf8")).toBe(replaced);
});

test("a file of the home that was only touched is no edit", async () => {
  const { frozen } = await setThrice();
  await using _frozen = frozen;
  await utimes(join(frozen.path, "repos/shop.json"), 1, 1);
  await using t = await startTestDaemon({ home: frozen.path, rescanInterval: 3_600_000 });
  expect(await stateOf(t)).toEqual({ history: ["4 set", "3 set", "2 set"], timeout: 33, inFile: 33 });
});
