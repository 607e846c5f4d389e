import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import type { Grants } from "../../../shared/grants.ts";
import { startTestDaemon, until } from "../../helpers/daemon.ts";
import { TestClock } from "../../helpers/test-clock.ts";

/** For tests of refusals, which change nothing. */
const shared = await startTestDaemon();
afterAll(() => shared[Symbol.asyncDispose]());

describe("key/create", () => {
  test("returns the key's text once, with 43 random characters after its id; the home stores its SHA-256 and not its text", async () => {
    await using t = await startTestDaemon();
    const grants: Grants = [{ repos: ["one"], fields: ["svc.proxy_*", "svc.timeout"], right: "read" }];
    const { result, errors } = await t.owner.call("key/create", { name: "tool", grants });
    expect(errors).toEqual([]);
    expect(result).toEqual({ rights: [], id: expect.any(String), name: "tool", grants, key: expect.any(String) });
    expect(result.key).toMatch(new RegExp(`^repoconf_${result.id}_[A-Za-z0-9_-]{43}$`));
    const file = join(t.homeFolder, "keys.json");
    const text = await readFile(file, "utf8");
    expect(text).toMatch(/"hash":"[0-9a-f]{64}"/);
    expect(text).not.toContain(result.key.split("_").slice(2).join("_"));
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    const list = await t.owner.call("key/list");
    expect(JSON.stringify(list)).not.toMatch(/hash|repoconf_/);
  });

  test("changes are told by the key's id, which only the owner sees, however often its name was used", async () => {
    await using t = await startTestDaemon({ repositories: ["shop"] });
    const grants: Grants = [{ repos: "*", fields: ["*"], right: "write" }];
    const ids: (string | undefined)[] = [];
    for (const value of [1, 2]) {
      const { result } = await t.owner.call("key/create", { name: "claude", grants });
      const client = await t.connect(result.key);
      await client.call("config/set", { repo: "shop", "svc.timeout": value });
      expect(JSON.stringify(await client.call("history/list", { repo: "shop" }))).not.toContain('"key"');
      expect(JSON.stringify(await client.call("history/search", { query: "" }))).not.toContain(result.id);
      ids.unshift(result.id);
      await t.owner.call("key/revoke", { id: result.id });
    }
    await t.owner.call("config/set", { repo: "shop", "svc.timeout": 3 });
    for (const again of [async () => {}, t.restart]) {
      await again();
      const { result: listed } = await t.owner.call("history/list", { repo: "shop", field: "svc.timeout" });
      const { result: found } = await t.owner.call("history/search", { query: "field:svc.timeout" });
      const expected = [["owner", undefined], ...ids.map(id => ["claude", id])];
      for (const entries of [listed, found]) expect(entries.map(({ actor, key }) => [actor, key])).toEqual(expected);
    }
  });

  test("a name in use gives 1111, and is free again after a revoke, which cannot be repeated, nor made of the owner's key", async () => {
    await using t = await startTestDaemon();
    const create = () => t.owner.call("key/create", { name: "tool", grants: [] });
    const { result } = await create();
    expect(await create()).toMatchObject({ result: null, errors: [{ code: 1111 }] });
    await t.owner.call("key/revoke", { id: result.id });
    for (const id of [result.id, "owner"])
      expect(await t.owner.call("key/revoke", { id })).toMatchObject({ result: null, errors: [{ code: 1112 }] });
    expect((await create()).errors).toEqual([]);
  });

  test("an expiry in another time zone is returned and listed in UTC with milliseconds", async () => {
    await using t = await startTestDaemon();
    const expires = "2999-01-31T12:00:00+02:00";
    const { result } = await t.owner.call("key/create", { name: "tool", grants: [], expires });
    expect(result.expires).toBe("2999-01-31T10:00:00.000Z");
    expect((await t.owner.call("key/list")).result).toMatchObject([{ expires: "2999-01-31T10:00:00.000Z" }]);
    const tool = await t.connect(result.key);
    expect((await tool.call("key/self")).result.expires).toBe("2999-01-31T10:00:00.000Z");
  });
});

describe("key/self, key/list and key/revoke", () => {
  test("key/list pages through all keys but the owner's", async () => {
    await using t = await startTestDaemon();
    const made = ["a", "b", "c"].map(name => t.owner.call("key/create", { name, grants: [] }));
    const ids = (await Promise.all(made)).map(({ result }) => result.id).sort();
    const first = await t.owner.call("key/list", { limit: 2 });
    expect(first.result.map(({ id }) => id)).toEqual(ids.slice(0, 2));
    expect(first.result[0]?.createdAt).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    const rest = await t.owner.call("key/list", { limit: 2, after: first.next });
    expect(rest.result.map(({ id }) => id)).toEqual(ids.slice(2));
    expect(rest).not.toHaveProperty("next");
  });

  test("key/list reports when a client last connected or disconnected with a key, and its open connections, also after a restart", async () => {
    const clock = new TestClock({ timers: "run" });
    await using t = await startTestDaemon({ clock, rescanInterval: 1_000_000 });
    const { result } = await t.owner.call("key/create", { name: "tool", grants: [] });
    const listed = async () => {
      const [{ usedAt, connections } = {}] = (await t.owner.call("key/list")).result;
      return { usedAt, connections };
    };
    const now = () => new Date(clock.now()).toISOString();
    expect(await listed()).toEqual({ usedAt: undefined, connections: 0 });
    clock.advance(60_000);
    const came = now();
    const tool = await t.connect(result.key);
    expect(await listed()).toEqual({ usedAt: came, connections: 1 });
    // Shorter than the interval after which a use is saved immediately.
    clock.advance(60_000);
    expect(await listed()).toEqual({ usedAt: came, connections: 1 });
    tool.socket.close();
    await until(async () => (await listed()).connections === 0, "the end of the connection");
    const left = now();
    expect(await listed()).toEqual({ usedAt: left, connections: 0 });
    clock.advance(60_000);
    await t.restart();
    expect(await listed()).toEqual({ usedAt: left, connections: 0 });
  });

  test.each<[title: string, args: { [name: string]: unknown }, argument: string]>([
    ["a name that is taken", { name: "taken", grants: [] }, "name"],
    ["a reserved name", { name: "owner", grants: [] }, "name"],
    ["a field pattern without a scope", { grants: [{ repos: "*", fields: ["svc*"], right: "read" }] }, "grants"],
    ["a time in the past", { grants: [], expires: "2020-01-31T12:00:00Z" }, "expires"],
  ])("%s is reported with its argument", async (_title, args, argument) => {
    await shared.owner.call("key/create", { name: "taken", grants: [] });
    const { errors } = await shared.owner.call("key/create", { name: "free", ...args });
    expect(errors).toMatchObject([{ details: { argument } }]);
  });
});
