import { readFile } from "node:fs/promises";
import { Agent } from "node:http";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startTestDaemon, type TestDaemon, until } from "../../helpers/daemon.ts";
import { holdCalls, isReplaced, watchFileSystem } from "../../helpers/file-system.ts";
import { headOf, openRaw, post, requestOf, socketOf } from "../../helpers/one-shot.ts";
import { TestClock } from "../../helpers/test-clock.ts";

const everything = [{ repos: "*", fields: ["*"], right: "write" }] as const;

const onUnix = process.platform !== "win32";

describe.runIf(onUnix)("a one-shot request (docs/protocol.md, one-shot requests)", () => {
  let t: TestDaemon;
  let path: string;
  const ask = (name: string, args?: unknown) => post(path, t.ownerKey, name, args);
  beforeAll(async () => {
    t = await startTestDaemon({ repositories: ["shop"] });
    path = await socketOf(t.homeFolder);
  });
  afterAll(() => t[Symbol.asyncDispose]());

  test("is answered with the reply of the message, and 200 if the operation ran, whatever it refused", async () => {
    expect(await ask("config/set", { repo: "shop", "svc.timeout": 30, "svc.domain": 7 })).toMatchObject({
      status: 200,
      reply: { result: [{ repo: "shop", revision: 2 }], errors: [{ code: 1103, field: "svc.domain" }] },
    });
    const args = { repo: "shop", field: "svc.timeout" };
    const reply = await t.owner.call("config/list", args);
    expect(reply).toEqual({ result: { svc: { timeout: 30 } }, revision: 2, errors: [] });
    expect(await ask("config/list", args)).toEqual({ status: 200, reply });
    // A whole list is prepared once, for both.
    const whole = await t.owner.call("config/list", { repo: "shop" });
    expect(await ask("config/list", { repo: "shop" })).toEqual({ status: 200, reply: whole });
  });

  test.each<[status: number, code: number, name: string, args?: unknown]>([
    [400, 1006, "config/list"],
    [400, 1101, "config/list", { repo: 7 }],
    [400, 1101, "config/list", []],
    [403, 1105, "repo/add", { name: "planted" }],
    [404, 1102, "config/list", { repo: "nowhere" }],
    [404, 1109, "config/lsit"],
    [404, 1109, "config/list/more"],
    [404, 1109, "config"],
    [404, 1109, ""],
    [404, 1109, "config/watch", { repo: "shop" }],
    [404, 1109, "config/unwatch"],
    [404, 1112, "config/list", { repo: "shop", revision: 99 }],
    [413, 1107, "config/list", { padding: "x".repeat(1_000_000) }],
  ])("has the status %d if the operation did not run because of %d: %s", async (status, code, name, args) => {
    const tool = (await t.owner.call("key/create", { name: `${status} ${name}`, grants: everything })).result;
    const answer = await post(path, code === 1105 ? tool.key : t.ownerKey, name, args);
    expect([answer.status, answer.reply.errors.map(error => error.code)]).toEqual([status, [code]]);
    expect(answer.reply.result).toEqual(name === "config/list" ? {} : null);
  });

  test("has the arguments {} if the body is empty, and numbers that would be rounded are refused", async () => {
    expect((await ask("key/self", null)).status).toBe(200);
    for (const [body, code] of [
      ["", 1006],
      ["9007199254740993", 1101],
      [`{"repo":"shop","svc.timeout":1e400}`, 1101],
    ]) {
      using raw = await openRaw(path);
      raw.socket.write(`${headOf(t.ownerKey, "config/list", `Content-Length: ${String(body).length}`)}\r\n\r\n${body}`);
      await raw.has(`"code":${code}`);
    }
  });

  test("follows others on its connection, also before they are answered, and in parts", async () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    for (const name of ["key/self", "config/lsit", "key/self"])
      expect((await post(path, t.ownerKey, name, {}, agent)).status).toBe(name === "key/self" ? 200 : 404);
    agent.destroy();
    using raw = await openRaw(path);
    const [list, status] = [requestOf(t.ownerKey, "repo/list"), requestOf(t.ownerKey, "daemon/status")];
    raw.socket.write(list + status + requestOf(t.ownerKey, "key/self"));
    await raw.has(/"id":"shop"[\s\S]*"pid"[\s\S]*"name":"owner"/);
    raw.socket.write(`${headOf(t.ownerKey, "config/list", "Transfer-Encoding: chunked")}\r\n\r\n9\r\n{"repo":"\r\n`);
    raw.socket.write(`6\r\nshop"}\r\n0\r\n\r\n`);
    await raw.has(`"timeout"`);
  });

  test("has its body asked for only once its key was checked, if its client waits for that", async () => {
    for (const [key, first] of [
      [t.ownerKey, "HTTP/1.1 100 Continue"],
      ["wrong", "HTTP/1.1 401 Unauthorized"],
    ] as const) {
      using raw = await openRaw(path);
      raw.socket.write(`${headOf(key, "key/self", "Content-Length: 2", "Expect: 100-continue")}\r\n\r\n`);
      await raw.has("\r\n\r\n");
      expect(raw.received.split("\r\n")[0]).toBe(first);
      if (key === "wrong") continue;
      raw.socket.write("{}");
      await raw.has(`"name":"owner"`);
    }
  });

  test("is counted, audited and noted as a use of its key", async () => {
    const { key, id } = (await t.owner.call("key/create", { name: "noted", grants: [] })).result;
    expect((await post(path, key, "config/list", { repo: "shop" })).status).toBe(404);
    expect((await post(path, `${key.slice(0, -1)}${key.endsWith("A") ? "B" : "A"}`, "key/self")).status).toBe(401);
    const listed = (await t.owner.call("key/list")).result.find(one => one.id === id);
    expect(listed).toMatchObject({ usedAt: expect.any(String), connections: 0 });
    const audit = (await readFile(join(t.homeFolder, "audit.log"), "utf8")).trim().split("\n");
    expect(audit.map(line => JSON.parse(line))).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ event: "keyFirstUsed", key: id }),
        expect.objectContaining({ event: "operationsRefused", key: id, of: { "config/list 1102": 1 } }),
        expect.objectContaining({ event: "connectionsRefused", key: id, of: { key: 1 } }),
      ]),
    );
  });

  test("on the port is answered with where it belongs, whatever key it has", async () => {
    const options = { method: "POST", headers: { Authorization: `Bearer ${t.ownerKey}` }, body: "{}" };
    const answer = await fetch(`${t.url}/svc/key/self`, options);
    expect(answer.status).toBe(404);
    const error = { code: 1109, message: expect.stringContaining("Unix socket") };
    expect(await answer.json()).toMatchObject({ result: null, errors: [error] });
  });
});

type MakeRequest = (key: string) => string;
/** A whole request with a part of it replaced. */
const replaced =
  (part: string, by: string): MakeRequest =>
  key =>
    requestOf(key, "key/self").replace(part, by);
const adding = (header: string) => replaced("Auth", `${header}\r\nAuth`);
/** A header with this one more, and what follows it. */
const heading =
  (header: string, rest = ""): MakeRequest =>
  key =>
    `${headOf(key, "key/self", header)}\r\n\r\n${rest}`;
const chunked = "Transfer-Encoding: chunked";

/** Each is refused; what of its body was not read is not taken for another request. */
const broken: readonly (readonly [status: number, code: number, what: string, request: MakeRequest])[] = [
  [403, 1105, "an Origin", adding("Origin: http://localhost")],
  [403, 1105, "another Host", replaced("localhost", "evil.example")],
  [403, 1105, "two Hosts", replaced("Host: ", "Host: evil\r\nHost: ")],
  [403, 1105, "no Host", replaced("Host: localhost\r\n", "")],
  [403, 1105, "no Host, in HTTP/1.0", replaced("1.1\r\nHost: localhost", "1.0")],
  [405, 1101, "GET", key => `${headOf(key, "key/self").replace("POST", "GET")}\r\n\r\n`],
  [405, 1101, "PUT", replaced("POST", "PUT")],
  [400, 1101, "arguments in the path", replaced("key/self", "config/list?repo=shop")],
  [400, 1101, "two keys", adding("Authorization: Bearer x")],
  [401, 1100, "no key", replaced("Authorization", "X")],
  [401, 1100, "another scheme", replaced("Bearer", "Basic")],
  [400, 1101, "a form", replaced("application/json", "text/plain")],
  [400, 1101, "another charset", replaced("/json", "/json; charset=latin1")],
  [400, 1101, "a compressed body", adding("Content-Encoding: gzip")],
  [400, 1101, "another expectation", adding("Expect: more")],
  [413, 1107, "a long body", heading("Content-Length: 4000001")],
  [413, 1107, "a long body in parts", heading(chunked, `4c4b40\r\n${"x".repeat(5_000_000)}`)],
  [400, 1101, "two lengths", adding("Content-Length: 1")],
  [400, 1101, "a length and parts", adding(chunked)],
  [400, 1101, "a broken part", heading(chunked, "xyz\r\n")],
  [413, 1107, "a huge header", heading(`X-Padding: ${"x".repeat(20_000)}`)],
  [400, 1101, "no HTTP", () => "hello\r\n\r\n"],
  [400, 1101, "an upgrade", adding("Connection: Upgrade\r\nUpgrade: h2c")],
  [
    403,
    1105,
    "an upgrade from a page",
    adding("Connection: Upgrade\r\nUpgrade: websocket\r\nOrigin: http://localhost"),
  ],
];

/** They have a body that is read: only its content is wrong, and the connection stays. */
const contents = ["{", "[1", "\u0000", `{"repo":"shop"} x`, "\u00ff"];

describe.runIf(onUnix)("a one-shot request is refused with an error in JSON, and its connection is closed", () => {
  let t: TestDaemon;
  let path: string;
  beforeAll(async () => {
    t = await startTestDaemon({ repositories: ["shop"] });
    path = await socketOf(t.homeFolder);
  });
  afterAll(() => t[Symbol.asyncDispose]());

  test.each(broken)("%d %d: %s", async (status, code, _what, request) => {
    using raw = await openRaw(path);
    raw.socket.write(`${request(t.ownerKey)}${requestOf(t.ownerKey, "repo/add", { name: "smuggled" })}`);
    const [head = "", body = ""] = (await raw.closed()).split("\r\n\r\n");
    expect(head.split(" ")[1]).toBe(String(status));
    expect(head).toContain("Content-Type: application/json");
    expect(JSON.parse(body)).toMatchObject({ result: null, errors: [{ code, message: expect.stringMatching(/\.$/) }] });
    expect((await t.owner.call("repo/list")).result.length).toBe(1);
  });

  test("also if its client sends all of its body before it reads", async () => {
    using raw = await openRaw(path);
    raw.socket.pause();
    const body = "x".repeat(3_000_000);
    const request = `${headOf("wrong", "key/self", `Content-Length: ${body.length}`)}\r\n\r\n${body}`;
    expect(await new Promise(resolve => raw.socket.write(request, resolve))).toBe(null);
    raw.socket.resume();
    await raw.has("401 Unauthorized");
  });

  test.each(contents)("400 1101: the content %j", async content => {
    using raw = await openRaw(path);
    const body = Buffer.from(content, "latin1");
    raw.socket.write(`${headOf(t.ownerKey, "key/self", `Content-Length: ${body.length}`)}\r\n\r\n`);
    raw.socket.write(body);
    await raw.has(`"code":1101`);
    raw.socket.write(requestOf(t.ownerKey, "key/self"));
    await raw.has(`"name":"owner"`);
  });
});

test.runIf(onUnix)(
  "a one-shot request whose body is slow is refused, and one whose client left is forgotten",
  async () => {
    const clock = new TestClock();
    await using t = await startTestDaemon({ clock });
    const path = await socketOf(t.homeFolder);
    const before = clock.waiting();
    using raw = await openRaw(path);
    raw.socket.write(`${headOf(t.ownerKey, "key/self", "Content-Length: 2")}\r\n\r\n{`);
    // For the body, and to check the connections.
    await until(() => clock.waiting() === before + 2, "the body to be waited for");
    clock.advance(9_999);
    expect(raw.received).toBe("");
    clock.advance(1);
    await raw.has("408");
    clock.advance(1_000);
    expect(await raw.closed()).toMatch(/^HTTP\/1.1 408 [\s\S]*"code":1107/);
    const gone = await openRaw(path);
    gone.socket.write(`${headOf(t.ownerKey, "key/self", "Content-Length: 2")}\r\n\r\n{`);
    await until(() => clock.waiting() === before + 2, "the body to be waited for");
    gone.socket.destroy();
    await until(() => clock.waiting() === before, "the client to be noticed");
  },
);

test.runIf(onUnix)(
  "a one-shot request whose header is slow is refused, also a later one of a connection; an idle connection stays",
  async () => {
    const clock = new TestClock();
    await using t = await startTestDaemon({ clock });
    const path = await socketOf(t.homeFolder);
    const isRefused = async (raw: Awaited<ReturnType<typeof openRaw>>) => {
      // The bytes may arrive at any time; a check after that notices them, and the next one finds them again.
      await until(() => {
        clock.advance(5_000);
        return raw.received.includes("408");
      }, "the refusal");
      expect(await raw.closed()).toMatch(/HTTP\/1.1 408 [\s\S]*"code":1107/);
    };
    using slow = await openRaw(path);
    using idle = await openRaw(path);
    slow.socket.write("POST /svc/key/self HTTP/1.1\r\nHost: loc");
    await isRefused(slow);
    clock.advance(60_000);
    idle.socket.write(requestOf(t.ownerKey, "key/self"));
    await idle.has(`"name":"owner"`);
    clock.advance(60_000);
    idle.socket.write("POST /svc/key/self HTTP/1.1\r\n");
    await isRefused(idle);
  },
);

test.runIf(onUnix)("an answer that its client does not read is dropped after a while", async () => {
  const clock = new TestClock();
  await using t = await startTestDaemon({ clock, repositories: ["shop"] });
  const services = Object.fromEntries(
    [...Array(4)].map((_, at) => [`s${at}`, { ready: "x".repeat(60_000), image: "" }]),
  );
  await t.owner.call("config/set", { repo: "shop", "svc.services": services });
  const before = clock.waiting();
  using raw = await openRaw(await socketOf(t.homeFolder));
  raw.socket.pause();
  for (let count = 0; count < 8; count++) raw.socket.write(requestOf(t.ownerKey, "config/list", { repo: "shop" }));
  // One timer checks the connections.
  await until(() => clock.waiting() > before + 1, "the answers to wait");
  clock.advance(10_000);
  raw.socket.resume();
  expect((await raw.closed()).length).toBeLessThan(8 * 240_000);
});

test.runIf(onUnix)("one-shot requests keep an idle daemon running, also while they run", async () => {
  let asked = 0;
  const clock = new TestClock();
  await using t = await startTestDaemon({ clock, idleTimeout: 3_000, onStop: () => void asked++ });
  const path = await socketOf(t.homeFolder);
  t.owner.socket.close();
  const isDue = (time: number) => clock.waiting(time) > clock.waiting(time - 1);
  await until(() => isDue(3_000), "the daemon to notice that nobody is there");
  clock.advance(2_000);
  expect((await post(path, t.ownerKey, "key/self")).status).toBe(200);
  await until(() => isDue(3_000), "the request to end");
  clock.advance(2_000);
  expect(asked).toBe(0);
  using raw = await openRaw(path);
  raw.socket.write(`${headOf(t.ownerKey, "key/self", "Content-Length: 2")}\r\n\r\n{`);
  await until(() => isDue(10_000), "the request to begin");
  clock.advance(5_000);
  expect(asked).toBe(0);
  raw.socket.destroy();
  await until(() => isDue(3_000), "the request to end");
  clock.advance(3_000);
  expect(asked).toBe(1);
});

test.runIf(onUnix)(
  "a key has at most 64 one-shot requests in progress, and the owner is answered beside them",
  async () => {
    await using t = await startTestDaemon();
    const path = await socketOf(t.homeFolder);
    const { key } = (await t.owner.call("key/create", { name: "tool", grants: everything })).result;
    const open = await Promise.all(Array.from({ length: 64 }, () => openRaw(path)));
    for (const { socket } of open)
      socket.write(`${headOf(key, "key/self", "Content-Length: 2", "Expect: 100-continue")}\r\n\r\n`);
    for (const { has } of open) await has("100 Continue");
    expect(await post(path, key, "key/self")).toMatchObject({ status: 429, reply: { errors: [{ code: 1107 }] } });
    expect((await post(path, t.ownerKey, "key/self")).status).toBe(200);
    for (const { socket } of open) socket.write("{}");
    for (const { has } of open) await has(`"name":"tool"`);
    expect((await post(path, key, "key/self")).status).toBe(200);
  },
);

test.runIf(onUnix)(
  "while its operation runs, garbage on the connection, a revoked key and a stop are no answer to a one-shot request",
  async () => {
    const fileSystem = watchFileSystem();
    await using t = await startTestDaemon({ fileSystem, repositories: ["shop"] });
    const path = await socketOf(t.homeFolder);
    const { key, id } = (await t.owner.call("key/create", { name: "tool", grants: everything })).result;
    const write = holdCalls(fileSystem, isReplaced("shop"));
    const set = (timeout: number) => ({ repo: "shop", flush: true, "svc.timeout": timeout });
    using garbled = await openRaw(path);
    garbled.socket.write(`${requestOf(t.ownerKey, "config/set", set(5))}`);
    await write.begun;
    garbled.socket.write("garbage\r\n\r\n");
    expect(await garbled.closed()).toBe("");
    const revoked = post(path, key, "config/set", set(6));
    const kept = post(path, t.ownerKey, "config/set", set(7));
    const revision = async () => (await t.owner.call("config/list", { repo: "shop", field: "svc.timeout" })).revision;
    await until(async () => (await revision()) === 4, "the sets");
    await t.owner.call("key/revoke", { id });
    const closing = t.daemon.close();
    expect(await post(path, t.ownerKey, "key/self")).toMatchObject({
      status: 503,
      reply: { errors: [{ code: 1113 }] },
    });
    write.release();
    await expect(revoked).rejects.toThrow();
    expect(await kept).toMatchObject({ status: 200, reply: { result: [{ repo: "shop" }], errors: [] } });
    await closing;
  },
);
