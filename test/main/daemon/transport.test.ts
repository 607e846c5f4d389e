import { io } from "socket.io-client";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { startTestDaemon, type TestClient, type TestDaemon, until } from "../../helpers/daemon.ts";
import { patience } from "../../helpers/patience.ts";
import { rawRequest, waysIn } from "../../helpers/raw-http.ts";
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

test.each<[string, ...(string | Uint8Array<ArrayBuffer>)[]]>([
  ["nothing at all", ""],
  ["an unknown Engine.IO type", "x"],
  ["a message without a Socket.IO type", "4"],
  ["an unknown Socket.IO type", "49"],
  ["an event without a payload that is an array", "42{}"],
  ["an event whose name is not a string", "42[{}]"],
  ["a truncated event", `42["svc","key"`],
  ["an event with a reserved name", `42["disconnect"]`],
  ["an event with a name reserved by Node", `42["newListener","x"]`],
  ["an event of a namespace that nobody joined", `42/admin,${ask}`],
  ["a second CONNECT", `40{"apiKey":"other"}`],
  ["a binary event with no number of attachments", `45${ask}`],
  ["a binary event with too many attachments", `451000-${placeholder("0")}`],
  ["a binary event whose attachment never comes", `451-${placeholder("0")}`, `42${ask}`],
  ["a binary event that names a missing attachment", `451-${placeholder("7")}`, bytes],
  ["a binary event that names an attachment by a string", `451-${placeholder(`"__proto__"`)}`, bytes],
  ["an attachment nobody announced", bytes],
])("a connection that sends an invalid Socket.IO packet is closed, and no other: %s", async (_, ...packets) => {
  using hostile = await openRawWebSocket(t.url, t.ownerKey);
  for (const packet of packets) hostile.socket.send(packet);
  await until(() => hostile.closed, "the connection to end");
  expect(hostile.received.filter(packet => packet.startsWith("43"))).toEqual([]);
});

describe("a connection that sends an odd but valid packet", () => {
  test.each<[string, string]>([
    ["an acknowledgement of nothing", `43999["x"]`],
    ["a namespace that does not exist", "40/admin,"],
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

test("an upgrade never agrees to compression, so no small packet becomes a large one", async () => {
  const offer = "Sec-WebSocket-Extensions: permessage-deflate";
  const headers = [`Host: ${new URL(t.url).host}`, ...waysIn[2].headers, offer];
  const answer = await rawRequest(t.url, waysIn[2].target, { headers });
  expect(answer.status).toBe(101);
  expect(answer.headers.get("sec-websocket-extensions")).toBeUndefined();
});

describe("a packet", () => {
  const transportBytes = 4_000_000;
  /** The text of an event of exactly the given size, including the packet types and one-digit id before it. */
  const eventOf = (size: number) => {
    const event = (padding: string) => `["svc","config","list",{"padding":"${padding}"}]`;
    return event("x".repeat(size - event("").length - "421".length));
  };

  test("of 4 MB is still answered (1107), and one byte more closes that connection", async () => {
    using large = await openRawWebSocket(t.url, t.ownerKey);
    expect(await large.ask(eventOf(transportBytes))).toMatchObject({ errors: [{ code: 1107 }] });
    using tooLarge = await openRawWebSocket(t.url, t.ownerKey);
    await expect(tooLarge.ask(eventOf(transportBytes + 1))).rejects.toThrow("the connection ended");
    expect(large.closed).toBe(false);
  });

  test("of more than 4 MB does not keep its client from reconnecting automatically", async () => {
    const client = io(t.url, { auth: { apiKey: t.ownerKey }, reconnectionDelay: 10, transports: ["websocket"] });
    try {
      const connections: (string | undefined)[] = [];
      client.on("connect", () => void connections.push(client.id));
      await until(() => connections.length === 1, "the first connection");
      client.emit("svc", "config", "list", { padding: "x".repeat(transportBytes) });
      await until(() => connections.length === 2, "the client to come back");
      expect((await client.timeout(patience).emitWithAck("svc", "key", "self")).errors).toEqual([]);
    } finally {
      client.close();
    }
  });
});

test("1,000,000 levels of [ in or as the arguments get 1107, naming the limit, and 1109 in the operation's place", async () => {
  const levels = 1_000_000;
  const deep = "[".repeat(levels) + "]".repeat(levels);
  using client = await openRawWebSocket(t.url, t.ownerKey);
  for (const [event, code, words] of [
    [`["svc","config","list",{"repo":"a","deep":${deep}}]`, 1107, /\b32\b/],
    [`["svc","config","set",${deep}]`, 1107, /\b32\b/],
    [`["svc","config",${deep},{}]`, 1109, /./],
  ] as const)
    expect(await client.ask(event)).toMatchObject({ errors: [{ code, message: expect.stringMatching(words) }] });
  expect(await client.ask(`["svc","key","self"]`)).toMatchObject({ result: { name: "owner" }, errors: [] });
});
