import { io } from "socket.io-client";
import { afterAll, describe, expect, test } from "vitest";
import { startTestDaemon, until } from "../../helpers/daemon.ts";
import { patience } from "../../helpers/patience.ts";
import { openRawWebSocket } from "../../helpers/raw-websocket.ts";

const t = await startTestDaemon();
afterAll(() => t[Symbol.asyncDispose]());

const transportBytes = 4_000_000;
/** A neighbour that keeps asking; `finish` returns how often it was answered. Fails if it is ever disconnected. */
async function startNeighbour(): Promise<{ finish(): Promise<number> }> {
  const { socket, call } = await t.connect();
  let answers = 0;
  let done = false;
  const asking = (async () => {
    while (!done) {
      expect((await call("key/self")).errors).toEqual([]);
      answers++;
    }
  })();
  return {
    finish: async () => {
      done = true;
      await asking;
      expect(socket.connected).toBe(true);
      return answers;
    },
  };
}

/** The text of an event of exactly the given size, including the packet types and one-digit id before it. */
function eventOf(bytes: number): string {
  const event = (padding: string) => `["svc","config","list",{"padding":"${padding}"}]`;
  return event("x".repeat(bytes - event("").length - "421".length));
}

describe("a packet", () => {
  test("of 4 MB is still answered (1107), and one byte more closes that connection and no other", async () => {
    const neighbour = await startNeighbour();
    using large = await openRawWebSocket(t.url, t.ownerKey);
    expect(await large.ask(eventOf(transportBytes))).toMatchObject({ errors: [{ code: 1107 }] });
    using tooLarge = await openRawWebSocket(t.url, t.ownerKey);
    await expect(tooLarge.ask(eventOf(transportBytes + 1))).rejects.toThrow("the connection ended");
    expect(large.closed).toBe(false);
    expect(await neighbour.finish()).toBeGreaterThan(0);
  });

  test("of more than 4 MB does not keep its client from reconnecting automatically", async () => {
    const neighbour = await startNeighbour();
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
    expect(await neighbour.finish()).toBeGreaterThan(0);
  });
});

describe("1,000,000 levels of [", () => {
  const levels = 1_000_000;
  const deep = "[".repeat(levels) + "]".repeat(levels);

  test.each([
    [
      "in the arguments get 1107, naming the limit",
      `["svc","config","list",{"repo":"a","deep":${deep}}]`,
      1107,
      /\b32\b/,
    ],
    ["as the arguments get 1107", `["svc","config","set",${deep}]`, 1107, /\b32\b/],
    ["in the operation's place get 1109", `["svc","config",${deep},{}]`, 1109, /./],
  ])("%s", async (_, event, code, words) => {
    using client = await openRawWebSocket(t.url, t.ownerKey);
    expect(await client.ask(event)).toMatchObject({ errors: [{ code, message: expect.stringMatching(words) }] });
    expect(await client.ask(`["svc","key","self"]`)).toMatchObject({ result: { name: "owner" }, errors: [] });
  });

  test.each<[string, ...(string | Uint8Array<ArrayBuffer>)[]]>([
    ["never closed", `421["svc","config","list",${"[".repeat(levels)}`],
    ["around an attachment", `451-["svc","config","list",${deep}]`, new Uint8Array([1])],
    ["in a second CONNECT", `40{"apiKey":${deep}}`],
    ["as an acknowledgement of nothing", `431${deep}`],
  ])("harm at most the connection that sends them: %s", async (_, ...packets) => {
    const neighbour = await startNeighbour();
    using hostile = await openRawWebSocket(t.url, t.ownerKey);
    for (const packet of packets) hostile.socket.send(packet);
    // The next packet is checked only after these.
    hostile.socket.send(`421["svc","key","self"]`);
    await until(() => hostile.closed || hostile.received.some(packet => packet.startsWith("431[")), "the end of it");
    expect(await neighbour.finish()).toBeGreaterThan(0);
    expect((await (await t.connect()).call("key/self")).errors).toEqual([]);
  });
});
