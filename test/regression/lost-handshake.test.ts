import { createHash } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import type { Duplex } from "node:stream";
import { expect, test } from "vitest";
import { keyCredentials } from "../../main/home/credentials.ts";
import { RepoconfClient } from "../../shared/client/client.ts";
import { startTestDaemon } from "../helpers/daemon.ts";

/** Accepts websockets and closes them before Engine.IO's first packet, like a daemon killed at that moment. */
async function startDyingServer() {
  let connections = 0;
  const server = createServer();
  server.on("upgrade", (request: IncomingMessage, socket: Duplex) => {
    connections++;
    const accept = createHash("sha1")
      .update(`${request.headers["sec-websocket-key"]}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`)
      .digest("base64");
    const head = `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accept}`;
    socket.end(`${head}\r\n\r\n`);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    get connections() {
      return connections;
    },
    [Symbol.dispose]: () => void server.close(),
  };
}

// Longer than a test may take, so no test can pass by waiting for it.
const timeout = 3_600_000;

const anybody = { keyId: "", sign: () => "" };

test("a first connection lost during the handshake fails immediately", async () => {
  using dying = await startDyingServer();
  using client = new RepoconfClient({ timeout, locate: async () => ({ url: dying.url, credentials: anybody }) });
  await expect(client.connect()).rejects.toMatchObject({ code: 1200 });
});

test("a reconnection lost during the handshake is retried immediately", async () => {
  await using t = await startTestDaemon();
  using dying = await startDyingServer();
  const repo = await t.addRepository();
  const urls = [t.url, dying.url, dying.url];
  const locate = async () => ({ url: urls.shift() ?? t.url, credentials: keyCredentials(t.ownerKey) });
  using client = new RepoconfClient({ timeout, locate });
  await client.connect();
  await t.restart();
  await client.get(repo, "svc.timeout");
  expect(dying.connections).toBe(2);
});
