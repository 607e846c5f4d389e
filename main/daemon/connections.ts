import type { Server as Engine } from "engine.io";
import { Server, type Socket } from "socket.io";
import { errorNames, RepoconfError, toRepoconfError } from "../../shared/errors.ts";
import { limits } from "../../shared/limits.ts";
import type {
  ClientToServerEvents,
  EventMessage,
  RepositoryEntry,
  ServerToClientEvents,
} from "../../shared/protocol.ts";
import type { Caller } from "./caller.ts";
import type { ConfigService } from "./config-service.ts";
import { Connection } from "./connection.ts";
import type { Dispatch } from "./dispatch.ts";
import type { StoreEvent } from "./store/store.ts";

interface SocketData {
  caller?: Caller;
}
type ServerSocket = Socket<ClientToServerEvents, ServerToClientEvents, Record<string, never>, SocketData>;

export interface ConnectionsOptions {
  readonly engine: Engine;
  readonly dispatch: Dispatch;
  readonly service: ConfigService;
  /** Throws RepoconfError 1100. */
  authenticate(key: string): Caller;
  isValid(caller: Caller): boolean;
  onRefusal(error: RepoconfError): void;
  /** How many clients there are, whenever that changes. */
  onCount(count: number): void;
}

/** Milliseconds a client has, once connected, to show its key. */
const connectTimeout = 10_000;

/** The Socket.IO side: lets clients in by their key, hands their messages on, sends them the events they watch and may see. */
export class Connections {
  readonly #options: ConnectionsOptions;
  readonly #io: Server<ClientToServerEvents, ServerToClientEvents, Record<string, never>, SocketData>;
  readonly #connections = new Set<Connection>();

  constructor(options: ConnectionsOptions) {
    this.#options = options;
    this.#io = new Server({ serveClient: false, connectTimeout });
    this.#io.use((socket, next) => this.#admit(socket, next));
    this.#io.on("connection", socket => this.#accept(socket));
    this.#io.bind(options.engine);
  }

  get count(): number {
    return this.#connections.size;
  }

  /** Ends the connections of a key that was revoked. */
  disconnectKey(keyId: string): void {
    for (const connection of [...this.#connections]) if (connection.caller.keyId === keyId) connection.disconnect();
  }

  disconnectAll(): void {
    for (const connection of [...this.#connections]) connection.disconnect();
  }

  /** Sends a store's event to those who watch and may see it. */
  publish(event: StoreEvent): void {
    if (event.kind === "changed") {
      const { service } = this.#options;
      this.#send(
        connection => connection.watches(event.state.id),
        caller => {
          const change = service.viewChange(caller, event);
          return change && ["config", "changed", change];
        },
      );
    } else {
      this.#publishEntry(event.kind, caller => this.#options.service.viewEntry(caller, event));
    }
  }

  publishScope(scope: string, canSee: (caller: Caller) => boolean): void {
    this.#send(
      connection => connection.watchesEverything,
      caller => (canSee(caller) ? ["scope", "changed", { scope }] : undefined),
    );
  }

  publishKeys(): void {
    this.#send(
      connection => connection.watchesEverything,
      caller => (caller.owner ? ["key", "changed", {}] : undefined),
    );
  }

  #publishEntry(
    kind: "added" | "updated" | "removed" | "health",
    view: (caller: Caller) => RepositoryEntry | undefined,
  ): void {
    this.#send(
      connection => connection.watchesEverything,
      caller => {
        const entry = view(caller);
        return entry && ["repo", kind, entry];
      },
    );
  }

  /** Makes the message once for each key and sends it to each of its connections that are interested. */
  #send(interested: (connection: Connection) => boolean, message: (caller: Caller) => EventMessage | undefined): void {
    const messages = new Map<Caller, EventMessage | undefined>();
    for (const connection of [...this.#connections]) {
      if (!interested(connection)) continue;
      const { caller } = connection;
      if (!this.#options.isValid(caller)) {
        connection.disconnect();
        continue;
      }
      if (!messages.has(caller)) messages.set(caller, message(caller));
      const made = messages.get(caller);
      if (made !== undefined) connection.send(...made);
    }
  }

  /** A client that does not read must not fill the memory; it comes back and asks anew. */
  #dropSlow(socket: ServerSocket): void {
    const message = `A client was disconnected: more than ${limits.waitingEventBytes} bytes of events waited for it.`;
    this.#options.onRefusal(new RepoconfError(1107, message));
    // `disconnect` would wait for what it does not read.
    socket.conn.transport.close();
    socket.disconnect(true);
  }

  async #dispatch(message: readonly unknown[], connection: Connection): Promise<void> {
    await this.#options.dispatch(message, connection);
    // It expired while connected, and has just been told so.
    if (!this.#options.isValid(connection.caller)) connection.disconnect();
  }

  #admit(socket: ServerSocket, next: (error?: Error) => void): void {
    try {
      const caller = this.#options.authenticate(keyOf(socket));
      // Only those with a key count: others are gone in a moment, and must not keep anyone out.
      if (this.#connections.size >= limits.sockets) {
        throw new RepoconfError(
          1107,
          `Too many connections: the limit is ${limits.sockets}. Close some and try again.`,
        );
      }
      socket.data.caller = caller;
      next();
    } catch (thrown) {
      const error = toRepoconfError(thrown);
      this.#options.onRefusal(error);
      const { code } = error;
      next(
        Object.assign(new Error(code === 1100 ? errorNames[1100] : error.message), {
          data: { code, name: errorNames[code] },
        }),
      );
    }
  }

  #accept(socket: ServerSocket): void {
    const { caller } = socket.data;
    if (caller === undefined) {
      socket.disconnect(true);
      return;
    }
    const waitingBytes = countWaiting(socket);
    const connection = new Connection(
      caller,
      (...message) => {
        if (waitingBytes() > limits.waitingEventBytes) this.#dropSlow(socket);
        else socket.emit("svc", ...message);
      },
      () => socket.disconnect(true),
    );
    this.#connections.add(connection);
    this.#options.onCount(this.#connections.size);
    socket.on("disconnect", () => {
      this.#connections.delete(connection);
      // A client that only leaves the namespace would keep its transport for as long as it likes.
      socket.conn.close();
      this.#options.onCount(this.#connections.size);
    });
    // Whatever event a client sends, so that one with a mistyped name gets an answer too.
    socket.onAny((...message: unknown[]) => void this.#dispatch(message, connection));
  }
}

/** Tells how many bytes wait in this process for the client to read. */
function countWaiting({ conn }: ServerSocket): () => number {
  let bytes = 0;
  conn.on("packetCreate", ({ data }: { data?: unknown }) => {
    if (typeof data === "string") bytes += data.length;
  });
  // Handed to the transport, which takes no more until that is gone.
  conn.on("flush", () => {
    bytes = 0;
  });
  return () => bytes;
}

/** The key a client showed: `auth.apiKey`, else the header `Authorization: Bearer KEY`; "" for none. */
function keyOf(socket: ServerSocket): string {
  const auth: unknown = socket.handshake.auth;
  if (typeof auth === "object" && auth !== null && "apiKey" in auth && typeof auth.apiKey === "string")
    return auth.apiKey;
  const bearer = /^Bearer (\S+)$/i.exec(socket.handshake.headers.authorization ?? "");
  return bearer?.[1] ?? "";
}
