import { randomBytes } from "node:crypto";
import { chmod } from "node:fs/promises";
import { createServer, type Server as HttpServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import type { Duplex } from "node:stream";
import { Server as Engine, type Socket as EngineSocket } from "engine.io";
import { limits } from "../../shared/limits.ts";
import type { Clock } from "../clock.ts";
import { createGuard, guardLocally, type Refusal } from "./guard.ts";

/*
 * The daemon's door. Security posture:
 * - It listens on the loopback addresses only, and never on another; beside them on a Unix socket in a folder of the
 *   owner's, which nobody else can take and no browser reaches.
 * - The guard (guard.ts) sees every request and every upgrade before any route does. Socket.IO's own `cors` option would
 *   not: it does not apply to websockets.
 * - What is answered without a key says nothing about anyone's configuration: health and the identity proof.
 * - Every other thing needs an API key, checked at the Socket.IO handshake (connections.ts).
 */

export interface DoorOptions {
  /** The port to try first, and whether another will do. 0 asks for any. */
  readonly port: number;
  readonly insist: boolean;
  /** The path of the Unix socket; undefined: there is to be none. */
  readonly socketPath: string | undefined;
  /** There is no Unix socket, although there was to be one. */
  onSocketFailure(error: unknown): void;
  readonly clock: Clock;
  allowedOrigins(): readonly string[];
  /** Answers what is not Socket.IO's; the guard has let it in. */
  onRequest(request: IncomingMessage, response: ServerResponse): void;
  onRefusal(refusal: Refusal, request: IncomingMessage): void;
}

export interface Door {
  readonly port: number;
  /** Whether [::1] answers too. */
  readonly ipv6: boolean;
  /** The path of the Unix socket, if there is one. */
  readonly socket: string | undefined;
  readonly engine: Engine;
  /** What client and daemon sign of the connection that this request began. */
  connectionOf(request: IncomingMessage): { readonly url: string; readonly engineId: string };
  close(): Promise<void>;
}

/** The port that was insisted on is taken. */
class PortTakenError extends Error {
  override readonly name = "PortTakenError";
}

/** Milliseconds in which a client may read the last that it is sent. */
const goodByeTime = 1_000;
const socketPath = "/socket.io/";

/** Opens the daemon's port on 127.0.0.1, and on ::1 where the same can be had. Throws PortTakenError. */
export async function openDoor(options: DoorOptions): Promise<Door> {
  const [ipv4, ipv6, local] = [createServer(), createServer(), createServer()];
  const sockets = trackSockets([ipv4, ipv6, local]);
  await listenSomewhere(ipv4, options.port, options.insist);
  const { port } = ipv4.address() as AddressInfo;
  const servers = (await listen(ipv6, "::1", port).then(
    () => true,
    () => false,
  ))
    ? [ipv4, ipv6]
    : [ipv4];

  const engine = new Engine({
    maxHttpBufferSize: limits.transportBytes,
    // A page on an origin that the settings allow may read polling's answers; any other was refused before.
    cors: { origin: true },
    transports: ["polling", "websocket"],
    allowEIO3: false,
  });
  const engineIds = new WeakMap<IncomingMessage, string>();
  engine.generateId = request => {
    // What a client signs names it, so nobody may guess it.
    const id = randomBytes(32).toString("base64url");
    engineIds.set(request, id);
    return id;
  };
  engine.on("headers", (headers: { [name: string]: string }) => {
    headers["X-Content-Type-Options"] = "nosniff";
  });
  engine.on("connection", oneWriteForEachFlush);
  const ipv6Too = servers.includes(ipv6);
  const guardByName = createGuard({ port, ipv6: ipv6Too, allowedOrigins: options.allowedOrigins });
  const socket = await listenLocally(local, options);
  if (socket !== undefined) servers.push(local);
  for (const server of servers) {
    const guard = server === local ? guardLocally : guardByName;
    server.on("request", (request, response) => {
      const refusal = guard(request);
      if (refusal !== undefined) {
        options.onRefusal(refusal, request);
        refuse(response, refusal);
      } else if (isSocketRequest(request)) {
        if (isScriptRequest(request)) {
          const jsonp: Refusal = { cause: "origin", message: "Refused: JSONP is not served." };
          options.onRefusal(jsonp, request);
          return refuse(response, jsonp);
        }
        engine.handleRequest(engineRequest(request), response);
      } else {
        options.onRequest(request, response);
      }
    });
    server.on("upgrade", (request: IncomingMessage, socket: Duplex, head: Buffer) => {
      const refusal = guard(request);
      if (refusal !== undefined) options.onRefusal(refusal, request);
      if (refusal !== undefined || !isSocketRequest(request)) refuseUpgrade(socket);
      else engine.handleUpgrade(engineRequest(request), socket, head);
    });
  }
  const close = async () => {
    engine.close();
    const closed = Promise.all(servers.map(server => new Promise(resolve => server.close(resolve))));
    // When what it was sent is on its way: not when the client has said good-bye too, for one that is suspended never does.
    for (const socket of sockets) socket.destroySoon();
    const callOff = options.clock.schedule(goodByeTime, () => {
      for (const socket of sockets) socket.destroy();
    });
    await closed;
    callOff();
  };
  const connectionOf = (request: IncomingMessage) => ({
    // By the name that the client called it by; the guard has let it in.
    url: `http://${request.headers.host}`,
    engineId: engineIds.get(request) ?? "",
  });
  return { port, ipv6: ipv6Too, socket, engine, connectionOf, close };
}

/** A connection's packets of one moment reach the system in one call, not one by one: of what many sets at once cost that is a tenth. */
function oneWriteForEachFlush(connection: EngineSocket): void {
  const { socket } = connection.request;
  connection.on("flush", () => {
    socket.cork();
    process.nextTick(() => socket.uncork());
  });
}

async function listenSomewhere(server: HttpServer, port: number, insist: boolean): Promise<void> {
  try {
    await listen(server, "127.0.0.1", port);
  } catch (error) {
    const taken = error instanceof Error && "code" in error && (error.code === "EADDRINUSE" || error.code === "EACCES");
    if (!taken) throw error;
    if (insist) throw new PortTakenError(`Port ${port} is taken. Choose another with --port, or leave --port out.`);
    await listen(server, "127.0.0.1", 0);
  }
}

function listen(server: HttpServer, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen({ host, port, exclusive: true }, () => {
      server.off("error", reject);
      resolve();
    });
  });
}

/** The Unix socket's path once it listens; undefined if there is none. */
async function listenLocally(
  server: HttpServer,
  { socketPath, onSocketFailure }: DoorOptions,
): Promise<string | undefined> {
  if (socketPath === undefined) return undefined;
  try {
    await new Promise<void>((resolve, reject) => {
      server.once("error", reject);
      server.listen(socketPath, () => {
        server.off("error", reject);
        resolve();
      });
    });
    // The folder keeps others out. Who looks at the socket alone is to see that it is private.
    await chmod(socketPath, 0o600);
    return socketPath;
  } catch (error) {
    // Some file systems have none. Everything works without it.
    onSocketFailure(error);
    return undefined;
  }
}

/** The open sockets, also those that were upgraded, which no server counts as its own. */
function trackSockets(servers: readonly HttpServer[]): ReadonlySet<Socket> {
  const sockets = new Set<Socket>();
  for (const server of servers) {
    server.on("connection", socket => {
      sockets.add(socket);
      socket.once("close", () => sockets.delete(socket));
    });
  }
  return sockets;
}

function isSocketRequest(request: IncomingMessage): boolean {
  const path = request.url?.split("?", 1)[0];
  return path === socketPath || path === socketPath.slice(0, -1);
}

/** Engine.IO answers `j=N` with a script (JSONP), which a page of any origin could run and so read. */
function isScriptRequest(request: IncomingMessage): boolean {
  return URL.parse(request.url ?? "", "http://localhost")?.searchParams.has("j") !== false;
}

/** engine.io adds members of its own to the request that it is handed. */
function engineRequest(request: IncomingMessage): Parameters<Engine["handleRequest"]>[0] {
  return request as Parameters<Engine["handleRequest"]>[0];
}

function refuse(response: ServerResponse, refusal: Refusal): void {
  response.writeHead(403, {
    "Content-Type": "text/plain; charset=utf-8",
    Connection: "close",
    "X-Content-Type-Options": "nosniff",
  });
  response.end(`${refusal.message}\n`);
}

function refuseUpgrade(socket: Duplex): void {
  socket.on("error", () => {});
  socket.end("HTTP/1.1 403 Forbidden\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
}
