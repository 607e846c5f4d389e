import { writeFileSync } from "node:fs";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { startTestDaemon, until } from "../helpers/daemon.ts";
import { systemError, watchFileSystem } from "../helpers/file-system.ts";
import { connect } from "../helpers/patient-client.ts";
import { shopText, startShop } from "../helpers/shop.ts";

/* Bugs found by an independent review of the journal. */

test("an edit saved while a rename was blocked is not overwritten by the retry", async () => {
  const fileSystem = watchFileSystem();
  await using shop = await startShop(undefined, { fileSystem });
  let blocked = false;
  fileSystem.before = ({ operation, path }) => {
    if (operation !== "rename" || !path.includes("/tmp/shop.json") || blocked) return;
    blocked = true;
    writeFileSync(shop.file, shopText.replace('"refresh_day": 2', '"refresh_day": 5'));
    throw systemError("EPERM");
  };
  expect((await shop.set({ "svc.timeout": 50 })).errors).toEqual([]);
  expect([await shop.value("refresh_day"), await shop.value("timeout")]).toEqual([5, 50]);
});

test("a scope added while no daemon was running activates its values in a new revision", async () => {
  await using shop = await startShop(shopText.replace('"svc": {', '"deploy": { "replicas": 3 },\n    "svc": {'));
  await shop.set({ "svc.timeout": 50 });
  const before = await shop.revision();
  shop.t.owner.socket.close();
  await shop.t.daemon.close();
  await mkdir(join(shop.t.homeFolder, "scopes"), { recursive: true });
  const schema = { type: "object", properties: { replicas: { type: "integer", default: 1 } } };
  await writeFile(join(shop.t.homeFolder, "scopes/deploy.schema.json"), JSON.stringify(schema));
  await using t = await startTestDaemon({ home: shop.t.homeFolder });
  const { result, revision } = await t.owner.call("config/list", { repo: "shop", scope: "deploy", stored: true });
  expect(result).toEqual({ deploy: { replicas: 3 } });
  expect(revision).toBe((before ?? 0) + 1);
});

test("values of an unfinished atomic set appear in no past revision and cannot be restored", async () => {
  const fileSystem = watchFileSystem();
  await using t = await startTestDaemon({ fileSystem });
  for (const id of ["aa", "bb"]) await t.addRepository(id);
  await t.owner.call("config/set", { repo: "aa", "svc.timeout": 10 });
  await t.owner.call("config/set", { repo: "aa", "svc.refresh_day": 3 });
  const gate = Promise.withResolvers<void>();
  let stopped = false;
  fileSystem.before = async ({ operation, path }) => {
    if (operation !== "datasync" || !path.includes("/log/") || stopped) return;
    stopped = true;
    await gate.promise;
    throw systemError("ENOSPC");
  };
  const setting = t.owner.call("config/set", { repo: ["aa", "bb"], "svc.timeout": 99, atomic: true });
  await until(() => stopped, "the sync of the log");
  const past = await t.owner.call("config/list", { repo: "aa", revision: 2, stored: true });
  const restoring = t.owner.call("history/restore", { repo: "aa", to: 2 });
  gate.resolve();
  expect((await setting).errors).toMatchObject([{ code: 1108 }]);
  await restoring;
  expect(past.result).toEqual({ svc: { timeout: 10 } });
  const now = await t.owner.call("config/list", { repo: "aa", field: "svc.timeout" });
  expect(now.result).toEqual({ svc: { timeout: 10 } });
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
    const isThere = await readFile(path).then(
      () => true,
      () => false,
    );
    if (isThere) return;
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

test("a second watch of the same repository does not interrupt the first one's catch-up", async () => {
  await using t = await startTestDaemon();
  const repo = await t.addRepository("shop");
  const image = (count: number) => `${count}`.padEnd(200_000, "x");
  for (let count = 0; count < 40; count += 1)
    await t.owner.call("config/set", { repo, "svc.services": { big: { ready: "", image: image(count) } } });
  using client = await connect({ home: t.homeFolder });
  const seen: number[] = [];
  const first = (async () => {
    for await (const { revision } of client.watch({ repo, since: 1 })) {
      seen.push(revision);
      if (revision === 42) return;
    }
  })();
  await until(() => seen.length > 2, "the first changes");
  const stop = new AbortController();
  const second = (async () => {
    for await (const _change of client.watch({ repo, signal: stop.signal }));
  })();
  await client.run("daemon/status", {});
  await t.owner.call("config/set", { repo, "svc.timeout": 5 });
  await first;
  stop.abort();
  await second;
  expect(seen).toEqual(Array.from({ length: 41 }, (_, index) => index + 2));
});
