import { randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { Sessions } from "../../../main/daemon/keys/sessions.ts";
import { sign } from "../../../main/home/credentials.ts";
import { keyRights, ownerGrants } from "../../../shared/grants.ts";
import { clientText, type Handshake } from "../../../shared/handshake.ts";
import { connectClient, startTestDaemon, type TestDaemon, until } from "../../helpers/daemon.ts";
import { codeOf, followLink, openSocket, type TestSession } from "../../helpers/open-socket.ts";
import { TestClock } from "../../helpers/test-clock.ts";

const hour = 60 * 60_000;
const refused = { data: { code: 1100 } };

async function newLink(t: TestDaemon): Promise<string> {
  return (await t.owner.call("session/link")).result.url;
}

async function newSession(t: TestDaemon, label = "desktop"): Promise<TestSession> {
  return (await t.owner.call("session/create", { label })).result;
}

const sessionNames = async (t: TestDaemon) => (await t.owner.call("key/list")).result.map(({ name }) => name);

test("session/create returns the id and secret of a session with the owner's rights, which keys.json does not contain", async () => {
  await using t = await startTestDaemon();
  const { result, errors } = await t.owner.call("session/create", { label: "desktop" });
  expect(errors).toEqual([]);
  expect(result).toEqual({
    id: expect.stringMatching(/^[0-9a-f]{12}$/),
    secret: expect.stringMatching(/^[0-9a-f]{64}$/),
  });
  const session = await t.connect(result);
  expect((await session.call("repo/add", { name: "shop", id: "shop" })).errors).toEqual([]);
  expect((await session.call("config/set", { repo: "shop", "svc.timeout": 5 })).errors).toEqual([]);
  expect((await session.call("key/create", { name: "tool", grants: [] })).errors).toEqual([]);
  expect((await session.call("daemon/status")).result.home).toBe(t.homeFolder);
  // Written since then, with the tool's key in it.
  const text = await readFile(join(t.homeFolder, "keys.json"), "utf8");
  expect(text).toContain("tool");
  for (const part of [result.id, result.secret, "session", "owner ("]) expect(text).not.toContain(part);
});

describe("the code of a link", () => {
  test("works only once, even if used several times at once", async () => {
    await using t = await startTestDaemon();
    const link = await newLink(t);
    const tries = await Promise.allSettled([followLink(link), followLink(link), followLink(link)]);
    expect(tries.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected", "rejected"]);
    await expect(followLink(link)).rejects.toMatchObject(refused);
    expect(await sessionNames(t)).toEqual(["owner (browser)"]);
    await t.owner.call("key/revoke", { id: codeOf(link).id });
    await expect(followLink(link)).rejects.toMatchObject(refused);
  });

  test("is not used up by a wrong proof, which is refused", async () => {
    await using t = await startTestDaemon();
    const link = await newLink(t);
    const { id, secret } = codeOf(link);
    for (const wrong of [`${secret.slice(0, -1)}${secret.endsWith("0") ? "1" : "0"}`, "0".repeat(64)])
      await expect(openSocket(t.url, { id, secret: wrong })).rejects.toMatchObject(refused);
    // Nor does it work as a key.
    await expect(openSocket(t.url, `${id}.${secret}`)).rejects.toMatchObject(refused);
    expect(await sessionNames(t)).toEqual([]);
    await followLink(link);
  });

  test("expires after its time, by the clock", async () => {
    const clock = new TestClock({ timers: "run" });
    await using t = await startTestDaemon({ clock });
    const [short, long] = [t.daemon.createLink(60_000), t.daemon.createLink(600_000)];
    clock.advance(59_999);
    const other = t.daemon.createLink(60_000);
    clock.advance(1);
    await expect(followLink(short)).rejects.toMatchObject(refused);
    await followLink(other);
    clock.advance(539_999);
    await followLink(long);
  });
});

describe("the secret of a session that came from a link", () => {
  test("is not the link's, also if the daemon printed it: the link alone, without the random values of both sides, cannot resume the session", async () => {
    await using t = await startTestDaemon();
    for (const link of [await newLink(t), t.daemon.createLink(60_000)]) {
      const session = await followLink(link);
      expect(session.secret).not.toBe(codeOf(link).secret);
      await expect(openSocket(t.url, codeOf(link))).rejects.toMatchObject(refused);
      const { result } = await (await t.connect(session)).call("key/self");
      expect(result).toMatchObject({ id: session.id, name: "owner (browser)", kind: "session" });
    }
  });

  test("depends on that one connection: another one would have derived another secret from the same link", () => {
    const handshakeOf = (engineId: string, nonce: string): Handshake => ({ url: "http://x", engineId, nonce });
    const [nonce, other] = ["1".repeat(64), "2".repeat(64)];
    const sessions = new Sessions({ now: () => 0 });
    // A known code, as if somebody else had seen the link.
    const [keyId = "", secret = ""] = sessions.createCode(60_000).split(".");
    const code = Buffer.from(secret, "hex");
    const handshake = handshakeOf(randomBytes(32).toString("base64url"), nonce);
    sessions.prove({ keyId, nonce, proof: sign(code, clientText(handshake)) }, handshake);
    const next = handshakeOf("next", other);
    const comeBack = (key: Buffer) => () =>
      sessions.prove({ keyId, nonce: other, proof: sign(key, clientText(next)) }, next);
    const text = (known: Handshake) => ["repoconf session 1", known.url, known.engineId, known.nonce].join("\n");
    const derived = (known: Handshake) => Buffer.from(sign(code, text(known)), "hex");
    for (const guessed of [
      { ...handshake, nonce: other },
      { ...handshake, engineId: "guessed" },
    ])
      expect(comeBack(derived(guessed))).toThrow("Unauthorized");
    expect(comeBack(code)).toThrow("Unauthorized");
    expect(comeBack(derived(handshake))()).toBeDefined();
  });
});

describe("a session's life", () => {
  test("it ends with the daemon, like the code of a link", async () => {
    await using t = await startTestDaemon();
    const code = codeOf(await newLink(t));
    const sessions = [await followLink(await newLink(t)), await newSession(t), code];
    await t.restart();
    for (const session of sessions) await expect(openSocket(t.url, session)).rejects.toMatchObject(refused);
    expect(await sessionNames(t)).toEqual([]);
  });

  test("key/self and key/list identify it as a session; the list shows when it was created and used, and never its secret", async () => {
    await using t = await startTestDaemon();
    await t.owner.call("key/create", { name: "tool", grants: [] });
    const session = await newSession(t);
    const window = await t.connect(session);
    const self = {
      ...{ id: session.id, name: "owner (desktop)", grants: ownerGrants, rights: keyRights, kind: "session" },
    };
    expect((await window.call("key/self")).result).toEqual(self);
    const list = await window.call("key/list");
    const [tool, listed] = ["tool", "owner (desktop)"].map(name => list.result.find(entry => entry.name === name));
    const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    expect(listed).toEqual({ ...self, createdAt: time, usedAt: time, connections: 1 });
    expect(tool).not.toHaveProperty("kind");
    expect(tool).not.toHaveProperty("usedAt");
    expect(JSON.stringify(list)).not.toMatch(/hash|secret|repoconf_/);
    expect(JSON.stringify(list)).not.toContain(session.secret);
  });

  test("a session that ends itself gets its reply before its sockets close", async () => {
    await using t = await startTestDaemon();
    const session = await newSession(t);
    const [one, other] = [await t.connect(session), await t.connect(session)];
    expect(await one.call("key/revoke", { id: session.id })).toEqual({ result: {}, errors: [] });
    await until(() => !one.socket.connected && !other.socket.connected, "the end of both sockets");
    await expect(connectClient(t.url, session)).rejects.toMatchObject(refused);
  });

  test("the journal names it owner (browser) to the owner, and owner to others", async () => {
    await using t = await startTestDaemon();
    const session = await t.connect(await followLink(await newLink(t)));
    expect((await session.call("repo/add", { name: "shop", id: "shop" })).errors).toEqual([]);
    const tool = await t.connectWith([{ repos: "*", fields: ["svc.timeout"], right: "read" }]);
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
    const history = async (client = t.owner) =>
      (await client.call("history/list", { repo: "shop" })).result.map(({ actor }) => actor);
    const before = await history();
    expect(before).toEqual([...named.history, "owner (browser)"]);
    expect(await history(tool)).toEqual(["owner", "owner", "owner"]);
    await t.restart();
    expect(await history()).toEqual(before);
  });
});

describe("a session that nobody uses", () => {
  test("ends after 12 hours: it is no longer listed, can do nothing more, and is disconnected", async () => {
    const clock = new TestClock({ timers: "run" });
    await using t = await startTestDaemon({ clock, rescanInterval: 20 });
    const session = await newSession(t);
    const [idle, asking] = [await t.connect(session), await t.connect(session)];
    clock.advance(12 * hour - 1);
    expect((await asking.call("repo/list")).errors).toEqual([]);
    clock.advance(1);
    expect(await sessionNames(t)).toEqual([]);
    // Neither sends another request.
    await until(() => !idle.socket.connected && !asking.socket.connected, "the end of both sockets");
    await expect(connectClient(t.url, session)).rejects.toMatchObject(refused);
  });

  test("lasts 12 hours from each session/touch, and no other request extends it", async () => {
    const clock = new TestClock({ timers: "run" });
    await using t = await startTestDaemon({ clock, rescanInterval: 1_000_000 });
    const session = await newSession(t);
    const window = await t.connect(session);
    // Of a key it does nothing.
    expect(await t.owner.call("session/touch")).toEqual({ result: {}, errors: [] });
    for (let day = 0; day < 3; day++) {
      clock.advance(12 * hour - 1);
      expect(await window.call("session/touch")).toEqual({ result: {}, errors: [] });
    }
    const usedAt = new Date(clock.now()).toISOString();
    expect((await t.owner.call("key/list")).result).toContainEqual(expect.objectContaining({ id: session.id, usedAt }));
    clock.advance(12 * hour - 1);
    expect((await window.call("repo/list")).errors).toEqual([]);
    expect((await (await t.connect(session)).call("key/self")).errors).toEqual([]);
    clock.advance(1);
    expect((await window.call("session/touch")).errors).toMatchObject([{ code: 1100 }]);
    await until(() => !window.socket.connected, "the end of the session");
  });

  test("keeps a daemon that stops when idle running until it ends", async () => {
    const clock = new TestClock();
    let stops = 0;
    await using t = await startTestDaemon({ clock, idleTimeout: hour, onStop: () => void stops++ });
    await newSession(t);
    t.owner.socket.close();
    await until(() => clock.waiting(hour) > clock.waiting(hour - 1), "the daemon to see that nobody is connected");
    clock.advance(12 * hour - 1);
    expect(stops).toBe(0);
    clock.advance(hour + 1);
    expect(stops).toBe(1);
  });
});
