import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { startTestDaemon, type TestClient, type TestDaemon, until } from "../../helpers/daemon.ts";
import { pollingHandshake, rawRequest, sendBytes, waysIn } from "../../helpers/raw-http.ts";
import { openRawWebSocket } from "../../helpers/raw-websocket.ts";

let t: TestDaemon;
let repo: string;
let neighbour: TestClient;
let disconnects: string[];
beforeAll(async () => {
  t = await startTestDaemon();
  repo = await t.addRepository();
  neighbour = await t.connect();
  neighbour.socket.on("disconnect", reason => void disconnects.push(reason));
});
afterAll(() => t[Symbol.asyncDispose]());
beforeEach(() => {
  disconnects = [];
});

/** The daemon survives every input: it runs in this process, so anything it does not catch fails the run by itself. */
afterEach(async () => {
  const wanted = { result: { svc: { timeout: 900 } }, errors: [] };
  expect(await neighbour.call("config/list", { repo, field: "svc.timeout" })).toMatchObject(wanted);
  expect(disconnects).toEqual([]);
  using newcomer = await openRawWebSocket(t.url, t.ownerKey);
  expect(await newcomer.ask(`["svc","config","list",{"repo":"${repo}","field":"svc.timeout"}]`)).toMatchObject(wanted);
});

const ask = `["svc","key","self",{}]`;
const placeholder = (num: string) => `["svc","key","self",{"a":{"_placeholder":true,"num":${num}}}]`;
const bytes = new Uint8Array([1, 2, 3]);

describe("a connection that sends an invalid Socket.IO packet is closed, and no other", () => {
  test.each<[string, ...(string | Uint8Array<ArrayBuffer>)[]]>([
    ["nothing at all", ""],
    ["an unknown Engine.IO type", "x"],
    ["a number that is not an Engine.IO type", "9"],
    ["a message without a Socket.IO type", "4"],
    ["an unknown Socket.IO type", "49"],
    ["NULs", `4${"\0".repeat(100)}`],
    ["an event without a payload that is an array", "42{}"],
    ["an empty event", "42[]"],
    ["an event whose name is not a string", "42[{}]"],
    ["a truncated event", `42["svc","key"`],
    ["an event with a reserved name", `42["disconnect"]`],
    ["an event with a name reserved by Node", `42["newListener","x"]`],
    ["an event of a namespace that nobody joined", `42/admin,${ask}`],
    ["a second CONNECT", `40{"apiKey":"other"}`],
    ["an error, which only a server sends", `44{"message":"x"}`],
    ["a binary event with no number of attachments", `45${ask}`],
    ["a binary event with a wrong number of attachments", `45x-${ask}`],
    ["a binary event with no attachments", `450-${placeholder("0")}`],
    ["a binary event with too many attachments", `451000-${placeholder("0")}`],
    ["a binary event whose attachment never comes", `451-${placeholder("0")}`, `42${ask}`],
    ["a binary event that names a missing attachment", `451-${placeholder("7")}`, bytes],
    ["a binary event that names an attachment by a string", `451-${placeholder(`"__proto__"`)}`, bytes],
    ["an attachment nobody announced", bytes],
  ])("%s", async (_, ...packets) => {
    using hostile = await openRawWebSocket(t.url, t.ownerKey);
    for (const packet of packets) hostile.socket.send(packet);
    await until(() => hostile.closed, "the connection to end");
    expect(hostile.received.filter(packet => packet.startsWith("43"))).toEqual([]);
  });
});

describe("a connection that sends an odd but valid packet", () => {
  test.each<[string, string]>([
    ["an acknowledgement of nothing", `43999["x"]`],
    ["an acknowledgement without an id", "43[]"],
    ["a namespace that does not exist", "40/admin,"],
    ["a namespace that objects inherit", "40/__proto__,{}"],
    ["an extra pong", "3"],
    ["Engine.IO's noop", "6"],
    ["Engine.IO's close, which does not end a WebSocket", "1"],
    ["an event whose name is a number", "42[7]"],
    ["an event whose name is `error`", `42["error",{"message":"x"}]`],
    ["an id of 400 digits", `42${"9".repeat(400)}${ask}`],
    ["an attachment's placeholder where none was announced", `42${placeholder("0")}`],
  ])("may continue: %s", async (_, packet) => {
    using odd = await openRawWebSocket(t.url, t.ownerKey);
    odd.socket.send(packet);
    expect(await odd.ask(ask)).toMatchObject({ result: { name: "owner" } });
  });

  test("may disconnect, and nothing more is answered", async () => {
    const sockets = async () => (await t.owner.call("daemon/status")).result.sockets;
    using leaving = await openRawWebSocket(t.url, t.ownerKey);
    const before = (await sockets()) ?? 0;
    leaving.socket.send("41");
    await until(async () => (await sockets()) === before - 1, "the goodbye to be heard");
    leaving.socket.send(`421${ask}`);
    await until(() => leaving.closed, "the connection to end");
    expect(leaving.received.some(packet => packet.startsWith("43"))).toBe(false);
  });
});

describe("before CONNECT", () => {
  test.each([
    ["an event", `421${ask}`],
    ["a set", `421["svc","repo","add",{"name":"x","id":"planted"}]`],
    ["an event of another namespace", `42/svc,1${ask}`],
    ["an acknowledgement", "431[]"],
    ["a disconnect", "41"],
  ])("%s is ignored, and the connection is closed", async (_, packet) => {
    using stranger = await openRawWebSocket(t.url);
    stranger.socket.send(packet);
    await until(() => stranger.closed, "the connection to end");
    expect(stranger.received.filter(one => !one.startsWith("0"))).toEqual([]);
    expect((await t.owner.call("repo/list")).result.map(entry => entry.id)).not.toContain("planted");
  });

  test.each([
    ["no key", "40"],
    ["an object", `40{"apiKey":{"toString":"x","length":9}}`],
    ["one by a prototype", `40{"__proto__":{"apiKey":"KEY"}}`],
    ["one by another name", `40{"apikey":"KEY"}`],
    ["a long one", `40{"apiKey":"${"A".repeat(500_000)}"}`],
  ])("an invalid key gets 1100: %s", async (_, packet) => {
    using stranger = await openRawWebSocket(t.url);
    stranger.socket.send(packet.replace("KEY", t.ownerKey));
    await until(() => stranger.received.length > 1 || stranger.closed, "an answer");
    expect(stranger.received[1]).toBe(`44{"message":"Unauthorized","data":{"code":1100,"name":"Unauthorized"}}`);
    stranger.socket.send(`421${ask}`);
    await until(() => stranger.closed, "the connection to end");
    expect(stranger.received.some(one => one.startsWith("43"))).toBe(false);
  });
});

describe("by polling", () => {
  const host = () => `Host: ${new URL(t.url).host}`;

  test.each([
    ["an unknown session", `${pollingHandshake}&sid=unknown`],
    ["a session that objects inherit", `${pollingHandshake}&sid=__proto__`],
    ["another such session", `${pollingHandshake}&sid=constructor`],
    ["two sessions", `${pollingHandshake}&sid=a&sid=b`],
    ["an unknown transport", "/socket.io/?EIO=4&transport=constructor"],
    ["a transport that is not offered", "/socket.io/?EIO=4&transport=webtransport"],
    ["no transport", "/socket.io/?EIO=4"],
    ["two transports", "/socket.io/?EIO=4&transport=polling&transport=websocket"],
    ["an older Engine.IO", "/socket.io/?EIO=3&transport=polling"],
    ["a websocket without an upgrade", "/socket.io/?EIO=4&transport=websocket"],
  ])("%s is refused", async (_, target) => {
    for (const method of ["GET", "POST"]) {
      const { status } = await rawRequest(t.url, target, { method, headers: [host()] });
      expect(status).toBe(400);
    }
  });

  test.each(["PUT", "DELETE", "PATCH", "POST"])("a handshake by %s is refused", async method => {
    expect((await rawRequest(t.url, pollingHandshake, { method, headers: [host()] })).status).toBe(400);
  });

  test.each([
    ["nothing", ""],
    ["an invalid packet", "x"],
    ["only separators", "\u001e".repeat(1000)],
    ["invalid base64", "b????"],
    ["an attachment nobody announced", "bAQID"],
    ["an event before CONNECT", `421${ask}`],
    ["a truncated event", `42["svc"`],
    ["many at once", Array(1000).fill("42[7]").join("\u001e")],
  ])("a session that posts %s is answered and harms no other", async (_, body) => {
    const { body: opened } = await rawRequest(t.url, pollingHandshake, { headers: [host()] });
    const sid: string = JSON.parse(opened.slice(opened.indexOf("{"), opened.lastIndexOf("}") + 1)).sid;
    const headers = [host(), "Content-Type: text/plain;charset=UTF-8"];
    const target = `${pollingHandshake}&sid=${sid}`;
    const { status } = await rawRequest(t.url, target, { method: "POST", headers, body });
    expect([200, 400]).toContain(status);
  });
});

describe("bytes that are not HTTP", () => {
  const upgrade = () =>
    [`GET ${waysIn[2].target} HTTP/1.1`, `Host: ${new URL(t.url).host}`, ...waysIn[2].headers, "", ""].join("\r\n");

  test.each([
    ["a TLS hello", Buffer.from("16030100c8010000c40303", "hex")],
    ["another version", "GET / HTTP/9.9\r\n\r\n"],
    ["no line end", "GET "],
    ["a header without end", `GET / HTTP/1.1\r\nHost: x\r\nX: ${"x".repeat(100_000)}\r\n\r\n`],
    [
      "two lengths",
      "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET / HTTP/1.1\r\n\r\n",
    ],
    ["a tunnel", "CONNECT evil.example:443 HTTP/1.1\r\nHost: evil.example:443\r\n\r\n"],
  ])("get no 200: %s", async (_, bytes) => {
    expect(await sendBytes(t.url, bytes)).not.toMatch(/^HTTP\/1\.1 2/);
  });

  test.each([
    ["reserved bits", "ff80"],
    ["a frame without a mask", "810141"],
    ["a length of 2^63", "81ffffffffffffffffff00000000"],
    ["a continuation of nothing", "808000000000"],
    ["text that is not UTF-8", "818200000000c328"],
  ])("after an upgrade close that connection: %s", async (_, hex) => {
    const answer = await sendBytes(t.url, Buffer.concat([Buffer.from(upgrade()), Buffer.from(hex, "hex")]));
    expect(answer).toMatch(/^HTTP\/1\.1 101/);
  });

  test("an upgrade never agrees to compression, so no small packet becomes a large one", async () => {
    const headers = [
      `Host: ${new URL(t.url).host}`,
      ...waysIn[2].headers,
      "Sec-WebSocket-Extensions: permessage-deflate",
    ];
    const answer = await rawRequest(t.url, waysIn[2].target, { headers });
    expect(answer.status).toBe(101);
    expect(answer.headers.get("sec-websocket-extensions")).toBeUndefined();
  });
});
