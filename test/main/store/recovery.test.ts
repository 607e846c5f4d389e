import { readdir, readFile, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { expect, test } from "vitest";
import { type Clock, systemClock } from "../../../main/time/clock.ts";
import { halfAFile, untilHealth } from "../../helpers/broken-file.ts";
import { noRescans, startTestDaemon, until } from "../../helpers/daemon.ts";
import { type FileCall, systemError, watchFileSystem } from "../../helpers/file-system.ts";
import { freezeHome } from "../../helpers/frozen-home.ts";
import { timeoutOf } from "../../helpers/shared-world.ts";
import { healthOf, saveByRename, shopText, startShop } from "../../helpers/shop.ts";
import { temporaryFolder } from "../../helpers/temporary-folder.ts";
import { TestClock } from "../../helpers/test-clock.ts";

/*
 * The log has an edit by hand followed by a set, and the history has neither, because the daemon was killed before it was updated.
 * The file's text is then missing in the history. It used to count as an edit made after the set, which it reverted.
 */

async function valuesAfterKill(home: string) {
  await using frozen = await freezeHome(home);
  await using t = await startTestDaemon({ ...noRescans, home: frozen.path });
  const { result, revision } = await t.owner.call("config/list", { repo: "shop", stored: true });
  const history = await t.owner.call("history/list", { repo: "shop" });
  expect(await t.readRepository("shop")).toContain(`"timeout": ${result["svc"]?.["timeout"]}`);
  return { svc: result["svc"], revision, sources: history.result.map(({ source }) => source) };
}

test.each([
  ["an edit by hand of the same field", undefined, "30", "40", 40, { timeout: 31 }, 3],
  ["an edit by hand that removed the field", undefined, `"timeout": 30,`, "", 900, { timeout: 31 }, 3],
  ["an edit by hand of a file that did not contain an earlier set yet", "a.test", "30", "40", 40, { timeout: 31 }, 4],
  [
    "an edit by hand that already had the value of an earlier set",
    "a.test",
    "30",
    `40, "domain": "a.test"`,
    40,
    { timeout: 31, domain: "b.test" },
    4,
  ],
])(
  "a set after %s survives a kill, and so does the earlier one",
  async (_before, domain, text, edit, seen, values, revision) => {
    const fileSystem = watchFileSystem();
    await using shop = await startShop(undefined, { fileSystem });
    fileSystem.before = ({ operation, path }) => {
      if (operation === "write" && path.includes("/journal/")) throw systemError("EIO");
    };
    const set = async (fields: object) =>
      expect((await shop.t.owner.call("config/set", { repo: "shop", ...fields })).errors).toEqual([]);
    if (domain !== undefined) await set({ "svc.domain": domain });
    await writeFile(shop.file, shopText.replace(text, edit));
    await until(async () => (await shop.value("timeout")) === seen, "the edit");
    await set(Object.fromEntries(Object.entries(values).map(([field, value]) => [`svc.${field}`, value])));
    const svc = { refresh_day: 2, ...(domain !== undefined && { domain }), ...values };
    expect(await valuesAfterKill(shop.t.homeFolder)).toMatchObject({ svc, revision });
  },
);

/*
 * The file contains an invalid value, the last valid one is active, and that one is set: no active value changes, so there is
 * no revision, but the file has to be written.
 */

test("a write that changes only the file survives a restart, even if the log has released it and the file could not be written", async () => {
  await using home = await temporaryFolder();
  const fileSystem = watchFileSystem();
  const options = { ...noRescans, home: home.path, fileSystem };
  const t = await startTestDaemon(options);
  const file = t.repositoryFile("shop");
  await t.writeRepository("shop", shopText);
  await until(async () => (await t.owner.call("config/list", { repo: "shop" })).errors.length === 0, "the repository");
  await saveByRename(file, shopText.replace("30,", `"soon",`));
  await until(async () => (await healthOf(t, "shop")).length > 0, "the invalid value");
  const { revision } = await t.owner.call("config/list", { repo: "shop" });

  const refuse = ({ operation, path }: { readonly operation: string; readonly path: string }) => {
    if (operation === "rename" && path.endsWith("shop.json")) throw systemError("EACCES");
  };
  fileSystem.before = refuse;
  const { result } = await t.owner.call("config/set", { repo: "shop", flush: true, "svc.timeout": 30 });
  expect(result).toMatchObject([{ revision, mirrored: false, mirrorProblem: "EACCES" }]);
  await t[Symbol.asyncDispose]();
  // Nothing keeps entries in the log for it: a file may stay unwritable for long.
  expect((await readdir(join(home.path, "log"))).filter(name => name.endsWith(".log"))).toHaveLength(1);

  await using again = await startTestDaemon(options);
  const flushed = await again.owner.call("config/set", { repo: "shop", flush: true, "svc.domain": "a.test" });
  expect(flushed.result).toMatchObject([{ mirrored: false }]);
  fileSystem.before = () => {};
  await again.owner.call("config/set", { repo: "shop", flush: true, "svc.domain": "b.test" });
  const text = await again.readRepository("shop");
  expect(text).toContain(`"timeout": 30, // half a minute`);
  expect(text).toContain("b.test");
});

test("a set in a new repository survives a kill if only its history was written, because somebody read it", async () => {
  await using t = await startTestDaemon({ ...noRescans, clock: new TestClock() });
  await t.owner.call("repo/add", { id: "shop", name: "shop" });
  await t.owner.call("config/set", { repo: "shop", "svc.timeout": 31 });
  const before = await t.owner.call("history/list", { repo: "shop" });
  await using killed = await freezeHome(t.homeFolder);
  await using again = await startTestDaemon({ ...noRescans, home: killed.path });
  expect(await timeoutOf(again, "shop")).toBe(31);
  expect((await again.owner.call("history/list", { repo: "shop" })).result).toEqual(before.result);
});

test("sets that the log has stay if the end of a history is cut off after a kill, even if the file has one of them", async () => {
  const fileSystem = watchFileSystem();
  await using shop = await startShop(undefined, { ...noRescans, fileSystem, clock: new TestClock() });
  const { t } = shop;
  for (const timeout of [31, 32]) await shop.set({ "svc.timeout": timeout, flush: true });
  fileSystem.before = call => {
    if (call.operation === "open" && isHistoryOf("shop", call)) throw systemError("EIO");
  };
  await shop.set({ "svc.timeout": 33 });
  await using killed = await freezeHome(t.homeFolder);
  const journal = join(killed.path, "journal/shop.0-0.jsonl");
  const text = await readFile(journal, "utf8");
  await writeFile(journal, text.slice(0, text.lastIndexOf("\n", text.indexOf(`"after":32`)) + 1));
  await using again = await startTestDaemon({ ...noRescans, home: killed.path });
  await again.owner.call("file/read", { repo: "shop" });
  expect(await timeoutOf(again, "shop")).toBe(33);
});

test.each([
  ["a moment after it", 1_500, 0],
  // The end of the write before it falls into this one.
  ["a moment after it, if it was a slow one", 0, 2_000],
])(
  "an edit of the text before the last write, saved %s, keeps what it leaves alone of the set, also if the daemon is killed first",
  async (_when, later, duration) => {
    const clock = new TestClock();
    const fileSystem = watchFileSystem();
    await using shop = await startShop(undefined, { ...noRescans, clock, fileSystem });
    await shop.set({ "svc.timeout": 31, flush: true });
    const known = await shop.read();
    fileSystem.before = async ({ operation, path }) => {
      if (operation !== "sync" || !path.endsWith("/tmp/shop.json")) return;
      fileSystem.before = () => {};
      clock.advance(1_000);
      // Lets what is due run into the lock.
      await delay(20);
      clock.advance(duration);
      await delay(20);
    };
    await shop.set({ "svc.timeout": 32, "svc.domain": "a.test", flush: true });
    clock.advance(later);
    await shop.t.owner.call("file/read", { repo: "shop" });
    await using killed = await freezeHome(shop.t.homeFolder);
    await saveByRename(join(killed.path, "repos/shop.json"), known.replace(`"timeout": 31`, `"timeout": 33`));
    await using again = await startTestDaemon({ ...noRescans, home: killed.path });
    await again.owner.call("file/read", { repo: "shop" });
    const { result } = await again.owner.call("config/list", { repo: "shop" });
    expect(result).toMatchObject({ svc: { timeout: 33, domain: "a.test" } });
  },
);

test.each([
  ["two writes within two seconds of each other", 1_000, 0, 33],
  ["two writes, the first of which began long before it ended", 1_000, 10, 33],
  ["two writes, the first of which was over", 5_000, 0, 31],
])(
  "an edit of the text before %s keeps their sets if it was saved while the daemon was away",
  async (_, wait, age, timeout) => {
    const clock = new TestClock();
    const fileSystem = watchFileSystem();
    await using shop = await startShop(undefined, { ...noRescans, clock, fileSystem });
    await shop.set({ "svc.timeout": 31, "svc.domain": "a.test" });
    clock.advance(5_000);
    await shop.t.owner.call("file/read", { repo: "shop" });
    const known = await shop.read();
    const folder = join(shop.t.homeFolder, "tmp");
    const began = Date.now() / 1_000 - age;
    fileSystem.before = async ({ operation, path }) => {
      if (operation !== "sync" || !path.endsWith("/tmp/shop.json")) return;
      for (const name of await readdir(folder)) await utimes(join(folder, name), began, began);
    };
    await shop.set({ "svc.timeout": 33 });
    fileSystem.before = () => {};
    clock.advance(wait);
    await shop.t.owner.call("file/read", { repo: "shop" });
    await shop.set({ "svc.domain": "b.test" });
    await using killed = await freezeHome(shop.t.homeFolder);
    await saveByRename(join(killed.path, "repos/shop.json"), known.replace(`"refresh_day": 2`, `"refresh_day": 3`));
    await using again = await startTestDaemon({ ...noRescans, home: killed.path });
    await again.owner.call("file/read", { repo: "shop" });
    expect((await again.owner.call("config/list", { repo: "shop", stored: true })).result).toEqual({
      svc: { timeout, domain: "b.test", refresh_day: 3 },
    });
  },
);

test.each([
  ["", false],
  [", which brings back an earlier set that the broken file lacks,", true],
])(
  "a set right after `file/restore`%s survives a kill, and the start invents no edit by hand",
  async (_what, isBroken) => {
    let isArmed = isBroken;
    const fileSystem = watchFileSystem();
    await using shop = await startShop(undefined, { fileSystem });
    fileSystem.before = async ({ operation, path }) => {
      if (!isArmed || operation !== "sync" || !path.endsWith("/tmp/shop.json")) return;
      isArmed = false;
      await writeFile(shop.file, halfAFile);
    };
    await shop.set({ "svc.timeout": 31 });
    if (!isBroken) await writeFile(shop.file, halfAFile);
    await untilHealth(shop.t, "shop", health => health.length > 0);
    expect((await shop.t.owner.call("file/restore", { repo: "shop" })).errors).toEqual([]);
    const { errors } = await shop.t.owner.call("config/set", { repo: "shop", "svc.timeout": 32 });
    expect(errors).toEqual([]);
    const { svc, revision, sources } = await valuesAfterKill(shop.t.homeFolder);
    expect(svc).toEqual({ timeout: 32, refresh_day: 2 });
    expect(revision).toBe(3);
    expect(sources).toEqual(["set", "set", "file"]);
  },
);

test("a set that the file lacks survives a kill if the history has it, but no whole record of the file's text", async () => {
  const fileSystem = watchFileSystem();
  await using shop = await startShop(undefined, { fileSystem });
  await shop.set({ "svc.timeout": 31 });
  fileSystem.before = ({ operation, path }) => {
    if (operation === "rename" && path.includes("shop.json")) throw systemError("EBUSY");
  };
  await shop.t.owner.call("config/set", { repo: "shop", "svc.timeout": 32 });
  await shop.t.owner.call("history/list", { repo: "shop" });
  await using killed = await freezeHome(shop.t.homeFolder);
  fileSystem.before = () => {};
  const path = join(killed.path, "journal/shop.0-0.jsonl");
  const lines = (await readFile(path, "utf8")).split("\n");
  const last = lines.findLastIndex(line => line.includes(`"after":32`));
  const damaged = lines
    .slice(0, last + 1)
    .map((line, index) => (index === last - 1 ? line.replace("text", "t") : line));
  await writeFile(path, `${damaged.join("\n")}\n`);
  await using t = await startTestDaemon({ ...noRescans, home: killed.path });
  expect(await timeoutOf(t, "shop")).toBe(32);
});

const isHistoryOf = (id: string, { path }: FileCall) => path.includes(`/journal/${id}.`);

test("a start discards nothing that a repository not opened yet still needs: a kill during it loses no set", async () => {
  await using home = await temporaryFolder();
  const ids = ["one", "two", "three"];
  const fileSystem = watchFileSystem();
  await using t = await startTestDaemon({ ...noRescans, home: home.path, fileSystem });
  for (const id of ids) await t.addRepository(id);
  for (const id of ids) await t.owner.call("file/read", { repo: id });
  fileSystem.before = call => {
    if (call.operation === "open" && ids.some(id => isHistoryOf(id, call))) throw systemError("EIO");
  };
  for (const repo of ids) await t.owner.call("config/set", { repo, "svc.timeout": 31 });
  await using killed = await freezeHome(home.path);

  const starting = watchFileSystem();
  const gate = Promise.withResolvers<void>();
  // The first time each is only asked how far it goes.
  const asked = new Set<string>();
  starting.before = async call => {
    const id = ["two", "three"].find(one => isHistoryOf(one, call));
    if (call.operation !== "open" || id === undefined) return;
    if (asked.has(id)) await gate.promise;
    asked.add(id);
  };
  // Waits of less than a second take no time, so that the log is trimmed as soon as a file is written.
  const schedule: Clock["schedule"] = (milliseconds, task) =>
    systemClock.schedule(milliseconds < 1_000 ? 0 : milliseconds, task);
  const clock = { ...systemClock, schedule };
  const opening = startTestDaemon({ ...noRescans, home: killed.path, fileSystem: starting, clock });
  const isInFile = async () => (await readFile(join(killed.path, "repos/one.json"), "utf8")).includes("31");
  await until(isInFile, "the file of the first");
  // Time for the log to be trimmed.
  await delay(50);
  await using killedAgain = await freezeHome(killed.path);
  gate.resolve();
  await (await opening)[Symbol.asyncDispose]();

  await using again = await startTestDaemon({ ...noRescans, home: killedAgain.path });
  for (const repo of ids) expect(await timeoutOf(again, repo), repo).toBe(31);
});
