import { randomBytes } from "node:crypto";
import type { Server as HttpServer, IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { Server as Engine } from "engine.io";
import type { Clock } from "../../time/clock.ts";
import type { SocketServer } from "../socket/connections.ts";
import type { DaemonEngine } from "../socket/engine.ts";
import type { Channel } from "../socket/fairness/key-budget.ts";
import { createGuard, type Guard, guardLocally, hasOwnOrigin, isOneShot, type Refusal } from "./guard.ts";
import { type HeldServer, type LocalServer, listenLocally, listenOnFreePort, listenOnLoopback } from "./listen.ts";
import { answeredOldClient } from "./old-client.ts";
import type { OneShotRequests } from "./one-shot.ts";
import { refuseSlowHeaders } from "./slow-headers.ts";

/*
 * The daemon's HTTP servers. Security posture:
 * - It listens only on loopback addresses, and on a Unix socket in a folder of the
 *   owner, which no other user can occupy and no browser can reach.
 * - The guard (guard.ts) checks every request and every upgrade before any route. Socket.IO's own `cors` option would
 *   not: it does not apply to WebSockets.
 * - The screen has its own origin, with an unguessable name that is new at each start: browsers treat all ports
 *   of 127.0.0.1 as one site, where anything that another program's page left (a service worker) would outlive it.
 * - Answers without a key (health and the identity proof) reveal nothing about the configuration.
 * - Everything else needs an API key, checked at the Socket.IO handshake (admission.ts), or in a one-shot request (one-shot.ts), which
 *   only the Unix socket takes.
 */

export interface DaemonServerOptions {
  /** The preferred port, and whether another one may be used. 0 means any free port. */
  readonly port: number;
  readonly insist: boolean;
  /** The folder for the Unix socket. */
  readonly socketFolder: string;
  onProblem(message: string, context: object): void;
  readonly clock: Clock;
}

export interface RequestHandlers {
  allowedOrigins(): readonly string[];
  /** Answers requests other than Socket.IO's, after the guard has accepted them. */
  onRequest(request: IncomingMessage, response: ServerResponse): void;
  onRefusal(refusal: Refusal, request: IncomingMessage): void;
  readonly oneShot: Pick<OneShotRequests, "answer" | "refuseBroken" | "refuseSlow" | "refuseUpgrade">;
}

/** Milliseconds that a client has to read its last packets. */
const goodByeTime = 1_000;
const enginePath = "/socket.io/";

/** The daemon's port, and its Unix socket if there is one. Requests wait for `open`. */
export class DaemonServer {
  readonly port: number;
  readonly url: string;
  /** Whether [::1] answers too. */
  readonly ipv6: boolean;
  /** The path of the Unix socket, if there is one. */
  readonly socket: string | undefined;
  /** The origin of the screen, which serves nothing else. */
  readonly screenOrigin: string;
  /** Called before the first client of Socket.IO is connected. */
  onSocketServer: (io: SocketServer) => void = () => {};
  readonly #clock: Clock;
  readonly #sockets: Set<Socket>;
  readonly #servers: HeldServer[];
  readonly #local: LocalServer | undefined;
  readonly #screenHosts: string[];
  readonly #engineIds = new WeakMap<IncomingMessage, string>();
  readonly #ofSocket = new WeakSet<IncomingMessage>();
  #handlers: RequestHandlers | undefined;
  #loading: Promise<DaemonEngine> | undefined;
  #engine: DaemonEngine | undefined;
  #screenByAddress: Promise<string> | undefined;

  private constructor(
    clock: Clock,
    { servers, port, ipv6 }: Awaited<ReturnType<typeof listenOnLoopback>>,
    local: LocalServer | undefined,
    sockets: Set<Socket>,
  ) {
    const screenName = `${randomBytes(16).toString("hex")}.localhost`;
    this.port = port;
    this.url = `http://127.0.0.1:${port}`;
    this.ipv6 = ipv6;
    this.socket = local?.path;
    this.screenOrigin = originOf(`${screenName}:${port}`);
    this.#clock = clock;
    this.#sockets = sockets;
    this.#servers = [...servers];
    this.#local = local;
    this.#screenHosts = this.#hostsOf([screenName]);
  }

  /** Opens the port on 127.0.0.1, and on ::1 if the machine has it, and the Unix socket. Throws PortTakenError. */
  static async listen(options: DaemonServerOptions): Promise<DaemonServer> {
    const { port, insist, socketFolder, onProblem, clock } = options;
    const sockets = new Set<Socket>();
    const byPort = await listenOnLoopback(port, insist, sockets);
    const local = await listenLocally(socketFolder, sockets).catch((error: unknown) => {
      onProblem("no Unix socket; tools connect through the port", { error: String(error) });
      return undefined;
    });
    return new DaemonServer(clock, byPort, local, sockets);
  }

  /** Starts answering, including requests that arrived since the port was opened. */
  open(handlers: RequestHandlers): void {
    this.#handlers = handlers;
    const { allowedOrigins } = handlers;
    const toolHosts = this.#hostsOf(["127.0.0.1", "localhost", ...(this.ipv6 ? ["[::1]"] : [])]);
    const guardByName = createGuard({ toolHosts, screenHosts: [...this.#screenHosts], allowedOrigins });
    for (const held of this.#servers) this.#serve(held, guardByName, handlers);
    if (this.#local === undefined) return;
    // This must come first, before the guard.
    for (const event of ["request", "upgrade"] as const)
      this.#local.server.on(event, (request: IncomingMessage) => this.#ofSocket.add(request));
    this.#local.server.on("clientError", (error, socket) => handlers.oneShot.refuseBroken(error, socket));
    refuseSlowHeaders(this.#local.server, this.#clock, socket => handlers.oneShot.refuseSlow(socket));
    letDecideOnBodies(this.#local.server);
    this.#serve(this.#local, guardLocally, handlers);
  }

  /** The screen's origin for browsers that cannot resolve its name: a port of 127.0.0.1, opened at the first call. */
  openScreenByAddress(): Promise<string> {
    this.#screenByAddress ??= this.#openByAddress().catch(error => {
      this.#screenByAddress = undefined;
      throw error;
    });
    return this.#screenByAddress;
  }

  /** Whether a request is to the screen's own host. */
  isForScreen({ headers: { host = "" } }: IncomingMessage): boolean {
    return this.#screenHosts.includes(host);
  }

  /** Whether a request arrived at the port or the Unix socket. */
  channelOf(request: IncomingMessage): Channel {
    return this.#ofSocket.has(request) ? "socket" : "port";
  }

  /** The facts about the connection started by this request that client and daemon sign. */
  connectionOf(request: IncomingMessage): { readonly url: string; readonly engineId: string } {
    // The name that the client used; the guard has accepted it.
    return { url: `http://${request.headers.host}`, engineId: this.#engineIds.get(request) ?? "" };
  }

  /** Whether the connection started by this request has the daemon's own Origin: only keys may use it. */
  hasOwnOrigin(request: IncomingMessage): boolean {
    return this.#engine?.hasOwnOrigin(request) ?? false;
  }

  async close(): Promise<void> {
    this.#engine?.close();
    const servers = this.#local === undefined ? this.#servers : [...this.#servers, this.#local];
    const closed = Promise.all(servers.map(({ server }) => new Promise(resolve => server.close(resolve))));
    // Closes each socket once its data is written, without waiting for the client to close it too: a suspended client never does.
    for (const socket of this.#sockets) socket.destroySoon();
    const cancel = this.#clock.schedule(goodByeTime, () => {
      for (const socket of this.#sockets) socket.destroy();
    });
    await closed;
    cancel();
  }

  /** Loaded for its first request: to load Socket.IO takes a tenth of a start, and a command that is one request needs none of it. */
  #loadEngine(): Promise<DaemonEngine> {
    this.#loading ??= import("../socket/engine.ts").then(({ createSocketServer }) => {
      // The same Origin at the screen's host is the screen's own.
      const isWithOwnOrigin = (request: IncomingMessage) => hasOwnOrigin(request) && !this.isForScreen(request);
      const { io, engine } = createSocketServer(isWithOwnOrigin);
      engine.generateId = request => {
        // It is part of what a client signs, so nobody may guess it.
        const id = randomBytes(32).toString("base64url");
        this.#engineIds.set(request, id);
        return id;
      };
      this.onSocketServer(io);
      this.#engine = engine;
      return engine;
    });
    return this.#loading;
  }

  #serve({ server, release }: HeldServer, guard: Guard, { onRequest, onRefusal, oneShot }: RequestHandlers): void {
    server.on("request", (request, response) => {
      const refusal = guard(request, false);
      if (refusal !== undefined) onRefusal(refusal, request);
      if (isOneShot(request) && !this.isForScreen(request)) {
        void oneShot.answer(request, response, this.channelOf(request), refusal);
      } else if (refusal !== undefined) {
        refuse(response, refusal);
      } else if (isSocketRequest(request)) {
        if (isScriptRequest(request)) {
          const jsonp: Refusal = { cause: "origin", message: "Refused: JSONP is not supported." };
          onRefusal(jsonp, request);
          return refuse(response, jsonp);
        }
        if (!answeredOldClient(request, response))
          void this.#loadEngine().then(engine => engine.handleRequest(engineRequest(request), response));
      } else {
        onRequest(request, response);
      }
    });
    server.on("upgrade", (request: IncomingMessage, socket: Duplex, head: Buffer) => {
      const refusal = guard(request, true);
      if (refusal !== undefined) onRefusal(refusal, request);
      if (isOneShot(request) && !this.isForScreen(request))
        oneShot.refuseUpgrade(socket, this.channelOf(request), refusal);
      else if (refusal !== undefined || !isSocketRequest(request)) refuseUpgrade(socket);
      else {
        // Nobody else listens to it yet.
        socket.on("error", () => {});
        void this.#loadEngine().then(engine => engine.handleUpgrade(engineRequest(request), socket, head));
      }
    });
    release();
  }

  async #openByAddress(): Promise<string> {
    if (this.#handlers === undefined) throw new Error("the server is not open yet");
    const { held, port } = await listenOnFreePort(this.#sockets);
    const host = `127.0.0.1:${port}`;
    this.#screenHosts.push(host);
    this.#serve(held, createGuard({ toolHosts: [], screenHosts: [host], allowedOrigins: () => [] }), this.#handlers);
    this.#servers.push(held);
    return originOf(host);
  }

  /** The values of Host for these names. */
  #hostsOf(names: readonly string[]): string[] {
    // Clients omit HTTP's default port.
    return [...names.map(name => `${name}:${this.port}`), ...(this.port === 80 ? names : [])];
  }
}

/** Lets a one-shot request's client send its body only once its key was checked: by default, Node would at once. */
function letDecideOnBodies(server: HttpServer): void {
  server.on("checkContinue", (request, response) => {
    if (!isOneShot(request)) response.writeContinue();
    server.emit("request", request, response);
  });
  server.on("checkExpectation", (request, response) => {
    if (isOneShot(request)) server.emit("request", request, response);
    else response.writeHead(417).end();
  });
}

/** An origin as browsers write it: without HTTP's default port. */
const originOf = (host: string) => new URL(`http://${host}`).origin;

function isSocketRequest(request: IncomingMessage): boolean {
  const path = request.url?.split("?", 1)[0];
  return path === enginePath || path === enginePath.slice(0, -1);
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
