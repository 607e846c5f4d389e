import { writeFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import type { JsonValue } from "../../../shared/json.ts";
import { until } from "../../helpers/daemon.ts";
import { isReplaced, systemError, watchFileSystem } from "../../helpers/file-system.ts";
import { type Shop, saveByRename, shopText, startShop } from "../../helpers/shop.ts";
import { TestClock } from "../../helpers/test-clock.ts";
import { renameOver, waysOfSaving } from "../../helpers/ways-of-saving.ts";

/** A shop whose time stands still: no set becomes too old to be merged because a machine is slow. */
function startStillShop(clock = new TestClock({ timers: "run" })): Promise<Shop> {
  return startShop(undefined, { clock });
}

/** Waits until a hand edit has been noticed, and returns the resulting change. */
async function changeAfter(shop: Shop, revision: number) {
  for (;;) {
    const change = await shop.t.owner.nextChange();
    if (change.revision > revision) return change;
  }
}

const staleText = shopText.replace(`"refresh_day": 2`, `"refresh_day": 3, // by hand\n      "domain": "hand.test"`);

test("(a) an edit found just before a write becomes a revision of source file before the set, which wins on the same field", async () => {
  await using shop = await startShop();
  const text = shopText.replace("30", "45").replace(`"refresh_day": 2`, `"refresh_day": 3`);
  // Synchronous, so that the watcher has no time to report it.
  renameOver(shop.file, text);
  await shop.set({ "svc.timeout": 31 });
  const { result } = await shop.t.owner.call("history/list", { repo: "shop" });
  expect(result).toMatchObject([
    { revision: 3, actor: "owner", source: "set", changes: { svc: { timeout: { value: 31, previous: 45 } } } },
    {
      revision: 2,
      actor: "file",
      source: "file",
      changes: { svc: { timeout: { value: 45, previous: 30 }, refresh_day: { value: 3, previous: 2 } } },
    },
    { revision: 1, source: "file" },
  ]);
  expect(Object.keys(result[0]?.changes["svc"] ?? {})).toEqual(["timeout"]);
  expect(await shop.read()).toBe(shopText.replace("30", "31").replace(`"refresh_day": 2`, `"refresh_day": 3`));
});

describe("(b) an edit after a write is taken as it is", () => {
  const provider = { stored: false };
  test.each<[why: string, sets: readonly { [path: string]: JsonValue }[], age: number, text: string, changes: object]>([
    ["it knew of the set", [{ "svc.timeout": 31 }], 0, staleText.replace("30", "31"), {}],
    [
      "it touches a field that the set touched",
      [{ "svc.timeout": 31, "svc.provider": "p" }],
      0,
      staleText.replace("30", "45"),
      { timeout: { value: 45, previous: 31 }, provider, refresh_day: { value: 3 } },
    ],
    [
      "its text is the first one, which makes it a revert",
      [{ "svc.timeout": 31 }, { "svc.provider": "p" }],
      0,
      shopText,
      { timeout: { value: 30 }, provider },
    ],
    [
      "its text is an earlier one of the daemon, which makes it a revert",
      [{ "svc.timeout": 31 }, { "svc.provider": "p" }],
      0,
      shopText.replace("30", "31"),
      { provider },
    ],
    [
      "the sets that it did not know of are older than two seconds",
      [{ "svc.timeout": 31 }],
      2_001,
      staleText,
      { timeout: { value: 30 } },
    ],
  ])("when %s", async (_why, sets, age, text, svc) => {
    const clock = new TestClock({ timers: "run" });
    await using shop = await startStillShop(clock);
    for (const fields of sets) await shop.set(fields);
    clock.advance(age);
    await saveByRename(shop.file, text);
    const change = await changeAfter(shop, 1 + sets.length);
    expect(change).toMatchObject({ revision: 2 + sets.length, source: "file", actor: "file", changes: { svc } });
    expect(await shop.read()).toBe(text);
    expect(await shop.health()).toEqual([]);
  });

  test("when it reverts a field changed by hand since the set, whose value must not return", async () => {
    await using shop = await startStillShop();
    await shop.set({ "svc.provider": "set" });
    await saveByRename(shop.file, (await shop.read()).replace(`"set"`, `"hand"`));
    expect((await changeAfter(shop, 2)).changes).toMatchObject({ svc: { provider: { value: "hand" } } });
    await saveByRename(shop.file, staleText);
    expect(await changeAfter(shop, 3)).toMatchObject({ source: "file", changes: { svc: { provider } } });
    expect(await shop.read()).toBe(staleText);
  });
});

test.each(["the log refuses it at first", "it waits behind a set for a slow log"])(
  "an edit is still merged by the text that it was based on, and not by its age, if %s",
  async why => {
    const clock = new TestClock({ timers: "run" });
    const fileSystem = watchFileSystem();
    await using shop = await startShop(undefined, { clock, fileSystem });
    await shop.set({ "svc.timeout": 31 });
    const reached = Promise.withResolvers<void>();
    const released = Promise.withResolvers<void>();
    fileSystem.before = async ({ operation, path }) => {
      if (operation !== "write" || !path.includes("/log/")) return;
      reached.resolve();
      if (why.startsWith("the log refuses")) throw systemError("ENOSPC");
      await released.promise;
    };
    let waiting: Promise<unknown> = Promise.resolve();
    if (why.startsWith("it waits")) {
      const set = shop.set({ "svc.provider": "p" });
      await reached.promise;
      await saveByRename(shop.file, staleText);
      waiting = Promise.all([set, shop.t.owner.call("file/read", { repo: "shop" })]);
      // Answered after the daemon has received the request before.
      await shop.t.owner.call("daemon/status");
    } else {
      await saveByRename(shop.file, staleText);
      await reached.promise;
    }
    clock.advance(2_001);
    fileSystem.before = () => {};
    released.resolve();
    await waiting;
    await shop.set({ "svc.provider": "p" });
    const values = [await shop.value("timeout"), await shop.value("refresh_day"), await shop.value("provider")];
    expect(values).toEqual([31, 3, "p"]);
  },
);

describe("(c) an edit that did not know of the latest sets", () => {
  const merged = staleText.replace("30", "31");

  test.each(waysOfSaving)(
    "is kept with them, as revision, event and a note, which is no problem (%s)",
    async (_name, save) => {
      await using shop = await startStillShop();
      await shop.set({ "svc.timeout": 31 });
      save(shop.file, staleText);
      const change = await changeAfter(shop, 2);
      expect(change).toMatchObject({ revision: 3, actor: "file", source: "merge" });
      expect(change.changes).toEqual({
        svc: {
          refresh_day: { value: 3, previous: 2, stored: true },
          domain: { value: "hand.test", previous: "", stored: true },
        },
      });
      expect(await shop.read()).toBe(merged);
      expect(await shop.value("timeout")).toBe(31);
      expect(await shop.value("refresh_day")).toBe(3);
      expect(await shop.health()).toEqual([{ code: 1104, message: expect.stringMatching(/revision 3\).*undo/) }]);
      const search = () => shop.t.owner.call("config/search", { query: "@broken" });
      expect((await search()).result).toEqual([]);
      await shop.t.owner.call("config/watch");
      const { result } = await shop.t.owner.call("history/list", { repo: "shop", limit: 1 });
      const { repo: _, position: __, ...entry } = change;
      expect(result).toEqual([entry]);
    },
  );

  test("is kept with them even if one of them reverted an earlier one, which the edit still has", async () => {
    await using shop = await startStillShop();
    for (const fields of [{ "svc.timeout": 31 }, { "svc.provider": "p" }, { "svc.timeout": 30 }])
      await shop.set(fields);
    await saveByRename(shop.file, merged);
    const change = await changeAfter(shop, 4);
    expect(change).toMatchObject({ revision: 5, source: "merge" });
    expect(Object.keys(change.changes["svc"] ?? {})).toEqual(["refresh_day", "domain"]);
    const values = ["timeout", "provider", "domain"].map(field => shop.value(field));
    expect(await Promise.all(values)).toEqual([30, "p", "hand.test"]);
  });

  test("is kept without a revision if it changes only comments, and its note names none", async () => {
    await using shop = await startStillShop();
    await shop.set({ "svc.timeout": 31 });
    const text = shopText.replace("// What people changed.", "// What people and tools changed.");
    await saveByRename(shop.file, text);
    await until(async () => (await shop.read()) === text.replace("30", "31"), "both in the file");
    expect([await shop.value("timeout"), await shop.revision()]).toEqual([31, 2]);
    // The last revision is the tool's, so the note names none and offers no undo.
    const [note] = await shop.health();
    expect(note).toMatchObject({ code: 1104, message: expect.stringMatching(/merged.*no revision/) });
    expect(note?.message).not.toMatch(/revision \d|undo/);
    expect((await shop.set({ "svc.timeout": 32 })).result).toMatchObject([{ revision: 3 }]);
    expect(await shop.read()).toBe(text.replace("30", "32"));
    expect(shop.sources()).toEqual(["set", "set"]);
  });

  test("keeps the set beside an invalid value, which stays where it was written", async () => {
    await using shop = await startStillShop();
    await shop.set({ "svc.timeout": 31 });
    await saveByRename(shop.file, shopText.replace(`"refresh_day": 2`, `"refresh_day": 9`));
    const wanted = shopText.replace("30", "31").replace(`"refresh_day": 2`, `"refresh_day": 9`);
    await until(async () => (await shop.read()) === wanted, "both in the file");
    await until(async () => (await shop.health()).length === 2, "health to report it");
    expect(await shop.health()).toMatchObject([{ code: 1103, field: "svc.refresh_day", line: 8 }, { code: 1104 }]);
    expect(await shop.value("refresh_day")).toBe(2);
    expect(await shop.revision()).toBe(2);
  });
});

test("a second edit of a text that lacks sets takes none of them back, although the file has not got them since the first one", async () => {
  const fileSystem = watchFileSystem();
  await using shop = await startShop(undefined, { clock: new TestClock({ timers: "run" }), fileSystem });
  const set = async (fields: object) =>
    expect((await shop.t.owner.call("config/set", { repo: "shop", ...fields })).errors).toEqual([]);
  await shop.set({ "svc.timeout": 31, "svc.refresh_hour": 4 });
  const isInPlace = isReplaced("shop");
  fileSystem.before = call => {
    if (isInPlace(call)) throw systemError("ENOSPC");
  };
  await saveByRename(shop.file, staleText);
  expect(await changeAfter(shop, 2)).toMatchObject({ revision: 3, source: "merge" });
  await set({ "svc.timeout": 32 });
  await saveByRename(shop.file, staleText.replace("hand.test", "again.test"));
  const { changes } = await changeAfter(shop, 4);
  expect(changes).toEqual({ svc: { domain: { value: "again.test", previous: "hand.test", stored: true } } });
  expect([await shop.value("timeout"), await shop.value("refresh_hour")]).toEqual([32, 4]);
  fileSystem.before = () => {};
  await shop.set({ "svc.provider": "p" });
  expect(JSON.parse((await shop.read()).replaceAll(/\/\/.*/g, "")).config.svc).toEqual({
    timeout: 32,
    refresh_hour: 4,
    refresh_day: 3,
    domain: "again.test",
    provider: "p",
  });
});

test("a stale edit is active even if the same text is saved again during its merge", async () => {
  const fileSystem = watchFileSystem();
  await using shop = await startShop(undefined, { fileSystem });
  const edited = shopText.replace('"refresh_day": 2', '"refresh_day": 5');
  await shop.set({ "svc.timeout": 50 });
  let phase = 0;
  fileSystem.before = ({ operation, path }) => {
    if (!path.includes("/tmp/shop.json")) return;
    if (phase === 0 && operation === "writeFile") writeFileSync(shop.file, "");
    else if (phase === 1 && operation === "unlink") writeFileSync(shop.file, edited);
    else return;
    phase += 1;
  };
  writeFileSync(shop.file, edited);
  await until(() => phase === 2, "the merge");
  await until(async () => (await shop.value("refresh_day")) === 5, "the edit to be active");
});
