import { once } from "node:events";
import { connect } from "node:net";
import { join } from "node:path";
import { expect, test } from "vitest";
import { DaemonServer } from "../../../main/daemon/http/server.ts";
import { systemClock } from "../../../main/time/clock.ts";
import { until } from "../../helpers/daemon.ts";
import { temporaryFolder } from "../../helpers/temporary-folder.ts";

test("requests that arrive before the server is open wait, on the port and on the socket, and are then answered", async () => {
  await using folder = await temporaryFolder();
  const asked: string[] = [];
  const server = await DaemonServer.listen({
    port: 0,
    insist: false,
    socketFolder: join(folder.path, "socket"),
    clock: systemClock,
    onProblem: () => {},
  });
  const addresses = [{ port: server.port, host: "127.0.0.1" }, { path: server.socket ?? "" }];
  const clients = addresses.map(address => {
    const socket = connect(address);
    let text = "";
    socket.setEncoding("utf8").on("data", part => {
      text += part;
    });
    socket.write(`GET /early HTTP/1.1\r\nHost: 127.0.0.1:${server.port}\r\n\r\n`);
    return { socket, text: () => text };
  });
  let connections = 0;
  server.onSocketServer = io => io.engine.on("connection", () => void connections++);
  const upgraded = connect(server.port, "127.0.0.1");
  upgraded.write(
    `GET /socket.io/?EIO=4&transport=websocket HTTP/1.1\r\nHost: 127.0.0.1:${server.port}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n`,
  );
  // A client that has disconnected again is ignored.
  const aborted = connect(server.port, "127.0.0.1");
  aborted.write(`GET /gone HTTP/1.1\r\nHost: 127.0.0.1:${server.port}\r\n\r\n`);
  await once(aborted, "connect");
  aborted.resetAndDestroy();
  await Promise.all(
    [...clients, { socket: upgraded }].map(({ socket }) => socket.connecting && once(socket, "connect")),
  );
  // Long enough for the requests to arrive, if nothing held them back.
  await new Promise(resolve => setTimeout(resolve, 50));
  expect([asked, connections, clients.map(({ text }) => text())]).toEqual([[], 0, ["", ""]]);
  server.open({
    allowedOrigins: () => [],
    onRequest: ({ url = "" }, response) => {
      asked.push(url);
      response.end(url);
    },
    onRefusal: () => {},
    oneShot: { answer: async () => {}, refuseBroken: () => {}, refuseSlow: () => {}, refuseUpgrade: () => {} },
  });
  for (const { text } of clients) await until(() => text().endsWith("/early"), "the answer");
  await until(() => connections === 1, "the connection");
  for (const { socket } of [...clients, { socket: upgraded }]) socket.destroy();
  await server.close();
});
