import { existsSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { HistoryEntry } from "../../../../shared/protocol.ts";
import { until } from "../../../helpers/daemon.ts";
import { watchFileSystem } from "../../../helpers/file-system.ts";
import { type Shop, saveByRename, shopText, startShop } from "../../../helpers/shop.ts";

/*
 * One shop for the tests that only read. Revision 1 is its file (timeout 30, refresh_day 2), 2 and 3 are sets by the owner,
 * 4 is a hand edit, 5 a set by a tool, 6 an unset.
 */
let shop: Shop;
let toolKey: string;

beforeAll(async () => {
  shop = await startShop();
  const { owner } = shop.t;
  await owner.call("config/set", { repo: "shop", "svc.timeout": 31, "svc.domain": "a.test", reason: "slow machine" });
  await owner.call("config/set", { repo: "shop", "svc.domain": "b.test" });
  await saveByRename(shop.file, (await shop.read()).replace("31", "45"));
  await until(async () => (await shop.revision()) === 4, "the hand edit");
  const grants = [{ repos: "*", fields: ["svc.timeout"], right: "write" }];
  ({ key: toolKey } = (await owner.call("key/create", { name: "tool", grants })).result);
  const tool = await shop.t.connect(toolKey);
  expect((await tool.call("config/set", { repo: "shop", "svc.timeout": 46 })).errors).toEqual([]);
  await owner.call("config/unset", { repo: "shop", fields: ["svc.domain"] });
});
afterAll(() => shop[Symbol.asyncDispose]());

const revisions = (entries: readonly HistoryEntry[]) => entries.map(({ revision }) => revision);
const list = (args: { readonly [name: string]: unknown }) =>
  shop.t.owner.call("history/list", { repo: "shop", ...args });

describe("history/list", () => {
  test("returns each revision with its actor, source, reason and changes, newest first", async () => {
    const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    const field = (value: unknown, previous: unknown, stored = true) => ({ value, previous, stored });
    const owner = { time, actor: "owner" };
    const file = { time, actor: "file", source: "file" };
    const svc = (fields: object) => ({ changes: { svc: fields } });
    const { result, errors } = await list({});
    expect(errors).toEqual([]);
    expect(result).toEqual([
      { revision: 6, ...owner, source: "unset", ...svc({ domain: field("", "b.test", false) }) },
      { revision: 5, time, actor: "tool", key: expect.any(String), source: "set", ...svc({ timeout: field(46, 45) }) },
      { revision: 4, ...file, ...svc({ timeout: field(45, 31) }) },
      { revision: 3, ...owner, source: "set", ...svc({ domain: field("b.test", "a.test") }) },
      {
        revision: 2,
        ...owner,
        source: "set",
        reason: "slow machine",
        ...svc({ timeout: field(31, 30), domain: field("a.test", "") }),
      },
      { revision: 1, ...file, ...svc({ timeout: field(30, 900), refresh_day: field(2, 0) }) },
    ]);
    const times = result.map(({ time: when }) => when);
    expect(times).toEqual(times.toSorted().reverse());
  });

  test("pages with limit and after, with each revision on one page", async () => {
    for (const limit of [1, 2, 3, 5, 6, 7]) {
      const seen: number[] = [];
      let after: string | undefined;
      do {
        const { result, next } = await list({ limit, ...(after !== undefined && { after }) });
        expect(result.length).toBeLessThanOrEqual(limit);
        seen.push(...revisions(result));
        after = next;
      } while (after !== undefined);
      expect(seen).toEqual([6, 5, 4, 3, 2, 1]);
    }
  });

  test("returns only the revisions and changes of a field that is given", async () => {
    const { result } = await list({ field: "svc.domain" });
    expect(revisions(result)).toEqual([6, 3, 2]);
    for (const { changes } of result) expect(Object.keys(changes["svc"] ?? {})).toEqual(["domain"]);
    expect(revisions((await list({ field: "svc.domain", limit: 1, after: "6" })).result)).toEqual([3]);
    expect(revisions((await list({ field: "svc.proxy_url" })).result)).toEqual([]);
  });

  test("without a repository, of an unknown one, of an unknown field or of one without a scope is refused", async () => {
    for (const [args, code] of [
      [{ repo: "" }, 1006],
      [{ repo: "nowhere" }, 1102],
      [{ field: "svc.nothing" }, 1011],
      [{ field: "timeout" }, 1011],
    ] as const)
      expect(await list(args)).toMatchObject({ result: null, errors: [{ code }] });
  });
});

test("a key with limited rights pages only through what it may read", async () => {
  const tool = await shop.t.connect(toolKey);
  const first = await tool.call("history/list", { repo: "shop", limit: 3 });
  expect([revisions(first.result), first.next]).toEqual([[5, 4, 2], "2"]);
  const last = await tool.call("history/list", { repo: "shop", limit: 3, after: first.next });
  expect([revisions(last.result), last.next]).toEqual([[1], undefined]);
});

test("config/list of each revision returns the values at that time, stored or effective", async () => {
  for (const [revision, timeout, domain] of [
    [1, 30, ""],
    [2, 31, "a.test"],
    [3, 31, "b.test"],
    [4, 45, "b.test"],
  ] as const) {
    const args = { repo: "shop", revision };
    const reply = await shop.t.owner.call("config/list", { ...args, field: "svc.domain" });
    expect(reply).toEqual({ result: { svc: { domain } }, errors: [], revision });
    const { result } = await shop.t.owner.call("config/list", { ...args, stored: true });
    expect(result["svc"]).toEqual({ timeout, refresh_day: 2, ...(domain !== "" && { domain }) });
  }
});

test("the setting `history` changes how much is kept, also while the daemon runs", async () => {
  await using small = await startShop(shopText);
  for (let timeout = 1; timeout <= 30; timeout++) await small.set({ "svc.timeout": timeout });
  const listed = async () => revisions((await small.t.owner.call("history/list", { repo: "shop" })).result);
  expect(await listed()).toHaveLength(31);
  await writeFile(join(small.t.homeFolder, "settings.json"), `{ "history": { "revisions": 10 } }`);
  await until(async () => (await listed()).length === 10, "the settings to be read");
  expect(await listed()).toEqual(Array.from({ length: 10 }, (_, index) => 31 - index));
  const at = (revision: number) => small.t.owner.call("config/list", { repo: "shop", revision, field: "svc.timeout" });
  expect((await at(21)).result).toEqual({ svc: { timeout: 20 } });
  const details = { current: 31, oldest: 21 };
  expect(await at(20)).toMatchObject({ result: {}, errors: [{ code: 1110, repo: "shop", details }] });
  expect((await small.t.owner.call("config/watch", { repo: "shop", since: 20 })).errors).toMatchObject([
    { code: 1110, details },
  ]);
  for (let timeout = 31; timeout <= 60; timeout++) await small.set({ "svc.timeout": timeout });
  expect(await listed()).toEqual(Array.from({ length: 10 }, (_, index) => 61 - index));
  await small.t.restart();
  expect(await listed()).toEqual(Array.from({ length: 10 }, (_, index) => 61 - index));
});

test("a history read while a new segment is created is complete, and no damage is reported", async () => {
  const fileSystem = watchFileSystem();
  await using shop = await startShop(undefined, { fileSystem });
  await writeFile(join(shop.t.homeFolder, "settings.json"), `{ "history": { "revisions": 20 } }`);
  await shop.t.restart();
  const gate = Promise.withResolvers<void>();
  let stopped = false;
  fileSystem.before = async ({ operation, path }) => {
    if (operation !== "open" || !path.endsWith(".jsonl") || stopped) return;
    if (existsSync(path)) return;
    stopped = true;
    await gate.promise;
  };
  const sets = (async () => {
    for (let timeout = 100; timeout < 106; timeout += 1) await shop.set({ "svc.timeout": timeout });
  })();
  await until(() => stopped, "the segment");
  const reading = shop.t.owner.call("history/list", { repo: "shop" });
  // The read has begun once this request is answered.
  await shop.t.owner.call("daemon/status");
  gate.resolve();
  const history = await reading;
  await sets;
  expect(history.errors).toEqual([]);
  expect(history.result.length).toBeGreaterThan(0);
  expect(shop.t.log.filter(line => line.includes("damaged"))).toEqual([]);
});
