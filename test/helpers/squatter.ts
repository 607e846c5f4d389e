import { once } from "node:events";
import { createServer as createHttpServer } from "node:http";
import { type AddressInfo, connect, createServer, type Server as NetServer, type Socket } from "node:net";
import { Server } from "socket.io";

/**
 * A foreign program on a port that a client takes for the daemon's: a Socket.IO server that accepts everyone, answers everything, and
 * reports changes that never happened; or refuses a handshake, or accepts it with a false proof. `received` is everything, as text.
 */
export async function startSquatter({ port = 0, answer = "welcome" as "welcome" | "refuse" | "lie" } = {}) {
  const http = createHttpServer();
  const texts: string[] = [];
  const sockets = new Set<Socket>();
  http.on("connection", socket => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
  });
  http.on("request", request => {
    texts.push(`${request.method} ${request.url} ${JSON.stringify(request.headers)}`);
    request.on("data", (chunk: Buffer) => texts.push(chunk.toString()));
  });
  const io = new Server(http, { cors: { origin: true } });
  let connections = 0;
  io.use((socket, next) => {
    connections++;
    texts.push(JSON.stringify(socket.handshake.auth), JSON.stringify(socket.handshake.headers));
    if (answer === "refuse")
      next(
        Object.assign(new Error("Unauthorized"), { data: { code: 1100, name: "Unauthorized", proof: "0".repeat(64) } }),
      );
    else next();
  });
  io.on("connection", socket => {
    if (answer === "lie") socket.emit("svc", "session", "0".repeat(64));
    const change = { repo: "shop", revision: 99, changes: { svc: { timeout: { value: 666, stored: true } } } };
    socket.emit("svc", "config", "changed", change);
    socket.onAny((...message: unknown[]) => {
      texts.push(JSON.stringify(message));
      const last = message.at(-1);
      if (typeof last === "function") last({ result: { svc: { timeout: 666 } }, errors: [], revision: 99 });
    });
  });
  http.listen(port, "127.0.0.1");
  await once(http, "listening");
  const taken = (http.address() as AddressInfo).port;
  return {
    url: `http://127.0.0.1:${taken}`,
    port: taken,
    received: () => texts.join("\n"),
    connections: () => connections,
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy();
      await io.close();
    },
  };
}

/** A relay between a client and the real daemon: it forwards every byte, with the daemon's own name as Host, and keeps a copy. */
export async function startRelay(daemonPort: number) {
  const texts: string[] = [];
  let connections = 0;
  let port = 0;
  const server: NetServer = createServer(client => {
    connections++;
    const daemon = connect(daemonPort, "127.0.0.1");
    const rename = (text: string) => text.replaceAll(`127.0.0.1:${port}`, `127.0.0.1:${daemonPort}`);
    client.on("data", chunk => {
      const text = chunk.toString("latin1");
      texts.push(text);
      daemon.write(rename(text), "latin1");
    });
    daemon.on("data", chunk => client.write(chunk));
    for (const [one, other] of [
      [client, daemon],
      [daemon, client],
    ] as const) {
      one.on("close", () => other.destroy());
      one.on("error", () => other.destroy());
    }
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  port = (server.address() as AddressInfo).port;
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    received: () => texts.join(""),
    connections: () => connections,
    [Symbol.asyncDispose]: async () => void server.close(),
  };
}
