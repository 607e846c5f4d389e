import { randomBytes } from "node:crypto";
import { chmod } from "node:fs/promises";
import { createServer, type Server as HttpServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo, ListenOptions, Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { Server as Engine, Socket as EngineSocket } from "engine.io";
import { limits } from "../../../shared/limits.ts";
import type { Clock } from "../../time/clock.ts";
import { DaemonEngine } from "../socket/engine.ts";
import type { Channel } from "../socket/key-budget.ts";
import { createGuard, type Guard, guardLocally, hasOwnOrigin, type Refusal } from "./guard.ts";

/*
 * The daemon's HTTP servers. Security posture:
 * - It listens only on loopback addresses, and on a Unix socket in a folder of the
 *   owner, which no other user can occupy and no browser can reach.
 * - The guard (guard.ts) checks every request and every upgrade before any route. Socket.IO's own `cors` option would
 *   not: it does not apply to WebSockets.
 * - The screen has its own origin, with an unguessable name that is new at each start: browsers treat all ports
 *   of 127.0.0.1 as one site, where anything that another program's page left (a service worker) would outlive it.
 * - Answers without a key (health and the identity proof) reveal nothing about the configuration.
 * - Everything else needs an API key, checked at the Socket.IO handshake (connections.ts).
 */

export interface DaemonServerOptions {
  /** The preferred port, and whether another one may be used. 0 means any free port. */
  readonly port: number;
  readonly insist: boolean;
  /** The path of the Unix socket; undefined for none. */
  readonly socketPath: string | undefined;
  /** The Unix socket could not be created. */
  onSocketFailure(error: unknown): void;
  readonly clock: Clock;
  allowedOrigins(): readonly string[];
  /** Answers requests other than Socket.IO's, after the guard has accepted them. */
  onRequest(request: IncomingMessage, response: ServerResponse): void;
  onRefusal(refusal: Refusal, request: IncomingMessage): void;
}

export interface DaemonServer {
  readonly port: number;
  /** Whether [::1] answers too. */
  readonly ipv6: boolean;
  /** The origin of the screen, which serves nothing else. */
  readonly screenOrigin: string;
  /** The same for browsers that cannot resolve that name: a port of 127.0.0.1, opened at the first call. */
  openScreenByAddress(): Promise<string>;
  /** Whether a request is to the screen's own host. */
  isForScreen(request: IncomingMessage): boolean;
  /** The path of the Unix socket, if there is one. */
  readonly socket: string | undefined;
  readonly engine: Engine;
  /** Starts answering, including requests that arrived since the port was opened. */
  open(): void;
  /** Whether a request arrived at the port or the Unix socket. */
  channelOf(request: IncomingMessage): Channel;
  /** The facts about the connection started by this request that client and daemon sign. */
  connectionOf(request: IncomingMessage): { readonly url: string; readonly engineId: string };
  /** Whether the connection started by this request has the daemon's own Origin: only keys may use it. */
  hasOwnOrigin(request: IncomingMessage): boolean;
  close(): Promise<void>;
}

/** The required port is in use. */
class PortTakenError extends Error {
  override readonly name = "PortTakenError";
}

/** Milliseconds that a client has to read its last packets. */
const goodByeTime = 1_000;
const socketPath = "/socket.io/";

/**
 * Opens the daemon's port on 127.0.0.1, and on ::1 if the machine has it. Requests wait for `open`. Throws
 * PortTakenError.
 */
export async function openServer(options: DaemonServerOptions): Promise<DaemonServer> {
  const sockets = new Set<Socket>();
  const { servers: byPort, port, ipv6 } = await listenOnLoopback(options.port, options.insist, sockets);
  const hostsOf = (names: readonly string[]) => [
    ...names.map(name => `${name}:${port}`),
    // Clients omit HTTP's default port.
    ...(port === 80 ? names : []),
  ];
  const screenName = `${randomBytes(16).toString("hex")}.localhost`;
  const screenHosts = hostsOf([screenName]);
  const isForScreen = ({ headers: { host = "" } }: IncomingMessage) => screenHosts.includes(host);
  const engine = new DaemonEngine(
    {
      maxHttpBufferSize: limits.transportBytes,
      // Pages on origins that the settings allow may read the replies to polling; the guard has refused all others.
      cors: { origin: true },
      transports: ["polling", "websocket"],
      allowEIO3: false,
    },
    // At the screen's host, it is the screen's origin.
    request => hasOwnOrigin(request) && !isForScreen(request),
  );
  const engineIds = new WeakMap<IncomingMessage, string>();
  engine.generateId = request => {
    // Part of what a client signs, so nobody may guess it.
    const id = randomBytes(32).toString("base64url");
    engineIds.set(request, id);
    return id;
  };
  engine.on("headers", (headers: { [name: string]: string }) => {
    headers["X-Content-Type-Options"] = "nosniff";
  });
  engine.on("connection", oneWriteForEachFlush);
  const { allowedOrigins } = options;
  const ofSocket = new WeakSet<IncomingMessage>();
  const serve = ({ server, release }: HeldServer, guard: Guard) => {
    server.on("request", (request, response) => {
      const refusal = guard(request, false);
      if (refusal !== undefined) {
        options.onRefusal(refusal, request);
        refuse(response, refusal);
      } else if (isSocketRequest(request)) {
        if (isScriptRequest(request)) {
          const jsonp: Refusal = { cause: "origin", message: "Refused: JSONP is not supported." };
          options.onRefusal(jsonp, request);
          return refuse(response, jsonp);
        }
        engine.handleRequest(engineRequest(request), response);
      } else {
        options.onRequest(request, response);
      }
    });
    server.on("upgrade", (request: IncomingMessage, socket: Duplex, head: Buffer) => {
      const refusal = guard(request, true);
      if (refusal !== undefined) options.onRefusal(refusal, request);
      if (refusal !== undefined || !isSocketRequest(request)) refuseUpgrade(socket);
      else engine.handleUpgrade(engineRequest(request), socket, head);
    });
    release();
  };
  const toolHosts = hostsOf(["127.0.0.1", "localhost", ...(ipv6 ? ["[::1]"] : [])]);
  const guardByName = createGuard({ toolHosts, screenHosts: [...screenHosts], allowedOrigins });
  const local = createHeldServer(sockets);
  const socket = await listenLocally(local.server, options);
  const servers = socket === undefined ? [...byPort] : [...byPort, local];
  const open = () => {
    for (const held of byPort) serve(held, guardByName);
    if (socket === undefined) return;
    // This must come first, before the guard.
    for (const event of ["request", "upgrade"] as const) local.server.on(event, request => ofSocket.add(request));
    serve(local, guardLocally);
  };
  const openByAddress = async () => {
    const held = createHeldServer(sockets);
    await listen(held.server, { host: "127.0.0.1", port: 0 });
    const host = `127.0.0.1:${(held.server.address() as AddressInfo).port}`;
    screenHosts.push(host);
    serve(held, createGuard({ toolHosts: [], screenHosts: [host], allowedOrigins: () => [] }));
    servers.push(held);
    return originOf(host);
  };
  let byAddress: Promise<string> | undefined;
  const openScreenByAddress = () => {
    byAddress ??= openByAddress().catch(error => {
      byAddress = undefined;
      throw error;
    });
    return byAddress;
  };
  const close = async () => {
    engine.close();
    const closed = Promise.all(servers.map(({ server }) => new Promise(resolve => server.close(resolve))));
    // Closes each socket once its data is written, without waiting for the client to close it too: a suspended client never does.
    for (const socket of sockets) socket.destroySoon();
    const cancel = options.clock.schedule(goodByeTime, () => {
      for (const socket of sockets) socket.destroy();
    });
    await closed;
    cancel();
  };
  const connectionOf = (request: IncomingMessage) => ({
    // The name that the client used; the guard has accepted it.
    url: `http://${request.headers.host}`,
    engineId: engineIds.get(request) ?? "",
  });
  const channelOf = (request: IncomingMessage) => (ofSocket.has(request) ? "socket" : "port");
  const screenOrigin = originOf(`${screenName}:${port}`);
  return {
    port,
    ipv6,
    screenOrigin,
    openScreenByAddress,
    isForScreen,
    socket,
    engine,
    open,
    channelOf,
    connectionOf,
    hasOwnOrigin: request => engine.hasOwnOrigin(request),
    close,
  };
}

/** Writes the packets of one flush in one system call: with one call each, many sets at once cost about a tenth more. */
function oneWriteForEachFlush(connection: EngineSocket): void {
  const { socket } = connection.request;
  connection.on("flush", () => {
    socket.cork();
    process.nextTick(() => socket.uncork());
  });
}

/** An origin as browsers write it: without HTTP's default port. */
const originOf = (host: string) => new URL(`http://${host}`).origin;

/** How often to try to find a port that is free on both addresses. */
const portTries = 20;

/**
 * Opens the port on 127.0.0.1 and, if the machine has IPv6, on ::1: "localhost" may resolve to either, and no other program may
 * listen on one of them. Throws PortTakenError.
 */
async function listenOnLoopback(
  port: number,
  insist: boolean,
  sockets: Set<Socket>,
): Promise<{ readonly servers: readonly HeldServer[]; readonly port: number; readonly ipv6: boolean }> {
  for (let attempt = 0; ; attempt++) {
    const [ipv4, ipv6] = [createHeldServer(sockets), createHeldServer(sockets)];
    try {
      await listen(ipv4.server, { host: "127.0.0.1", port: attempt === 0 ? port : 0 });
      const { port: taken } = ipv4.server.address() as AddressInfo;
      const has6 = await listen(ipv6.server, { host: "::1", port: taken }).then(
        () => true,
        error => {
          if (isTaken(error)) throw error;
          return false;
        },
      );
      return { servers: has6 ? [ipv4, ipv6] : [ipv4], port: taken, ipv6: has6 };
    } catch (error) {
      for (const early of sockets) early.destroy();
      await new Promise(resolve => ipv4.server.close(resolve));
      if (!isTaken(error) || attempt === portTries) throw error;
      if (insist && port !== 0)
        throw new PortTakenError(`Port ${port} is in use. Choose another with --port, or omit --port.`);
    }
  }
}

function isTaken(error: unknown): boolean {
  return error instanceof Error && "code" in error && (error.code === "EADDRINUSE" || error.code === "EACCES");
}

function listen(server: HttpServer, where: ListenOptions): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen({ ...where, exclusive: true }, () => {
      server.off("error", reject);
      resolve();
    });
  });
}

/** The Unix socket's path once it listens; undefined if there is none. */
async function listenLocally(
  server: HttpServer,
  { socketPath, onSocketFailure }: DaemonServerOptions,
): Promise<string | undefined> {
  if (socketPath === undefined) return undefined;
  try {
    await listen(server, { path: socketPath });
    // The folder already keeps others out; this shows anyone who only checks the socket that it is private.
    await chmod(socketPath, 0o600);
    return socketPath;
  } catch (error) {
    // Some file systems do not support sockets. Everything works without one.
    onSocketFailure(error);
    return undefined;
  }
}

/** A server that holds requests until it is released: a server without listeners would never answer them. */
interface HeldServer {
  readonly server: HttpServer;
  /** Passes held requests to the listeners. */
  release(): void;
}

function createHeldServer(sockets: Set<Socket>): HeldServer {
  const server = createServer();
  server.maxConnections = limits.openConnections;
  trackSockets(server, sockets);
  const kept: (() => void)[] = [];
  const keepRequest = (request: IncomingMessage, response: ServerResponse) => {
    kept.push(() => server.emit("request", request, response));
  };
  const keepUpgrade = (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    // Nobody else listens to it yet.
    socket.on("error", () => {});
    kept.push(() => server.emit("upgrade", request, socket, head));
  };
  server.on("request", keepRequest).on("upgrade", keepUpgrade);
  const release = () => {
    server.off("request", keepRequest).off("upgrade", keepUpgrade);
    for (const handle of kept) handle();
  };
  return { server, release };
}

/** Tracks the open sockets, including upgraded ones, which servers do not track. */
function trackSockets(server: HttpServer, sockets: Set<Socket>): void {
  server.on("connection", socket => {
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
  });
}

function isSocketRequest(request: IncomingMessage): boolean {
  const path = request.url?.split("?", 1)[0];
  return path === socketPath || path === socketPath.slice(0, -1);
}

/** Engine.IO answers `j=N` with a script (JSONP), which a page of any origin could run and so read. */
function isScriptRequest(request: IncomingMessage): boolean {
  return URL.parse(request.url ?? "", "http://localhost")?.searchParams.has("j") !== false;
}

/** engine.io's request type has members that engine.io adds itself. */
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
