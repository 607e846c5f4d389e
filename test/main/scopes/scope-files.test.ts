import { mkdir, rm, unlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { ScopeFiles } from "../../../main/scopes/scope-files.ts";
import { startTestDaemon, until } from "../../helpers/daemon.ts";
import { saveByRename, shopText, startShop } from "../../helpers/shop.ts";
import { TestClock } from "../../helpers/test-clock.ts";

test("broken scope files are retried concurrently (forty of them used to delay a start by ten seconds)", async () => {
  const names = Array.from({ length: 8 }, (_, index) => `scopes/broken${index}.schema.json`);
  const clock = new TestClock();
  const starting = startTestDaemon({ files: Object.fromEntries(names.map(name => [name, "{ broken"])), clock });
  for (const pause of [5, 15, 40, 90, 100]) {
    await until(() => clock.waiting(pause) === 8, "the daemon to wait for all files at once");
    clock.advance(pause);
  }
  await using t = await starting;
  expect((await t.owner.call("daemon/status")).result.problems).toHaveLength(8);
});

const schema = (defaultValue: string) =>
  JSON.stringify({ type: "object", properties: { keys: { type: "string", default: defaultValue } } });

test.each(["constructor", "hasOwnProperty"])(
  "a scope file named like an inherited member of every object is reported and not used, and leaves Object.keys alone: %s",
  async name => {
    const { keys } = Object;
    const place = `scopes/${name}.schema.json`;
    await using t = await startTestDaemon({ files: { [place]: schema("at the start") }, repositories: ["shop"] });
    const file = join(t.homeFolder, place);
    const problems = async () =>
      ((await t.owner.call("daemon/status")).result.problems ?? []).filter(problem => problem.startsWith(file));
    const notUsed = async () => {
      expect((await t.owner.call("scope/list")).result.map(scope => scope.scope)).toEqual(["svc"]);
      const grants = [{ repos: ["shop"], fields: [`${name}.keys`], right: "write" }];
      const made = await t.owner.call("key/create", { name: "tool", grants });
      for (const value of ["one", "two"]) {
        const { errors } = await t.owner.call("config/set", { repo: "shop", [`${name}.keys`]: value });
        expect(errors).toHaveLength(1);
      }
      if (made.errors.length === 0) await t.connect(made.result.key);
      expect(Object.keys).toBe(keys);
      expect(Reflect.get(Object.prototype, "keys")).toBeUndefined();
    };
    expect(await problems()).toHaveLength(1);
    await notUsed();
    await rm(file);
    await until(async () => (await problems()).length === 0, "the problem to be over");
    await writeFile(file, schema("while it runs"));
    await until(async () => (await problems()).length === 1, "the file to be reported");
    await notUsed();
  },
);

test.each(["when nothing reads it", "while it is being read"])(
  "a scope file saved by delete and create, with a short gap, never drops the scope: %s",
  async when => {
    const clock = new TestClock();
    await using t = await startTestDaemon({ clock });
    const file = join(t.homeFolder, "scopes/deploy.schema.json");
    const scopeEvents = () => t.owner.events.filter(([resource]) => resource === "scope");
    const untilNextCheck = async (pause: number) => {
      await until(() => clock.waiting(pause) > 0, "the daemon to wait before its next check");
      clock.advance(pause);
    };
    const set = async (value: string) => {
      expect((await t.owner.call("config/set", { repo: "shop", "deploy.keys": value })).errors).toEqual([]);
    };
    await t.addRepository("shop");
    await t.owner.call("config/watch");
    await saveByRename(file, schema("eu"));
    await until(() => scopeEvents().length === 1, "the scope to be applied");
    if (when === "while it is being read") {
      // The daemon waits for the rest of an incomplete file, which is then deleted.
      await writeFile(file, schema("eu").slice(0, 20));
      await until(() => clock.waiting(20) > 0, "the incomplete file to be read");
    }
    await rm(file);
    await untilNextCheck(20);
    await until(() => clock.waiting(80) > 0, "the daemon to find the file missing once more");
    await set("during the save");
    // The next event of the scope is the actual change.
    await saveByRename(file, schema("us"));
    await untilNextCheck(80);
    await until(() => scopeEvents().length > 1, "the change to be published");
    expect((await t.owner.call("config/list", { repo: "shop" })).result["deploy"]?.["keys"]).toBe("during the save");
    expect(scopeEvents()).toHaveLength(2);
  },
);

const numbers = JSON.stringify({ type: "object", properties: { replicas: { type: "integer", default: 1 } } });

test("sets made while a scope's schema is removed and restored do not record changes of its values: past revisions keep them", async () => {
  await using shop = await startShop(shopText.replace('"svc": {', '"deploy": { "replicas": 3 },\n    "svc": {'));
  const file = join(shop.t.homeFolder, "scopes/deploy.schema.json");
  await mkdir(join(shop.t.homeFolder, "scopes"), { recursive: true });
  let timeout = 100;
  const refused: unknown[] = [];
  const setSome = async () => {
    for (let sets = 0; sets < 3; sets++) refused.push(...(await shop.set({ "svc.timeout": ++timeout })).errors);
  };
  await writeFile(file, numbers);
  const replicas = async () =>
    (await shop.t.owner.call("config/list", { repo: "shop", stored: true })).result["deploy"]?.["replicas"];
  await until(async () => (await replicas()) === 3, "the scope's value");
  const first = (await shop.revision()) ?? 0;

  // When this is called, the new rules apply, but no repository has been checked against them yet.
  let changes = 0;
  const writing = vi.spyOn(ScopeFiles.prototype, "writeRepositorySchema").mockImplementation(async () => {
    await setSome();
    changes++;
  });
  await using _ = { [Symbol.asyncDispose]: async () => writing.mockRestore() };
  for (let round = 1; round <= 3; round++) {
    await unlink(file);
    await until(() => changes === 2 * round - 1, "the scope to go");
    await setSome();
    await writeFile(file, numbers);
    await until(() => changes === 2 * round, "the scope to come back");
    await setSome();
  }
  await until(async () => (await replicas()) === 3, "the scope's value to be back");
  expect(refused).toEqual([]);

  const last = (await shop.revision()) ?? 0;
  const past: unknown[] = [];
  for (let revision = first; revision <= last; revision++) {
    const { result } = await shop.t.owner.call("config/list", { repo: "shop", revision, stored: true });
    past.push(result["deploy"]?.["replicas"]);
  }
  expect(past).toEqual(Array.from({ length: 1 + 3 * 4 * 3 }, () => 3));
  const { result: history } = await shop.t.owner.call("history/list", { repo: "shop", limit: 1_000 });
  const since = history.filter(({ revision }) => revision > first);
  expect(since.filter(({ source, changes }) => source !== "set" || Object.keys(changes).join() !== "svc")).toEqual([]);
});

test("a scope added while no daemon was running activates its values in a new revision", async () => {
  await using shop = await startShop(shopText.replace('"svc": {', '"deploy": { "replicas": 3 },\n    "svc": {'));
  await shop.set({ "svc.timeout": 50 });
  const before = await shop.revision();
  shop.t.owner.socket.close();
  await shop.t.daemon.close();
  await mkdir(join(shop.t.homeFolder, "scopes"), { recursive: true });
  await writeFile(join(shop.t.homeFolder, "scopes/deploy.schema.json"), numbers);
  await using t = await startTestDaemon({ home: shop.t.homeFolder });
  const { result, revision } = await t.owner.call("config/list", { repo: "shop", scope: "deploy", stored: true });
  expect(result).toEqual({ deploy: { replicas: 3 } });
  expect(revision).toBe((before ?? 0) + 1);
});
