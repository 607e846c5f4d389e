import { createServer, type Socket } from "node:net";
import { expect, test } from "vitest";
import { parseStreamAddress } from "../../../../main/store/shared/stream/stream-address.ts";
import { StreamSession } from "../../../../main/store/shared/stream/stream-session.ts";
import { until } from "../../../helpers/daemon.ts";
import { describeWithNats } from "../../../helpers/nats-server.ts";
import { makeSharedWorld, set, timeoutOf } from "../../../helpers/shared-world.ts";

const greeting = `INFO ${JSON.stringify({ server_id: "x", version: "2.10.0", proto: 1, headers: true, max_payload: 1_048_576 })}\r\n`;

interface Speech {
  /** Sent at once; without an end, `endless` follows immediately. */
  readonly greeting: string;
  /** Sent once the client has asked for something. */
  readonly reply?: string;
  /** Sent again and again after the last of them. */
  readonly endless?: string;
}

/** A server that speaks as much of NATS as brings a client to where it sends without an end. */
async function startUnboundedServer({ greeting: first, reply, endless = "" }: Speech, port = 0) {
  const connections = new Set<Socket>();
  let sent = 0;
  const pump = (socket: Socket, part: Buffer) => {
    const more = () => {
      while (!socket.destroyed && socket.write(part)) sent += part.length;
    };
    if (part.length === 0) return;
    socket.on("drain", more);
    more();
  };
  const repeated = Buffer.from(endless.repeat(64 * 1024));
  const server = createServer(socket => {
    connections.add(socket);
    socket.on("error", () => {}).on("close", () => connections.delete(socket));
    socket.write(first);
    if (reply === undefined) return pump(socket, repeated);
    let asked = "";
    let isSpeaking = false;
    socket.on("data", part => {
      asked += part;
      if (asked.includes("PING\r\n")) socket.write("PONG\r\n");
      if (!asked.includes("PUB ")) asked = "";
      else if (!isSpeaking) {
        isSpeaking = true;
        socket.write(reply);
        pump(socket, repeated);
      }
    });
  });
  await new Promise<void>(resolve => server.listen(port, "127.0.0.1", resolve));
  const address = server.address();
  return {
    url: `nats://127.0.0.1:${typeof address === "object" ? address?.port : ""}`,
    connections,
    sent: () => sent,
    [Symbol.asyncDispose]: () => {
      for (const socket of connections) socket.destroy();
      return new Promise<void>(resolve => server.close(() => resolve()));
    },
  };
}

const endlessLine: Speech = { greeting, reply: "MSG ", endless: "x" };

test.each<[string, Speech, RegExp]>([
  ["a greeting without an end", { greeting: "INFO {", endless: " " }, /a line of more than 1048576 bytes/],
  ["no greeting", { greeting: "" }, /timeout/],
  ["another greeting", { greeting: "220 mail\r\n", endless: "x" }, /unexpected response/],
  ["a line without an end", endlessLine, /a line of more than 1048576 bytes/],
  [
    "a message of 300 MB",
    { greeting, reply: "MSG x 1 300000000\r\n", endless: "x" },
    /a message of more than 67108864/,
  ],
  [
    "a message of no size",
    { greeting, reply: "HMSG x 1 12 many\r\n", endless: "x" },
    /a message of more than 67108864/,
  ],
  ["lines that are not of NATS", { greeting, reply: "", endless: "x\r\n" }, /what is not the protocol of NATS/],
  ["lines that cannot be read", { greeting, reply: "MSG 0\r\n", endless: "PING\r\n" }, /timeout|more than can be read/],
])("a server of a shared log that sends %s is left at once, and it is said why", async (_title, speech, why) => {
  await using server = await startUnboundedServer(speech);
  const address = parseStreamAddress(`${server.url}/team`);
  await expect(StreamSession.open(address, true)).rejects.toThrow(why);
  await until(() => server.connections.size === 0, "the end of the connection");
  expect(server.sent()).toBeLessThan(200 * 1024 ** 2);
});

describeWithNats("a daemon whose shared log's server sends a line without an end", () => {
  test("starts, serves the last known values, says what the server does, and stops", async () => {
    await using world = await makeSharedWorld();
    {
      await using laptop = await world.start("laptop");
      await laptop.addRepository("shop");
      await set(laptop, "shop", 41);
    }
    await world.server.kill();
    await using server = await startUnboundedServer(endlessLine, world.server.port);
    await using laptop = await world.start("laptop");
    const problems = async () => (await laptop.owner.call("daemon/status")).result.problems?.join() ?? "";
    await until(async () => (await problems()).includes("the server sends a line of more than"), "the problem");
    expect(await timeoutOf(laptop, "shop")).toBe(41);
    expect((await laptop.owner.call("config/set", { repo: "shop", "svc.timeout": 42 })).errors).toMatchObject([
      { code: 1108 },
    ]);
    expect(server.sent()).toBeGreaterThan(0);
  });
});
