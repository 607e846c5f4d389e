import { readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { until } from "../../helpers/daemon.ts";
import { type FileCall, watchFileSystem } from "../../helpers/file-system.ts";
import { collectGarbage } from "../../helpers/kept-memory.ts";
import { addLoadScope } from "../../helpers/load-scope.ts";
import { saveByRename, shopText, startShop } from "../../helpers/shop.ts";
import { TestClock } from "../../helpers/test-clock.ts";

function count(calls: readonly FileCall[], operation: FileCall["operation"]): number {
  return calls.filter(call => call.operation === operation).length;
}

const isOfLog = ({ path }: FileCall) => path.includes("/log/");

test("64 sets queued on one repository during a write share the next write, and each gets its own revision", async () => {
  const fileSystem = watchFileSystem();
  await using shop = await startShop(undefined, { fileSystem });
  fileSystem.calls.splice(0);
  const hours = Array.from({ length: 64 }, (_, index) => index % 24);
  const gate = Promise.withResolvers<void>();
  fileSystem.before = call => (call.operation === "datasync" && isOfLog(call) ? gate.promise : undefined);
  const ofLog = (operation: FileCall["operation"]) => count(fileSystem.calls.filter(isOfLog), operation);
  const set = (fields: object) => shop.t.owner.call("config/set", { repo: "shop", ...fields });
  const first = set({ "svc.timeout": 1 });
  await until(() => ofLog("datasync") === 1, "the first write");
  const waiting = hours.map((hour, index) => set({ "svc.refresh_hour": hour, "svc.timeout": 100 + index }));
  // Messages of one socket are processed in order: once this one is answered, all sets are queued.
  await shop.t.owner.call("config/list", { repo: "shop" });
  gate.resolve();
  await first;
  const replies = await Promise.all(waiting);
  expect(replies.flatMap(({ errors }) => errors)).toEqual([]);
  expect([ofLog("write"), ofLog("datasync")]).toEqual([2, 2]);
  expect(replies.map(({ result }) => result[0]?.revision)).toEqual(hours.map((_, index) => 3 + index));
  await until(() => shop.sources().length === 65, "an event for each set");
  expect(await shop.value("timeout")).toBe(163);
  expect(await shop.read()).toContain(`"timeout": 163`);
  // The file is written separately: once for the first set, and once for all others.
  expect(count(fileSystem.calls, "rename")).toBeLessThanOrEqual(2);
});

test("a set makes no more calls to the file system than it needs", async () => {
  const fileSystem = watchFileSystem();
  await using shop = await startShop(undefined, { fileSystem });
  await shop.read();
  fileSystem.calls.splice(0);
  await shop.t.owner.call("config/set", { repo: "shop", "svc.timeout": 31 });
  const isFolderClose = ({ operation, path }: FileCall) => operation === "close" && path === dirname(shop.file);
  await until(() => fileSystem.calls.some(isFolderClose), "the last call");
  // After that, the watcher's hint makes the daemon check the file.
  const isLeftOver = ({ operation, path }: FileCall, index: number, calls: readonly FileCall[]) =>
    operation === "close" && !calls.slice(0, index).some(call => call.operation === "open" && call.path === path);
  const calls = fileSystem.calls.slice(0, fileSystem.calls.findIndex(isFolderClose) + 1);
  // Closing a file that was opened before the set is not one of the set's own calls.
  const own = calls.filter(call => !calls.filter(isLeftOver).includes(call));
  const operations = (calls: readonly FileCall[]) => calls.map(({ operation }) => operation);
  expect(operations(own.filter(isOfLog))).toEqual(["write", "datasync"]);
  const ofJournal = own.filter(({ path }) => path.endsWith(".jsonl"));
  expect(operations(ofJournal)).toEqual(["open", "write", "datasync", "close"]);
  // Writing the new text, replacing the file after a last check of the old one, and syncing the folder.
  expect(operations(own.filter(call => !ofJournal.includes(call) && !isOfLog(call)))).toEqual([
    ...["open", "writeFile", "sync", "close"],
    ...["rename", "readNow"],
    ...["open", "sync", "close"],
  ]);
});

test("a repository's file is reread once its sets pause, not after each set", async () => {
  const fileSystem = watchFileSystem();
  const clock = new TestClock();
  await using shop = await startShop(undefined, { fileSystem, clock });
  fileSystem.calls.splice(0);
  for (let timeout = 1; timeout <= 60; timeout++) await shop.set({ "svc.timeout": timeout });
  const reads = () =>
    fileSystem.calls.filter(({ operation, path }) => operation === "read" && path === shop.file).length;
  // The first set's hint may come while the set is still being written.
  const early = reads();
  expect(early).toBeLessThanOrEqual(1);
  // All others become a single read, 30 ms after the last write.
  await until(() => clock.waiting(30) === 1, "the scheduled read");
  clock.advance(30);
  await until(() => reads() === early + 1, "the file to be read");
  expect(clock.waiting(30)).toBe(0);
  // An edit by somebody else is still noticed.
  // Saved atomically: the daemon would wait for the rest of half a file, and the clock stands still.
  await saveByRename(shop.file, shopText.replace("30", "77"));
  await until(async () => (await shop.value("timeout")) === 77, "the edit");
});

test("sets among 2,000 fields whose history is not written yet keep only their changes in memory, not all values", async () => {
  const clock = new TestClock();
  await using shop = await startShop(undefined, { clock });
  const fields = Array.from({ length: 2_000 }, (_, index) => `field_${index}`);
  await addLoadScope(shop.t.homeFolder, fields);
  const config = { load: Object.fromEntries(fields.map(name => [name, name])) };
  // The daemon would wait for the rest of half a file, and the clock stands still.
  await saveByRename(shop.file, JSON.stringify({ name: "shop", config }));
  const set = async (text: string) => {
    const { errors } = await shop.t.owner.call("config/set", { repo: "shop", "load.field_0": text });
    expect(errors).toEqual([]);
  };
  await shop.t.restart();
  // The clock stands still, so the history is not written again after the first time.
  for (let warm = 0; warm < 20; warm++) await set(`warm ${warm}`);
  const before = keptBytes();
  const sets = 100;
  for (let index = 0; index < sets; index++) await set(`waiting ${index}`);
  expect((keptBytes() - before) / sets).toBeLessThan(16 * 1024);
});

/** Bytes of JavaScript values that are still referenced. */
function keptBytes(): number {
  collectGarbage();
  return process.memoryUsage().heapUsed;
}

test("a batch that ends with a commit without a revision keeps the position of its last revision", async () => {
  const fileSystem = watchFileSystem();
  await using shop = await startShop(shopText.replace("30", `30, "refresh_hour": "bad"`), { fileSystem });
  const gate = Promise.withResolvers<void>();
  fileSystem.before = call => (call.operation === "datasync" && isOfLog(call) ? gate.promise : undefined);
  const first = shop.set({ "svc.timeout": 1 });
  const batch = [
    shop.set({ "svc.timeout": 2 }),
    shop.t.owner.call("config/unset", { repo: "shop", fields: ["svc.refresh_hour"] }),
  ];
  await shop.t.owner.call("config/list", { repo: "shop" });
  gate.resolve();
  await Promise.all([first, ...batch]);
  await shop.t.daemon.close();
  const { shop: entry } = JSON.parse(await readFile(join(shop.t.homeFolder, "index.json"), "utf8")).repositories;
  expect(entry).toMatchObject({ revision: 3, position: expect.stringMatching(/^[0-9a-f]+\.\d+$/) });
});
