import type { IncomingMessage } from "node:http";
import type { Server as Engine } from "engine.io";
import { Server, type Socket } from "socket.io";
import { errorNames, RepoconfError, toRepoconfError } from "../../../shared/errors.ts";
import type { Grants } from "../../../shared/grants.ts";
import { type ClientProof, type Handshake, nonceForm, refusalText, serverText } from "../../../shared/handshake.ts";
import { isJsonObject } from "../../../shared/json.ts";
import { limits } from "../../../shared/limits.ts";
import type {
  ClientToServerEvents,
  DraftsChanged,
  EventMessage,
  ProgressMessage,
  RepositoryEntry,
  ServerToClientEvents,
} from "../../../shared/protocol.ts";
import type { RepositoryStore } from "../../store/store.ts";
import type { Actor, StoreEvent } from "../../store/types.ts";
import type { Clock } from "../../time/clock.ts";
import type { Yielding } from "../../time/yielding.ts";
import type { ConfigService } from "../config/config-service.ts";
import { sealPosition } from "../config/sealed-position.ts";
import { bearerOf } from "../keys/key-text.ts";
import { type Proven, UnauthorizedError } from "../keys/keys.ts";
import type { Caller } from "./caller.ts";
import { catchUp, isProgressDue } from "./catch-up.ts";
import { Connection, type ConnectionSocket } from "./connection.ts";
import type { Dispatch } from "./dispatch.ts";
import type { Channel, KeyBudget, Seat } from "./key-budget.ts";
import { replyParser, sendPreparedFrames } from "./prepared-replies.ts";
import { countWaiting, cutOff, readingOf } from "./transport-bytes.ts";

interface SocketData {
  caller?: Caller;
  /** The daemon's own proof, for a client that proved its key. */
  proof?: string;
  seat?: Seat;
}
type ServerSocket = Socket<ClientToServerEvents, ServerToClientEvents, Record<string, never>, SocketData>;

export interface ConnectionsOptions {
  readonly engine: Engine;
  readonly dispatch: Dispatch;
  readonly service: ConfigService;
  readonly store: RepositoryStore;
  readonly budget: KeyBudget;
  readonly yielding: Yielding;
  readonly clock: Clock;
  /** Throws RepoconfError 1100. */
  authenticate(key: string): Caller;
  /** Like `authenticate`, with a proof of the key, or of a session if those may use this connection. */
  authenticateProof(proof: ClientProof, handshake: Handshake, allowsSessions: boolean): Proven;
  /** Whether the connection started by this request has the daemon's own Origin: no session may use it. */
  hasOwnOrigin(request: IncomingMessage): boolean;
  /** The text about this connection that both sides sign. */
  connectionOf(request: IncomingMessage): Omit<Handshake, "nonce">;
  channelOf(request: IncomingMessage): Channel;
  /** HMAC-SHA256 of a text with the secret in daemon.json, in hexadecimal. */
  signAsDaemon(text: string): string;
  isValid(caller: Caller): boolean;
  onRefusal(error: RepoconfError): void;
  /** A client has connected or disconnected. */
  onUse(caller: Caller): void;
  /** Called with the number of clients whenever it changes. */
  onCount(count: number): void;
}

/** While a client catches up: above this many unread bytes, no more history is read for it. */
const drainAbove = 256 * 1024;
/** Milliseconds between two events about the progress of indexing. */
const indexingPause = 500;
/** Milliseconds that a client has to authenticate after connecting. */
const connectTimeout = 10_000;

/** The Socket.IO side: authenticates clients, passes their messages on, and sends them the events that they watch and may see. */
export class Connections {
  readonly #options: ConnectionsOptions;
  readonly #io: Server<ClientToServerEvents, ServerToClientEvents, Record<string, never>, SocketData>;
  readonly #connections = new Set<Connection>();
  /** When the progress of indexing was last sent, by the clock's `monotonic()`. */
  #indexingSentAt = Number.NEGATIVE_INFINITY;

  constructor(options: ConnectionsOptions) {
    this.#options = options;
    this.#io = new Server({ serveClient: false, connectTimeout, parser: replyParser });
    this.#io.use((socket, next) => this.#admit(socket, next));
    this.#io.on("connection", socket => this.#accept(socket));
    this.#io.bind(options.engine);
  }

  get count(): number {
    return this.#connections.size;
  }

  /** The number of connections with this key. */
  countOf(keyId: string): number {
    return [...this.#connections].filter(({ caller }) => caller.keyId === keyId).length;
  }

  /** Ends the connections of a key that was revoked. */
  disconnectKey(keyId: string): void {
    for (const connection of [...this.#connections])
      if (connection.caller.keyId === keyId) connection.socket.disconnect();
  }

  disconnectAll(): void {
    for (const connection of [...this.#connections]) connection.socket.disconnect();
  }

  /** Sends a store's event to the clients that watch it and may see it. */
  publish(event: StoreEvent): void {
    if (event.kind === "changed") {
      const { service, store } = this.#options;
      const { id, revision } = event.state;
      const position = event.isPart ? undefined : event.change.position;
      this.#send(
        connection => connection.watches(id),
        (caller, isCaughtUp) => {
          const change = service.viewChange(caller, id, event.change);
          const where = isCaughtUp && position !== undefined ? { position: sealPosition(position) } : {};
          if (change === undefined) return service.viewProgress(caller, id, revision, where);
          return ["config", "changed", { ...change, ...where }];
        },
        event.change.actor,
        (connection, made) => {
          if (made[1] === "progress" && !isProgressDue(connection.passOver(id), store, id)) return false;
          connection.markSent(id);
          return true;
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

  publishDrafts(changed: DraftsChanged): void {
    this.#send(
      connection => connection.watchesEverything,
      caller => (caller.owner ? ["draft", "changed", changed] : undefined),
    );
  }

  /** Sends the progress of reading new files to clients whose requests may wait for it. */
  publishIndexing(): void {
    const now = this.#options.clock.monotonic();
    if (now < this.#indexingSentAt + indexingPause) return;
    this.#indexingSentAt = now;
    for (const connection of [...this.#connections]) this.#sendIndexing(connection);
  }

  #sendIndexing({ socket, caller }: Connection): void {
    const { indexing } = this.#options.store;
    if (indexing === undefined || !socket.isProven) return;
    // Not every key may know how many repositories there are.
    socket.send(["daemon", "indexing", caller.owner ? indexing : {}]);
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

  /**
   * Creates and encodes the message once for all clients with the same rights, actor and position, and sends it to those
   * that are interested and for which `isDue` is true.
   */
  #send(
    interested: (connection: Connection) => boolean,
    message: (caller: Caller, isCaughtUp: boolean) => EventMessage | ProgressMessage | undefined,
    actor?: Actor,
    isDue: (connection: Connection, made: EventMessage | ProgressMessage) => boolean = () => true,
  ): void {
    const groups = new Map<string, { readonly made: ReturnType<typeof message>; readonly sockets: string[] }>();
    for (const connection of [...this.#connections]) {
      if (!interested(connection)) continue;
      const { caller, socket } = connection;
      if (!this.#options.isValid(caller)) {
        socket.disconnect();
        continue;
      }
      const isOwn = actor?.kind === "key" && actor.id === caller.actor.id;
      const alike = `${rightsOf(caller)} ${isOwn} ${connection.isCaughtUp}`;
      let group = groups.get(alike);
      if (group === undefined) {
        group = { made: message(caller, connection.isCaughtUp), sockets: [] };
        groups.set(alike, group);
      }
      const { made } = group;
      if (made !== undefined && isDue(connection, made) && socket.hasRoom()) group.sockets.push(socket.id);
    }
    for (const { made, sockets } of groups.values())
      if (made !== undefined && sockets.length > 0) this.#io.to(sockets).emit("svc", ...made);
  }

  /** Sends a connection the history that it asked for, one repository after the other. */
  #catchUp(connection: Connection): void {
    const goOn = async () => {
      for (let next = connection.catchUps; next.length > 0; next = connection.catchUps) {
        for (const [repo, run] of next) await catchUp(connection, repo, run, this.#options);
        // A watch that arrived in the meantime gets its reply first.
        await new Promise(setImmediate);
      }
      connection.restCatchingUp();
      // Events had no position so far, because changes that were still to be sent may precede them in the log.
      const position = sealPosition(this.#options.store.position);
      if (connection.goesByPosition) connection.socket.send(["config", "position", { position }]);
    };
    // After the reply to the watch.
    setImmediate(() => {
      goOn().catch(error => {
        // The client reconnects, asks for the same again, and gets the error.
        this.#options.onRefusal(toRepoconfError(error));
        connection.socket.disconnect();
      });
    });
  }

  /** A client that does not read must not fill the memory; it has to reconnect and ask again. */
  #dropSlow(socket: ServerSocket): void {
    const message = `A client was disconnected: more than ${limits.waitingEventBytes} bytes of unread events.`;
    this.#options.onRefusal(new RepoconfError(1107, message));
    cutOff(socket.conn);
  }

  async #dispatch(message: readonly unknown[], connection: Connection): Promise<void> {
    // A client that does not read its replies is disconnected, like one that does not read its events.
    if (!connection.socket.hasRoom()) return;
    await this.#options.dispatch(message, connection);
    if (!connection.socket.hasRoom()) return;
    // The key expired while connected; the client has just got the error.
    if (!this.#options.isValid(connection.caller)) connection.socket.disconnect();
  }

  #admit(socket: ServerSocket, next: (error?: Error) => void): void {
    const clientProof = proofOf(socket);
    const handshake = clientProof && { ...this.#options.connectionOf(socket.request), nonce: clientProof.nonce };
    try {
      const { caller, proof } = this.#authenticate(socket, clientProof, handshake);
      socket.data = { caller, ...(proof !== undefined && { proof }) };
      this.#seat(socket, caller);
      next();
    } catch (thrown) {
      const error = toRepoconfError(thrown);
      this.#options.onRefusal(error);
      const { code } = error;
      next(
        Object.assign(new Error(code === 1100 ? errorNames[1100] : error.message), {
          data: {
            code,
            name: errorNames[code],
            ...(handshake && { proof: this.#options.signAsDaemon(refusalText(handshake, code)) }),
          },
        }),
      );
      // After the error was sent: a connection that remained open would not be counted anywhere.
      setImmediate(() => socket.conn.close());
    }
  }

  #authenticate(
    socket: ServerSocket,
    clientProof: ClientProof | undefined,
    handshake: Handshake | undefined,
  ): { readonly caller: Caller; readonly proof?: string } {
    const { authenticate, authenticateProof } = this.#options;
    if (clientProof === undefined || handshake === undefined) return { caller: authenticate(keyOf(socket)) };
    const { caller, sign } = authenticateProof(clientProof, handshake, !this.#options.hasOwnOrigin(socket.request));
    return { caller, proof: sign(serverText(handshake)) };
  }

  /** Counts only clients with a key: others are disconnected at once, and must not keep anyone out. Throws RepoconfError 1107. */
  #seat(socket: ServerSocket, caller: Caller): void {
    const seat = this.#options.budget.enter(caller, this.#options.channelOf(socket.request));
    socket.data.seat = seat;
    // Also if the connection ends before the handshake does.
    socket.conn.once("close", () => seat.leave());
  }

  #socketOf(socket: ServerSocket, seat: Seat): ConnectionSocket {
    sendPreparedFrames(socket.conn);
    const waitingBytes = countWaiting(socket.conn, bytes => seat.wait(bytes));
    const hasRoom = () => {
      if (waitingBytes() <= limits.waitingEventBytes && !seat.isUnread) return true;
      this.#dropSlow(socket);
      return false;
    };
    return {
      id: socket.id,
      isProven: socket.data.proof !== undefined,
      hasRoom,
      drained: async () => {
        while (waitingBytes() > drainAbove && socket.connected) {
          const { promise, resolve } = Promise.withResolvers<void>();
          for (const event of ["drain", "close"] as const) socket.conn.once(event, resolve);
          await promise;
          for (const event of ["drain", "close"] as const) socket.conn.off(event, resolve);
        }
      },
      send: message => {
        if (hasRoom()) socket.emit("svc", ...message);
      },
      disconnect: () => socket.disconnect(true),
    };
  }

  #accept(socket: ServerSocket): void {
    const { caller, seat, proof } = socket.data;
    if (caller === undefined || seat === undefined) {
      socket.disconnect(true);
      return;
    }
    // This must come first: until then the client sends nothing and trusts nothing.
    if (proof !== undefined) socket.emit("svc", "session", proof);
    // Before any packet of the WebSocket is read.
    socket.conn.once("upgrade", () => {
      if (caller.kind !== "session" || !this.#options.hasOwnOrigin(socket.request)) return;
      this.#options.onRefusal(new UnauthorizedError(caller.keyId));
      cutOff(socket.conn);
    });
    const connection = new Connection(caller, this.#socketOf(socket, seat), one => this.#catchUp(one));
    this.#connections.add(connection);
    this.#sendIndexing(connection);
    seat.read(readingOf(socket.conn));
    // A packet may have no data.
    socket.conn.on("data", (data: { readonly length: number } | undefined) => seat.took(data?.length ?? 0));
    this.#options.onUse(caller);
    this.#options.onCount(this.#connections.size);
    socket.on("disconnect", () => {
      this.#connections.delete(connection);
      seat.leave();
      connection.end();
      this.#options.onUse(caller);
      // Otherwise a client that only leaves the namespace could keep its transport open for as long as it likes.
      socket.conn.close();
      this.#options.onCount(this.#connections.size);
    });
    // Handles every event that a client sends, so that one with a mistyped name gets an answer too.
    socket.onAny((...message: unknown[]) => void this.#dispatch(message, connection));
  }
}

const rightsTexts = new WeakMap<Grants, string>();

/** The same text for callers with the same rights. */
function rightsOf({ grants, owner }: Caller): string {
  let text = rightsTexts.get(grants);
  if (text === undefined) {
    text = JSON.stringify(grants);
    rightsTexts.set(grants, text);
  }
  return `${text} ${owner}`;
}

/** What a client sent to prove its key; undefined if it sent the key itself, or nothing. */
function proofOf({ handshake: { auth } }: ServerSocket): ClientProof | undefined {
  if (!isJsonObject(auth)) return undefined;
  const { keyId, nonce, proof } = auth;
  if (typeof keyId !== "string" || typeof nonce !== "string" || typeof proof !== "string") return undefined;
  return nonceForm.test(nonce) ? { keyId, nonce, proof } : undefined;
}

/** The key that a client sent: `auth.apiKey`, else the header `Authorization: Bearer KEY`; "" for none. */
function keyOf(socket: ServerSocket): string {
  const auth: unknown = socket.handshake.auth;
  if (typeof auth === "object" && auth !== null && "apiKey" in auth && typeof auth.apiKey === "string")
    return auth.apiKey;
  return bearerOf(socket.handshake.headers.authorization) ?? "";
}
