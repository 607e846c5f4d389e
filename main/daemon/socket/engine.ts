import type { IncomingMessage } from "node:http";
import { Server as Engine, type Socket as EngineSocket, type Transport } from "engine.io";
import { Server } from "socket.io";
import { limits } from "../../../shared/limits.ts";
import type { SocketServer } from "./connections.ts";
import { replyParser } from "./reply-parser.ts";

/** Milliseconds that a client has to authenticate after connecting. */
const connectTimeout = 10_000;

/**
 * Socket.IO's server on Engine.IO's. Their code is loaded with this file, which is loaded for the first client.
 * `isWithOwnOrigin`: whether a request has the daemon's own Origin.
 */
export function createSocketServer(isWithOwnOrigin: (request: IncomingMessage) => boolean): {
  readonly io: SocketServer;
  readonly engine: DaemonEngine;
} {
  const engine = new DaemonEngine(
    {
      maxHttpBufferSize: limits.transportBytes,
      // Pages on origins that the settings allow may read the replies to polling; the guard has refused all others.
      cors: { origin: true },
      transports: ["polling", "websocket"],
      allowEIO3: false,
    },
    isWithOwnOrigin,
  );
  engine.on("headers", (headers: { [name: string]: string }) => {
    headers["X-Content-Type-Options"] = "nosniff";
  });
  engine.on("connection", oneWriteForEachFlush);
  const io: SocketServer = new Server({ serveClient: false, connectTimeout, parser: replyParser });
  io.bind(engine);
  return { io, engine };
}

/** Writes the packets of one flush in one system call: with one call each, many sets at once cost about a tenth more. */
function oneWriteForEachFlush(connection: EngineSocket): void {
  const { socket } = connection.request;
  connection.on("flush", () => {
    socket.cork();
    process.nextTick(() => socket.uncork());
  });
}

type Packets = Parameters<Transport["send"]>[0];

/** Parts of Engine.IO that its types hide. */
interface Internals {
  /** What waits for the transport. */
  writeBuffer: Packets;
  /** Set while the transport is to be closed: it then appends a packet that says so to what it sends. */
  readonly transport: Transport & { shouldClose: (() => void) | null };
}

/** Engine.IO's server, except that it limits payloads, and remembers which connections have the daemon's own Origin. */
export class DaemonEngine extends Engine {
  readonly #isWithOwnOrigin: (request: IncomingMessage) => boolean;
  readonly #withOwnOrigin = new WeakSet<IncomingMessage>();

  constructor(
    options: ConstructorParameters<typeof Engine>[0],
    isWithOwnOrigin: (request: IncomingMessage) => boolean,
  ) {
    super(options);
    this.#isWithOwnOrigin = isWithOwnOrigin;
    this.on("connection", limitPayloads);
  }

  /** Whether the connection that this request opened ever used the daemon's own Origin, also in an upgrade. */
  hasOwnOrigin(opening: IncomingMessage): boolean {
    return this.#withOwnOrigin.has(opening);
  }

  /** Called for the request that opens a connection, and for the one that upgrades it. */
  protected override createTransport(
    name: "polling" | "websocket" | "webtransport",
    request: IncomingMessage & { readonly _query?: { readonly sid?: string } },
  ): Transport {
    const sid = request._query?.sid;
    const opening = sid === undefined ? request : this.clients[sid]?.request;
    if (opening !== undefined && this.#isWithOwnOrigin(request)) this.#withOwnOrigin.add(opening);
    return super.createTransport(name, request);
  }
}

/**
 * Over polling, Engine.IO puts everything that waits into one payload, but python-engineio ends a connection whose payload has more
 * than 16 packets. What is left goes back to where it waited: from there it follows with the next request, or by the WebSocket that
 * the connection is upgraded to.
 */
function limitPayloads(connection: EngineSocket): void {
  const internals = connection as unknown as Internals;
  const { transport } = internals;
  if (transport.name !== "polling") return;
  let rest: Packets = [];
  // This is the first listener, so that those that count what is sent see only that.
  connection.on("flush", (packets: Packets) => {
    // The last place is for the packet that closes the transport.
    if (connection.transport === transport) rest = packets.splice(limits.packetsPerPayload - 1);
  });
  const send = transport.send.bind(transport);
  transport.send = packets => {
    if (rest.length === 0) return send(packets);
    internals.writeBuffer = rest;
    rest = [];
    // The transport is closed only after the last payload.
    const { shouldClose } = transport;
    transport.shouldClose = null;
    send(packets);
    transport.shouldClose = shouldClose;
  };
}
