import { readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { Keys } from "../../../main/daemon/keys/keys.ts";
import { AuditLog } from "../../../main/daemon/observe/audit-log.ts";
import { RotatingLog } from "../../../main/files/rotating-log.ts";
import { connectClient, startTestDaemon, type TestDaemon, until } from "../../helpers/daemon.ts";
import { post, socketOf } from "../../helpers/one-shot.ts";
import { rawRequest } from "../../helpers/raw-http.ts";
import { temporaryFolder } from "../../helpers/temporary-folder.ts";
import { TestClock } from "../../helpers/test-clock.ts";

interface Line {
  readonly time: string;
  readonly event: string;
  readonly key?: string;
  readonly count?: number;
  readonly of?: { readonly [what: string]: number };
}

const textOf = (folder: string) => readFile(join(folder, "audit.log"), "utf8");

async function linesOf(folder: string): Promise<Line[]> {
  return (await textOf(folder)).split("\n").flatMap(line => (line === "" ? [] : JSON.parse(line)));
}

/** The lines of requests of this kind, once they count this many. */
async function refusedOf(t: TestDaemon, event: string, expected: number): Promise<Line[]> {
  const refused = async () => (await linesOf(t.homeFolder)).filter(line => line.event === event);
  const count = async () => (await refused()).reduce((sum, line) => sum + (line.count ?? 0), 0);
  await until(async () => (await count()) === expected, event);
  return refused();
}

async function eventsOf(t: TestDaemon): Promise<string[]> {
  return (await linesOf(t.homeFolder)).map(({ event, key }) => `${event} ${key}`);
}

const reader = [{ repos: ["shop"], fields: ["svc.timeout"], right: "read" as const }];

test("a key is audited when created, first used and revoked; the first use is audited once across restarts", async () => {
  await using t = await startTestDaemon();
  expect(await eventsOf(t)).toEqual(["keyMade owner", "keyFirstUsed owner"]);
  const { result } = await t.owner.call("key/create", { name: "tool", grants: reader });
  await t.connect(result.key);
  await t.connect(result.key);
  await t.restart();
  await t.connect(result.key);
  const session = (await t.owner.call("session/create", { label: "browser" })).result;
  await t.connect(session);
  await t.connect(session);
  for (const { id } of [result, session]) await t.owner.call("key/revoke", { id });
  expect(await eventsOf(t)).toEqual([
    ...["owner", result.id, session.id].flatMap(id => [`keyMade ${id}`, `keyFirstUsed ${id}`]),
    ...[result.id, session.id].map(id => `keyRevoked ${id}`),
  ]);
  expect((await stat(join(t.homeFolder, "audit.log"))).mode & 0o777).toBe(0o600);
});

test("each request of an audited key is in the file, also by a one-shot request and after a restart; of other keys none is", async () => {
  await using t = await startTestDaemon({ repositories: ["shop"], clock: new TestClock({ timers: "run" }) });
  const make = async (name: string, audited: boolean) =>
    (await t.owner.call("key/create", { name, grants: reader, audited })).result;
  const [agent, tool] = [await make("agent", true), await make("tool", false)];
  const { key: _, ...entry } = agent;
  expect(entry).toMatchObject({ audited: true });
  const listed = (await t.owner.call("key/list")).result;
  expect(listed).toEqual(expect.arrayContaining([expect.objectContaining(entry)]));
  expect(listed.filter(({ audited }) => audited)).toHaveLength(1);
  const work = async () => {
    for (const { key } of [agent, tool]) {
      const client = await t.connect(key);
      await client.call("config/list", { repo: "shop" });
      // Refused, and with arguments of the wrong form: asked all the same.
      await client.call("key/list");
      await client.call("config/set", { repo: 7 });
      await client.emit("svc", "secret", "text", {});
    }
  };
  await work();
  await t.restart();
  await work();
  await post(await socketOf(t.homeFolder), agent.key, "key/self");
  const asked = await refusedOf(t, "operationsAsked", 7);
  expect(new Set(asked.map(({ key }) => key))).toEqual(new Set([agent.id]));
  const counts: { [operation: string]: number } = {};
  for (const { of = {} } of asked)
    for (const [operation, count] of Object.entries(of)) counts[operation] = (counts[operation] ?? 0) + count;
  expect(counts).toEqual({ "config/list": 2, "key/list": 2, "config/set": 2, "key/self": 1 });
  expect(await textOf(t.homeFolder)).not.toContain("secret");
});

test("a new owner's key revokes the previous one and its sessions", async () => {
  await using t = await startTestDaemon({ rescanInterval: 50 });
  const session = (await t.owner.call("session/create", { label: "browser" })).result;
  await rm(join(t.homeFolder, "owner.key"));
  await until(async () => (await eventsOf(t)).length === 6, "the new key");
  expect((await eventsOf(t)).slice(2)).toEqual([
    `keyMade ${session.id}`,
    "keyRevoked owner",
    `keyRevoked ${session.id}`,
    "keyMade owner",
  ]);
});

test("a denied operation is recorded with the key's id, the operation, or that it is unknown, and the code, but no key, value or name", async () => {
  await using t = await startTestDaemon({ clock: new TestClock({ timers: "run" }) });
  await t.addRepository("shop");
  await t.addRepository("payroll");
  const { result } = await t.owner.call("key/create", { name: "secret name", grants: reader });
  const tool = await t.connect(result.key);
  await tool.call("key/list");
  await tool.call("config/list", { repo: "payroll" });
  await tool.call("config/list", { repo: "shop", field: "svc.domain" });
  await tool.call("config/set", { repo: "shop", "svc.timeout": 1, "svc.domain": "secret value" });
  await tool.emit("svc", "secret value", result.key, {});
  // The owner's mistakes, allowed operations and malformed requests are not recorded.
  await t.owner.call("config/list", { repo: "nowhere" });
  await tool.call("config/list", { repo: "shop" });
  await tool.call("config/list", { repo: 5 });
  const all = await refusedOf(t, "operationsRefused", 4);
  expect(all[0]).toEqual({
    time: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
    event: "operationsRefused",
    key: result.id,
    count: 1,
    of: { "key/list 1105": 1 },
  });
  const kinds = Object.keys(Object.assign({}, ...all.map(({ of }) => of)));
  expect(kinds.sort()).toEqual(["config/list 1011", "config/list 1102", "config/set 1007", "key/list 1105"]);
  // A key that has just ended is refused before the name is checked.
  vi.spyOn(Keys.prototype, "isValid").mockReturnValue(false);
  await tool.emit("svc", "secret", "value", {});
  await until(async () => (await textOf(t.homeFolder)).includes("unknown 1100"), "the refusal");
  const text = await textOf(t.homeFolder);
  for (const secret of [result.key, result.key.slice(22), t.ownerKey, "secret", "payroll"])
    expect(text).not.toContain(secret);
});

test("refused connections are recorded with the reason, and with the key's id only if such a key exists", async () => {
  await using t = await startTestDaemon({ clock: new TestClock({ timers: "run" }) });
  const { result } = await t.owner.call("key/create", { name: "tool", grants: reader });
  const wrong = `repoconf_${result.id}_${"x".repeat(43)}`;
  const unknown = `repoconf_0123456789ab_${"x".repeat(43)}`;
  for (const key of [wrong, unknown, "no key", undefined])
    await expect(connectClient(t.url, key)).rejects.toThrow("Unauthorized");
  await rawRequest(t.url, "/livez", { headers: ["Host: evil.test"] });
  await rawRequest(t.url, "/livez", { headers: [`Host: ${new URL(t.url).host}`, "Origin: http://evil.test"] });
  const all = await refusedOf(t, "connectionsRefused", 6);
  expect(all).toContainEqual(expect.objectContaining({ key: result.id, of: { key: 1 } }));
  expect(new Set(all.map(({ key }) => key))).toEqual(new Set([result.id, undefined]));
  const text = await textOf(t.homeFolder);
  for (const secret of [wrong, "xxxx", "0123456789ab", "evil.test"]) expect(text).not.toContain(secret);
});

test("a client that is refused repeatedly gets one line per second, and closing writes what was counted so far", async () => {
  await using folder = await temporaryFolder();
  const clock = new TestClock();
  const audit = new AuditLog(new RotatingLog(join(folder.path, "audit.log"), 20_000), clock);
  const caller = { keyId: "b7e93f891ffa" } as Parameters<AuditLog["operationRefused"]>[0];
  for (let second = 0; second < 3; second += 1) {
    for (let time = 0; time < 1_000; time += 1) audit.operationRefused(caller, "key/list", 1105);
    clock.advance(1_000);
  }
  expect((await linesOf(folder.path)).map(({ count }) => count)).toEqual([1, 999, 1_000, 1_000]);
  // A quiet period leaves no timer running, and the next refusal is recorded immediately.
  clock.advance(10_000);
  expect(clock.waiting()).toBe(0);
  audit.operationRefused(caller, "key/list", 1105);
  expect((await linesOf(folder.path)).map(({ count }) => count)).toEqual([1, 999, 1_000, 1_000, 1]);
  audit.connectionRefused("key");
  audit.connectionRefused("limit");
  audit.close();
  expect((await linesOf(folder.path)).at(-1)?.of).toEqual({ limit: 1 });
});

test.skipIf(process.platform === "win32")(
  "a link in its place is not followed; this is logged and affects nothing else",
  async () => {
    await using home = await temporaryFolder();
    await using other = await temporaryFolder();
    const target = join(other.path, "target");
    await writeFile(target, "mine\n");
    await symlink(target, join(home.path, "audit.log"));
    await using t = await startTestDaemon({ home: home.path });
    expect((await t.owner.call("key/self")).errors).toEqual([]);
    expect(await readFile(target, "utf8")).toBe("mine\n");
    expect(t.log.join("")).toContain("cannot write audit.log");
  },
);
