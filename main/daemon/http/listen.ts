import { chmod } from "node:fs/promises";
import {
  createServer,
  type Server as HttpServer,
  type IncomingMessage,
  type ServerOptions,
  type ServerResponse,
} from "node:http";
import type { AddressInfo, ListenOptions, Socket } from "node:net";
import type { Duplex } from "node:stream";
import { limits } from "../../../shared/limits.ts";
import { localSocketPath } from "../../home/local-socket.ts";

/** The required port is in use. */
class PortTakenError extends Error {
  override readonly name = "PortTakenError";
}

/** A server that holds requests until it is released: a server without listeners would never answer them. */
export interface HeldServer {
  readonly server: HttpServer;
  /** Passes held requests to the listeners. */
  release(): void;
}

/** How many times to try to find a port that is free on both addresses. */
const portTries = 20;

/**
 * Opens the port on 127.0.0.1 and, if the machine has IPv6, on ::1: "localhost" may resolve to either, and no other program may
 * listen on one of them. With `insist`, only this port will do; 0 means any. Throws PortTakenError.
 */
export async function listenOnLoopback(
  port: number,
  insist: boolean,
  sockets: Set<Socket>,
): Promise<{ readonly servers: readonly HeldServer[]; readonly port: number; readonly ipv6: boolean }> {
  for (let attempt = 0; ; attempt++) {
    const [ipv4, ipv6] = [createHeldServer(sockets), createHeldServer(sockets)];
    try {
      await listen(ipv4.server, { host: "127.0.0.1", port: attempt === 0 ? port : 0 });
      const taken = portOf(ipv4);
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

/** Opens any free port of 127.0.0.1. */
export async function listenOnFreePort(
  sockets: Set<Socket>,
): Promise<{ readonly held: HeldServer; readonly port: number }> {
  const held = createHeldServer(sockets);
  await listen(held.server, { host: "127.0.0.1", port: 0 });
  return { held, port: portOf(held) };
}

export interface LocalServer extends HeldServer {
  readonly path: string;
}

/**
 * Opens a Unix socket in a folder. Undefined if there can be none on this system or at this path. Throws the system's error: some file
 * systems do not support sockets.
 */
export async function listenLocally(folder: string, sockets: Set<Socket>): Promise<LocalServer | undefined> {
  const path = await localSocketPath(folder);
  if (path === undefined) return undefined;
  // The guard decides about the Host, and says what is wrong with it.
  const held = createHeldServer(sockets, { requireHostHeader: false });
  await listen(held.server, { path });
  // The folder already keeps others out; this shows anyone who only checks the socket that it is private.
  await chmod(path, 0o600);
  return { ...held, path };
}

function portOf({ server }: HeldServer): number {
  return (server.address() as AddressInfo).port;
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

function createHeldServer(sockets: Set<Socket>, options: ServerOptions = {}): HeldServer {
  const server = createServer(options);
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
