import { readFileSync } from "node:fs";
import { appendFile, mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { realFileSystem } from "../../../main/files/file-system.ts";
import { Findings } from "../../../main/store/findings.ts";
import { ownerGrants } from "../../../shared/grants.ts";
import type { Finding } from "../../../shared/protocol.ts";
import type { TestDaemon, TestDaemonOptions } from "../../helpers/daemon.ts";
import { systemError, watchFileSystem } from "../../helpers/file-system.ts";
import { type Shop, startShop } from "../../helpers/shop.ts";
import { temporaryFolder } from "../../helpers/temporary-folder.ts";
import { TestClock } from "../../helpers/test-clock.ts";

/** A shop with four revisions, all of which its history has. */
async function startWithHistory(options: TestDaemonOptions = {}): Promise<Shop & { readonly journal: string }> {
  const shop = await startShop(undefined, options);
  for (const timeout of [32, 33, 34]) await shop.set({ "svc.timeout": timeout });
  return { ...shop, journal: join(shop.t.homeFolder, "journal/shop.0-0.jsonl") };
}

/** Flips a bit in the record of revision 2. */
async function damage(journal: string): Promise<void> {
  const lines = (await readFile(journal, "latin1")).split("\n");
  const at = lines.findIndex(line => line.includes(`"kind":"change","revision":2,`));
  await writeFile(journal, lines.with(at, `${lines[at]}`.replace(`"after":32`, `"after":33`)).join("\n"), "latin1");
}

const readHistory = async (t: TestDaemon) =>
  (await t.owner.call("history/list", { repo: "shop" })).errors.map(({ code }) => code);

async function statusOf(t: TestDaemon) {
  const { findings = [], problems = [] } = (await t.owner.call("daemon/status")).result;
  return { findings, problems };
}

test("damage in a history is told in health and status, also after a restart, until the owner dismisses it, and then no more", async () => {
  await using shop = await startWithHistory();
  const { t, journal } = shop;
  await damage(journal);
  await t.owner.call("config/watch", {});
  expect(await shop.health()).toEqual([]);
  expect(await readHistory(t)).toEqual([1110]);
  const [told] = await shop.health();
  expect(told).toMatchObject({ code: 1116, finding: expect.stringMatching(/^[0-9a-f]{6}$/) });
  expect(told?.message).toContain(journal);
  const events = t.owner.events.filter(([resource, event]) => resource === "repo" && event === "health");
  expect(events).toMatchObject([["repo", "health", { id: "shop", health: [told] }]]);
  await t.restart();
  expect(await shop.health()).toEqual([told]);
  expect(await readHistory(t)).toEqual([1110]);
  expect(await shop.health()).toEqual([told]);
  const [found] = (await statusOf(t)).findings;
  expect(found).toMatchObject({ id: told?.finding, repo: "shop", message: told?.message, kept: journal });
  // The file is well: only its history is not.
  expect((await t.owner.call("config/search", { query: "@broken" })).result).toEqual([]);

  await t.owner.call("config/watch", {});
  const reader = await t.connectWith(ownerGrants);
  expect((await reader.call("repo/list")).result).toMatchObject([{ health: [] }]);
  const id = told?.finding ?? "";
  expect((await reader.call("daemon/dismiss", { id })).errors).toMatchObject([{ code: 1105 }]);
  expect((await t.owner.call("daemon/dismiss", { id: "shop" })).errors).toMatchObject([{ code: 1112 }]);
  expect(await shop.health()).toEqual([told]);
  expect(await t.owner.call("daemon/dismiss", { id })).toEqual({ result: {}, errors: [] });
  expect(await shop.health()).toEqual([]);
  expect(t.owner.events.at(-1)).toMatchObject(["repo", "health", { id: "shop", health: [], modified: 2 }]);
  expect((await t.owner.call("daemon/dismiss", { id })).errors).toMatchObject([{ code: 1112 }]);
  await t.restart();
  expect(await readHistory(t)).toEqual([1110]);
  expect([await shop.health(), (await statusOf(t)).findings]).toEqual([[], []]);
});

test("values before a recovery can be erased, although a damaged record is in between", async () => {
  await using shop = await startWithHistory();
  const { t, journal } = shop;
  await t.daemon.close();
  const text = await readFile(journal, "utf8");
  await writeFile(journal, text.replace(`"after":33`, `"after":93`));
  await writeFile(t.repositoryFile("shop"), `{ "name": "shop", "config": { "svc": { "timeout": 40 } } }`);
  await t.restart();
  expect((await t.owner.call("history/list", { repo: "shop" })).result[0]).toMatchObject({ source: "recovery" });
  await shop.set({ "svc.timeout": 41 });
  expect((await t.owner.call("history/forget", { repo: "shop", field: "svc.timeout" })).errors).toEqual([]);
  for (const name of await readdir(join(t.homeFolder, "journal")))
    expect(await readFile(join(t.homeFolder, "journal", name), "utf8")).not.toMatch(/":(93|40)\b/);
  expect((await t.owner.call("config/list", { repo: "shop", field: "svc.timeout" })).result).toEqual({
    svc: { timeout: 41 },
  });
});

test("a history whose end was damaged is told before the damaged end is cut off", async () => {
  const fileSystem = watchFileSystem();
  await using shop = await startWithHistory({ fileSystem });
  const { t, journal } = shop;
  await t.daemon.close();
  await appendFile(journal, "damaged\nlines\n");
  const file = join(t.homeFolder, "findings.json");
  const toldThen: boolean[] = [];
  fileSystem.before = ({ operation, path }) => {
    if (operation === "truncate" && path === journal) toldThen.push(readFileSync(file, "utf8").includes(journal));
  };
  await t.restart();
  await t.owner.call("config/list", { repo: "shop" });
  await readHistory(t);
  expect(toldThen).toEqual([true]);
  expect(await readFile(`${journal}.damaged`, "utf8")).toBe("damaged\nlines\n");
  const { findings } = await statusOf(t);
  expect(findings[0]).toMatchObject({ repo: "shop", kept: `${journal}.damaged` });
  expect(findings.map(({ message }) => message).join()).toContain("is not known");
});

test("of a damaged history, what intact records tell is returned, and what is older is refused with 1110; sets and their history continue", async () => {
  await using shop = await startWithHistory();
  const { call } = shop.t.owner;
  await damage(shop.journal);
  const isKnownFrom3To = async (newest: number) => {
    const { result, errors } = await shop.t.owner.call("history/list", { repo: "shop" });
    expect([result.at(0)?.revision, result.at(-1)?.revision, result.length]).toEqual([newest, 3, newest - 2]);
    expect(errors).toMatchObject([{ code: 1110 }]);
  };
  await isKnownFrom3To(4);
  for (const revision of [2, 3, 4])
    expect(await call("config/list", { repo: "shop", revision, field: "svc.timeout" })).toMatchObject({
      result: { svc: { timeout: 30 + revision } },
      errors: [],
    });
  for (const [name, args] of [
    ["config/list", { revision: 1 }],
    ["config/watch", { since: 1 }],
    ["history/restore", { to: 1 }],
    ["history/forget", { field: "svc.timeout" }],
  ] as const)
    expect((await call(name, { repo: "shop", ...args })).errors).toMatchObject([{ code: 1110 }]);
  const watcher = await shop.t.connect();
  expect((await watcher.call("config/watch", { repo: "shop", since: 2 })).errors).toEqual([]);
  for (const revision of [3, 4]) expect((await watcher.nextChange()).revision).toBe(revision);
  await shop.t.restart();
  await shop.set({ "svc.timeout": 35 });
  await isKnownFrom3To(5);
});

test("a damaged index and a damaged list of findings are told, and damaged files are kept", async () => {
  await using shop = await startWithHistory();
  const { t } = shop;
  const at = (name: string) => join(t.homeFolder, name);
  await t.daemon.close();
  await writeFile(at("index.json"), "not an index");
  await t.restart();
  const [index] = (await statusOf(t)).findings;
  expect(index).toMatchObject({ message: expect.stringContaining("index.json") });
  expect((await statusOf(t)).problems).toEqual([index?.message]);
  expect(await readFile(index?.kept ?? "", "utf8")).toBe("not an index");
  expect(await shop.health()).toEqual([]);

  const settled = { id: "1", time: "2026-01-01T00:00:00.000Z", message: "It was found.", repo: "shop", until: 1 };
  for (const finding of [{}, settled]) {
    await t.daemon.close();
    const damaged = JSON.stringify({ findings: [finding] });
    await writeFile(at("findings.json"), damaged);
    await t.restart();
    const [list, ...others] = (await statusOf(t)).findings;
    expect(others).toEqual([]);
    expect(await readFile(list?.kept ?? "", "utf8")).toBe(damaged);
  }
});

test("a dismissal that cannot be written is refused with 1108; what was found is still told, and goes with its repository", async () => {
  const fileSystem = watchFileSystem();
  await using shop = await startWithHistory({ fileSystem });
  const { t } = shop;
  await damage(shop.journal);
  await readHistory(t);
  const health = await shop.health();
  expect(health).toHaveLength(1);
  fileSystem.before = ({ operation, path }) => {
    if (operation === "open" && path.includes("findings.json")) throw systemError("ENOSPC");
  };
  const dismissed = await t.owner.call("daemon/dismiss", { id: health[0]?.finding ?? "" });
  expect(dismissed.errors).toMatchObject([{ code: 1108 }]);
  expect(await shop.health()).toEqual(health);
  fileSystem.before = () => {};
  await t.owner.call("repo/remove", { repo: "shop" });
  for (const again of [async () => {}, t.restart]) {
    await again();
    expect((await statusOf(t)).findings).toEqual([]);
  }
});

test("at most a hundred are told, the newest, with one that says that there were more", async () => {
  await using folder = await temporaryFolder();
  const at = (name: string) => join(folder.path, name);
  for (const name of ["removed", "tmp"]) await mkdir(at(name));
  const paths = { findingsFile: at("findings.json"), temporary: at("tmp"), removed: at("removed") };
  const open = () => Findings.open({ paths, fileSystem: realFileSystem, clock: new TestClock(), onProblem: () => {} });
  const findings = await open();
  for (let number = 1; number <= 103; number++) await findings.add({ message: `number ${number}` });
  await findings.add({ message: "number 103" });
  const check = (all: readonly Finding[]) => {
    expect(all).toHaveLength(101);
    expect(all[0]?.message).toContain("More was found");
    expect([all[1]?.message, all.at(-1)?.message]).toEqual(["number 4", "number 103"]);
    expect(new Set(all.map(({ id }) => id)).size).toBe(101);
  };
  check(findings.all);
  check((await open()).all);
  expect(await readdir(folder.path)).toContain("findings.json");
});
