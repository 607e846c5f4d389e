import { readFile, stat, unlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { systemClock } from "../../../main/clock.ts";
import { makeHomeFolder, prepareHome } from "../../../main/daemon/home.ts";
import { Keys } from "../../../main/daemon/keys/keys.ts";
import { SessionCodes } from "../../../main/daemon/keys/session-codes.ts";
import { homeAt } from "../../../main/home.ts";
import { RepoconfError } from "../../../shared/errors.ts";
import { type Grants, ownerGrants } from "../../../shared/grants.ts";
import { connectClient, startTestDaemon, type TestDaemon, until } from "../../helpers/daemon.ts";
import { type RawAnswer, rawRequest } from "../../helpers/raw-http.ts";
import { temporaryFolder } from "../../helpers/temporary-folder.ts";

const shared = await startTestDaemon();
afterAll(() => shared[Symbol.asyncDispose]());

const everything: Grants = [{ repos: "*", fields: ["*"], right: "write" }];
const day = 24 * 60 * 60_000;

async function newCode(t: TestDaemon): Promise<string> {
  return (await t.owner.call("session/link")).result.code;
}

interface Post {
  readonly method?: string;
  /** Undefined: none is sent. */
  readonly origin?: string | undefined;
  readonly body?: string;
}

function postSession(t: TestDaemon, post: Post): Promise<RawAnswer> {
  const { host, origin } = new URL(t.url);
  const { method = "POST", body = "" } = post;
  const wanted = "origin" in post ? post.origin : origin;
  return rawRequest(t.url, "/session", {
    method,
    headers: [`Host: ${host}`, ...(wanted === undefined ? [] : [`Origin: ${wanted}`])],
    body,
  });
}

async function redeem(t: TestDaemon, code: string): Promise<string> {
  const { status, body } = await postSession(t, { body: JSON.stringify({ code }) });
  expect(status).toBe(200);
  return JSON.parse(body).key;
}

describe("session/create and session/link", () => {
  test("session/create answers a key with the owner's rights; keys.json holds its hash and not its text", async () => {
    await using t = await startTestDaemon();
    const { result, errors } = await t.owner.call("session/create", { label: "desktop" });
    expect(errors).toEqual([]);
    expect(result).toEqual({ id: expect.stringMatching(/^[0-9a-f]{12}$/), key: expect.any(String) });
    expect(result.key).toMatch(new RegExp(`^repoconf_${result.id}_[A-Za-z0-9_-]{43}$`));
    const file = join(t.homeFolder, "keys.json");
    expect(await readFile(file, "utf8")).not.toContain(result.key.split("_").slice(2).join("_"));
    expect((await stat(file)).mode & 0o777).toBe(0o600);

    const session = await t.connect(result.key);
    expect((await session.call("repo/add", { name: "shop", id: "shop" })).errors).toEqual([]);
    expect((await session.call("config/set", { repo: "shop", "svc.timeout": 5 })).errors).toEqual([]);
    expect((await session.call("key/create", { name: "tool", grants: [] })).errors).toEqual([]);
    expect((await session.call("daemon/status")).result.home).toBe(t.homeFolder);
  });

  test("session/link answers a link to the daemon's own page with the code behind the #, where it is never sent", async () => {
    const { result } = await shared.owner.call("session/link");
    expect(result.code).toMatch(/^[A-Za-z0-9_-]{43}$/);
    const link = new URL(result.url);
    expect(link.origin).toBe(shared.url);
    expect(link.pathname + link.search).toBe("/");
    expect(link.hash).toBe(`#code=${result.code}`);
  });

  test("a session may make further sessions, as the owner may, and each ends on its own", async () => {
    await using t = await startTestDaemon();
    const first = await t.connect((await t.owner.call("session/create", { label: "desktop" })).result.key);
    const { result } = await first.call("session/create", { label: "browser" });
    const second = await t.connect(result.key);
    const firstId = (await first.call("key/self")).result.id;
    await second.call("key/revoke", { id: firstId });
    await until(() => !first.socket.connected, "the end of the first session");
    expect((await second.call("key/self")).errors).toEqual([]);
  });

  test.each(["session/create", "session/link"] as const)(
    "%s gets 1105 with any other key, whatever its grants, and makes nothing",
    async name => {
      const tool = await shared.connectWith(everything);
      const before = await shared.owner.call("key/list");
      const { result, errors } = await tool.call(name, { label: "browser" });
      expect(result).toBeNull();
      expect(errors).toEqual([{ code: 1105, name: "Permission Denied", message: expect.any(String) }]);
      expect(await shared.owner.call("key/list")).toEqual(before);
    },
  );

  test.each([undefined, "", "Browser", "owner) (", "a".repeat(32), "a\nb", 5])(
    "session/create with the label %j gets 1101",
    async label => {
      const args = label === undefined ? {} : { label };
      expect(await shared.owner.call("session/create", args)).toMatchObject({ result: null, errors: [{ code: 1101 }] });
    },
  );
});

describe("POST /session", () => {
  test("changes a code for a session's key, which connects as owner (browser)", async () => {
    await using t = await startTestDaemon();
    const { status, headers, body } = await postSession(t, { body: JSON.stringify({ code: await newCode(t) }) });
    expect(status).toBe(200);
    expect(headers.get("content-type")).toBe("application/json");
    expect(headers.get("cache-control")).toBe("no-store");
    expect(headers.get("x-content-type-options")).toBe("nosniff");
    expect(headers.get("set-cookie")).toBeUndefined();
    const { key } = JSON.parse(body);
    const session = await t.connect(key);
    expect((await session.call("key/self")).result).toMatchObject({ name: "owner (browser)", kind: "session" });
  });

  test("a code is good once, also when it is sent twice at once", async () => {
    await using t = await startTestDaemon();
    const code = await newCode(t);
    const send = () => postSession(t, { body: JSON.stringify({ code }) });
    const answers = await Promise.all([send(), send(), send()]);
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 401, 401]);
    expect((await send()).body).toContain("repoconf ui");
    expect((await t.owner.call("key/list")).result).toHaveLength(1);
  });

  test("the link that the daemon prints is such a one", async () => {
    await using t = await startTestDaemon();
    const link = new URL(t.daemon.createLink(60_000));
    const key = await redeem(t, new URLSearchParams(link.hash.slice(1)).get("code") ?? "");
    expect((await (await t.connect(key)).call("key/self")).errors).toEqual([]);
  });

  test.each<[title: string, origin: string | undefined]>([
    ["no Origin, as of a program or a form", undefined],
    ["the daemon's other name", "http://localhost:PORT"],
    ["its other address", "http://[::1]:PORT"],
  ])("refuses %s with 403, and the code stays good", async (_title, origin) => {
    const code = await newCode(shared);
    const { port } = new URL(shared.url);
    const body = JSON.stringify({ code });
    expect((await postSession(shared, { origin: origin?.replace("PORT", port), body })).status).toBe(403);
    expect((await postSession(shared, { body })).status).toBe(200);
  });

  test("an origin that the settings let in may connect with a key, and gets no session all the same", async () => {
    await using t = await startTestDaemon();
    const origin = "http://localhost:5173";
    await writeFile(join(t.homeFolder, "settings.json"), JSON.stringify({ origins: [origin] }));
    await t.restart();
    const code = await newCode(t);
    const livez = await rawRequest(t.url, "/livez", { headers: [`Host: ${new URL(t.url).host}`, `Origin: ${origin}`] });
    expect(livez.status).toBe(200);
    const { status, headers } = await postSession(t, { origin, body: JSON.stringify({ code }) });
    expect(status).toBe(403);
    expect(headers.get("access-control-allow-origin")).toBeUndefined();
  });

  test.each(["GET", "HEAD", "PUT", "DELETE", "OPTIONS", "PATCH"])("%s gets 405 and makes no session", async method => {
    const before = await shared.owner.call("key/list");
    const { status, headers } = await postSession(shared, { method });
    expect(status).toBe(405);
    expect(headers.get("allow")).toBe("POST");
    expect(await shared.owner.call("key/list")).toEqual(before);
  });

  test.each<[title: string, body: string, status: number]>([
    ["nothing", "", 400],
    ["half of JSON", '{"code":', 400],
    ["a text", '"code"', 400],
    ["an array", '["code"]', 400],
    ["null", "null", 400],
    ["no code", "{}", 400],
    ["a code that is no text", '{"code":7}', 400],
    ["a code that is none", '{"code":"x"}', 401],
    ["an empty code", '{"code":""}', 401],
    ["the name of something that objects have", '{"code":"__proto__"}', 401],
    ["more than a code", JSON.stringify({ code: "x".repeat(4_200) }), 413],
    ["far more", JSON.stringify({ code: "x".repeat(3_000_000) }), 413],
  ])("%s as body gets its status, and the next code works", async (_title, body, status) => {
    const answer = await postSession(shared, { body });
    expect(answer.status).toBe(status);
    expect(answer.body).toMatch(/\S/);
    await redeem(shared, await newCode(shared));
  });
});

describe("codes", () => {
  test("end with their time, by the clock", () => {
    let now = 1_000_000;
    const codes = new SessionCodes({ now: () => now });
    const [short, long] = [codes.create(60_000), codes.create(600_000)];
    now += 59_999;
    const other = codes.create(60_000);
    now += 1;
    expect(codes.redeem(short)).toBe(false);
    expect(codes.redeem(other)).toBe(true);
    expect(codes.redeem(other)).toBe(false);
    now += 539_999;
    expect(codes.redeem(long)).toBe(true);
  });
});

describe("a session's life", () => {
  test("it survives restarts of the daemon", async () => {
    await using t = await startTestDaemon();
    const key = await redeem(t, await newCode(t));
    await t.restart();
    const session = await t.connect(key);
    expect((await session.call("key/self")).result).toMatchObject({ name: "owner (browser)", kind: "session" });
    expect((await session.call("repo/list")).errors).toEqual([]);
  });

  test("it ends with the owner's key: whoever takes that away means all that had its rights", async () => {
    await using t = await startTestDaemon();
    const [key, old] = [await redeem(t, await newCode(t)), t.ownerKey];
    await unlink(join(t.homeFolder, "owner.key"));
    await t.restart();
    expect(t.ownerKey).not.toBe(old);
    await expect(t.connect(key)).rejects.toMatchObject({ data: { code: 1100 } });
    expect((await t.owner.call("key/list")).result).toEqual([]);
  });

  test("a code does not survive a restart", async () => {
    await using t = await startTestDaemon();
    const code = await newCode(t);
    await t.restart();
    expect((await postSession(t, { body: JSON.stringify({ code }) })).status).toBe(401);
  });

  test("key/self and key/list say that it is a session; the list says when it was used, and never its key", async () => {
    await using t = await startTestDaemon();
    await t.owner.call("key/create", { name: "tool", grants: [] });
    const { result } = await t.owner.call("session/create", { label: "desktop" });
    const session = await t.connect(result.key);
    expect((await session.call("key/self")).result).toEqual({
      id: result.id,
      name: "owner (desktop)",
      grants: ownerGrants,
      kind: "session",
    });
    const list = await session.call("key/list");
    const [tool, window] = ["tool", "owner (desktop)"].map(name => list.result.find(entry => entry.name === name));
    const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    expect(window).toEqual({
      id: result.id,
      name: "owner (desktop)",
      grants: ownerGrants,
      kind: "session",
      createdAt: time,
      usedAt: time,
    });
    expect(tool).not.toHaveProperty("kind");
    expect(tool).not.toHaveProperty("usedAt");
    expect(JSON.stringify(list)).not.toMatch(/hash|repoconf_/);
  });

  test("the owner's other windows hear of a new session and of its end", async () => {
    await using t = await startTestDaemon();
    await t.owner.call("config/watch");
    const heard = () => t.owner.events.filter(([resource]) => resource === "key").length;
    const { result } = await t.owner.call("session/create", { label: "desktop" });
    await until(() => heard() === 1, "the first event");
    await redeem(t, await newCode(t));
    await until(() => heard() === 2, "the second event");
    await t.owner.call("key/revoke", { id: result.id });
    await until(() => heard() === 3, "the third event");
  });

  test("a revoke closes all of its sockets at once, and its key is good for nothing, also after a restart", async () => {
    await using t = await startTestDaemon();
    const { result } = await t.owner.call("session/create", { label: "desktop" });
    const windows = [await t.connect(result.key), await t.connect(result.key)];
    for (const window of windows) await window.call("config/watch");
    expect((await t.owner.call("key/revoke", { id: result.id })).errors).toEqual([]);
    await until(() => windows.every(({ socket }) => !socket.connected), "the end of both sockets");
    const refused = { data: { code: 1100 } };
    await expect(connectClient(t.url, result.key)).rejects.toMatchObject(refused);
    expect((await t.owner.call("key/list")).result).toEqual([]);
    await t.restart();
    await expect(connectClient(t.url, result.key)).rejects.toMatchObject(refused);
  });

  test("requests of a session that are under way when it is revoked get 1100 or their answer, and nothing after it", async () => {
    await using t = await startTestDaemon();
    await t.addRepository("shop");
    const { result } = await t.owner.call("session/create", { label: "desktop" });
    const session = await t.connect(result.key);
    await session.call("config/watch");
    const revoked = t.owner.call("key/revoke", { id: result.id });
    await revoked;
    const before = session.events.length;
    await t.owner.call("config/set", { repo: "shop", "svc.timeout": 1 });
    await until(() => !session.socket.connected, "the end of the session");
    expect(session.events.slice(before).filter(([resource]) => resource === "config")).toEqual([]);
  });

  test("a session that ends itself gets its answer, and then its sockets close", async () => {
    await using t = await startTestDaemon();
    const { result } = await t.owner.call("session/create", { label: "desktop" });
    const [one, other] = [await t.connect(result.key), await t.connect(result.key)];
    expect(await one.call("key/revoke", { id: result.id })).toEqual({ result: {}, errors: [] });
    await until(() => !one.socket.connected && !other.socket.connected, "the end of both sockets");
    await expect(connectClient(t.url, result.key)).rejects.toMatchObject({ data: { code: 1100 } });
  });

  test("the journal names it owner (browser) to the owner, and owner to others", async () => {
    await using t = await startTestDaemon();
    await t.addRepository("shop");
    const tool = await t.connectWith([{ repos: "*", fields: ["svc.timeout"], right: "read" }]);
    const session = await t.connect(await redeem(t, await newCode(t)));
    for (const client of [t.owner, tool, session]) await client.call("config/watch", { repo: "shop" });
    await session.call("config/set", { repo: "shop", "svc.timeout": 5, reason: "why not" });
    await t.owner.call("config/set", { repo: "shop", "svc.timeout": 6 });

    const seen = async (client: typeof tool) => {
      const events = [await client.nextChange(), await client.nextChange()].map(({ actor }) => actor);
      const { result } = await client.call("history/list", { repo: "shop", field: "svc.timeout" });
      const { actor } = (await client.call("config/explain", { repo: "shop", field: "svc.timeout" })).result;
      return { events, history: result.map(entry => entry.actor), explained: actor };
    };
    const named = { events: ["owner (browser)", "owner"], history: ["owner", "owner (browser)"], explained: "owner" };
    expect(await seen(t.owner)).toEqual(named);
    expect(await seen(session)).toEqual(named);
    expect(await seen(tool)).toEqual({ events: ["owner", "owner"], history: ["owner", "owner"], explained: "owner" });
    const history = async () => (await t.owner.call("history/list", { repo: "shop" })).result.map(({ actor }) => actor);
    const before = await history();
    await t.restart();
    expect(await history()).toEqual(before);
  });

  test("neither key nor code is in the log, whatever was asked", async () => {
    await using t = await startTestDaemon();
    const code = await newCode(t);
    await postSession(t, { origin: "http://evil.example", body: JSON.stringify({ code }) });
    const key = await redeem(t, code);
    await postSession(t, { body: JSON.stringify({ code }) });
    const session = await t.connect(key);
    const { result } = await session.call("session/create", { label: "desktop" });
    const later = (await session.call("session/link")).result.code;
    await session.call("key/revoke", { id: result.id });
    await expect(connectClient(t.url, result.key)).rejects.toThrow("Unauthorized");
    const log = t.log.join("\n");
    expect(log).toContain("evil.example");
    for (const secret of [code, later, key.slice(22), result.key.slice(22)]) expect(log).not.toContain(secret);
  });
});

describe("a session that is not used", () => {
  /** Keys on a home of their own, by a clock that stands until it is moved. */
  async function startKeys() {
    const folder = await temporaryFolder();
    const home = homeAt(join(folder.path, "home"));
    await makeHomeFolder(home);
    await prepareHome(home);
    const clock = { now: Date.parse("2027-01-01T00:00:00Z") };
    const open = () => Keys.open(home, { ...systemClock, now: () => clock.now });
    return { clock, open, keys: await open(), [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose]() };
  }

  test("ends after 30 days, and is listed no more", async () => {
    await using t = await startKeys();
    const { key } = await t.keys.createSession("browser");
    const caller = t.keys.authenticate(key);
    t.clock.now += 30 * day + 1;
    expect(t.keys.isValid(caller)).toBe(false);
    expect(() => t.keys.authenticate(key)).toThrow(RepoconfError);
    expect(() => t.keys.assertValid(caller)).toThrow(RepoconfError);
    expect(t.keys.list()).toEqual([]);
    const reopened = await t.open();
    expect(() => reopened.authenticate(key)).toThrow(RepoconfError);
    expect(reopened.list()).toEqual([]);
  });

  test("goes on for 30 days from each use, also across restarts", async () => {
    await using t = await startKeys();
    const { id, key } = await t.keys.createSession("browser");
    for (let month = 0; month < 3; month++) {
      t.clock.now += 29 * day;
      t.keys.assertValid(t.keys.authenticate(key));
    }
    const usedAt = new Date(t.clock.now).toISOString();
    // Written beside what goes on.
    await t.keys.idle();
    expect(t.keys.list()).toContainEqual(expect.objectContaining({ id, usedAt }));
    const reopened = await t.open();
    t.clock.now += 29 * day;
    expect(reopened.authenticate(key).keyId).toBe(id);
    await reopened.idle();
  });

  test("a look at whether it lasts is no use of it", async () => {
    await using t = await startKeys();
    const { key } = await t.keys.createSession("browser");
    const caller = t.keys.authenticate(key);
    t.clock.now += 20 * day;
    expect(t.keys.isValid(caller)).toBe(true);
    t.clock.now += 20 * day;
    expect(t.keys.isValid(caller)).toBe(false);
  });

  test("one whose last use cannot be read in keys.json has ended", async () => {
    await using t = await startTestDaemon();
    const { result } = await t.owner.call("session/create", { label: "browser" });
    const file = join(t.homeFolder, "keys.json");
    const text = await readFile(file, "utf8");
    await writeFile(file, text.replace(/"usedAt":\s*"[^"]*"/, '"usedAt":"some day"'));
    await t.restart();
    await expect(connectClient(t.url, result.key)).rejects.toMatchObject({ data: { code: 1100 } });
  });

  test("a use that is written while the session is revoked does not bring it back", async () => {
    await using t = await startKeys();
    const { id, key } = await t.keys.createSession("browser");
    t.clock.now += day;
    const revoked = t.keys.revoke(id);
    t.keys.authenticate(key);
    await revoked;
    await t.keys.create("tool", [], undefined);
    expect(t.keys.list().map(({ name }) => name)).toEqual(["tool"]);
    expect(() => t.keys.authenticate(key)).toThrow(RepoconfError);
    const reopened = await t.open();
    expect(() => reopened.authenticate(key)).toThrow(RepoconfError);
  });
});
