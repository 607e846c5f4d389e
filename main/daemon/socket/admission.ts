import { errorNames, RepoconfError, toRepoconfError } from "../../../shared/errors.ts";
import { type ClientProof, type Handshake, nonceForm, refusalText, serverText } from "../../../shared/handshake.ts";
import { isJsonObject } from "../../../shared/json.ts";
import { limits } from "../../../shared/limits.ts";
import { sign } from "../../home/credentials.ts";
import type { Endpoint } from "../../home/endpoint-file.ts";
import type { DaemonServer } from "../http/server.ts";
import type { Authentication } from "../keys/authentication.ts";
import type { Caller } from "../keys/caller.ts";
import { bearerOf } from "../keys/key-text.ts";
import { UnauthorizedError } from "../keys/keys.ts";
import { type CatchUpOptions, catchUp } from "./catch-up.ts";
import { Connection, type ConnectionSocket } from "./connection.ts";
import type { Connections, ServerSocket } from "./connections.ts";
import type { Dispatch } from "./dispatch.ts";
import type { ConnectionLease, KeyBudget } from "./fairness/key-budget.ts";
import { sendPreparedFrames } from "./prepared-replies.ts";
import { countWaiting, cutOff, readingOf } from "./transport-bytes.ts";

export interface AdmissionOptions extends Pick<CatchUpOptions, "onRefusal"> {
  readonly server: DaemonServer;
  readonly connections: Connections;
  readonly authentication: Authentication;
  readonly dispatch: Dispatch;
  readonly budget: KeyBudget;
  readonly endpoint: Endpoint;
  /** Called whenever the number of clients changes. */
  onCount(): void;
}

/** While a client catches up: above this many unread bytes, no more history is read for it. */
const drainAbove = 256 * 1024;

/** Authenticates the clients that connect, adds them to the connections, and passes their messages on. */
export class Admission {
  readonly #options: AdmissionOptions;
  readonly #catchUp: CatchUpOptions;

  /** `missed`: where clients catch up from. */
  constructor(options: AdmissionOptions, missed: Omit<CatchUpOptions, "onRefusal">) {
    this.#options = options;
    this.#catchUp = { ...missed, onRefusal: options.onRefusal };
  }

  /** From now on, clients can connect. */
  begin(): void {
    const { connections, server } = this.#options;
    server.onSocketServer = io => {
      connections.io = io;
      io.use((socket, next) => this.#admit(socket, next));
      io.on("connection", socket => this.#accept(socket));
    };
  }

  #admit(socket: ServerSocket, next: (error?: Error) => void): void {
    const clientProof = proofOf(socket);
    const handshake = clientProof && {
      ...this.#options.server.connectionOf(socket.request),
      nonce: clientProof.nonce,
    };
    try {
      const { caller, proof } = this.#authenticate(socket, clientProof, handshake);
      socket.data = { caller, ...(proof !== undefined && { proof }) };
      this.#lease(socket, caller);
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
            ...(handshake && { proof: sign(this.#options.endpoint.instanceSecret, refusalText(handshake, code)) }),
          },
        }),
      );
      // Closes it once the error was sent: a connection that remained open would not be counted anywhere.
      setImmediate(() => socket.conn.close());
    }
  }

  #authenticate(
    socket: ServerSocket,
    clientProof: ClientProof | undefined,
    handshake: Handshake | undefined,
  ): { readonly caller: Caller; readonly proof?: string } {
    const { authentication, server } = this.#options;
    if (clientProof === undefined || handshake === undefined)
      return { caller: authentication.authenticate(keyOf(socket)) };
    const allowsSessions = !server.hasOwnOrigin(socket.request);
    const proven = authentication.authenticateProof(clientProof, handshake, allowsSessions);
    return { caller: proven.caller, proof: proven.sign(serverText(handshake)) };
  }

  /** Counts only clients with a key: others are disconnected at once, and must not keep anyone out. Throws RepoconfError 1107. */
  #lease(socket: ServerSocket, caller: Caller): void {
    const lease = this.#options.budget.admit(caller, this.#options.server.channelOf(socket.request));
    socket.data.lease = lease;
    // The lease also ends if the connection is closed before the handshake is complete.
    socket.conn.once("close", () => lease.end());
  }

  #accept(socket: ServerSocket): void {
    const { caller, lease, proof } = socket.data;
    if (caller === undefined || lease === undefined) {
      socket.disconnect(true);
      return;
    }
    const { connections, authentication, server, onRefusal, onCount } = this.#options;
    // This must come first: until then the client sends nothing and trusts nothing.
    if (proof !== undefined) socket.emit("svc", "session", proof);
    // This runs before any packet of the WebSocket is read.
    socket.conn.once("upgrade", () => {
      if (caller.kind !== "session" || !server.hasOwnOrigin(socket.request)) return;
      onRefusal(new UnauthorizedError(caller.keyId));
      cutOff(socket.conn);
    });
    const connection = new Connection(caller, this.#socketOf(socket, lease), {
      isValid: one => authentication.isValid(one),
      onCatchUp: one => catchUp(one, this.#catchUp),
    });
    connections.add(connection);
    connection.sendIndexing(this.#catchUp.store.indexing);
    lease.attach(readingOf(socket.conn));
    // A packet may have no data.
    socket.conn.on("data", (data: { readonly length: number } | undefined) => lease.countReceived(data?.length ?? 0));
    authentication.noteUse(caller);
    onCount();
    socket.on("disconnect", () => {
      connections.delete(connection);
      lease.end();
      connection.end();
      authentication.noteUse(caller);
      // Otherwise a client that only leaves the namespace could keep its transport open for as long as it likes.
      socket.conn.close();
      onCount();
    });
    // Handles every event that a client sends, so that one with a mistyped name gets an answer too.
    socket.onAny((...message: unknown[]) => void this.#dispatch(message, connection));
  }

  async #dispatch(message: readonly unknown[], connection: Connection): Promise<void> {
    // A client that does not read its replies is disconnected, like one that does not read its events.
    if (!connection.socket.hasRoom()) return;
    const last = message.at(-1);
    const callback = typeof last === "function" ? last : undefined;
    const { reply } = await this.#options.dispatch(callback ? message.slice(0, -1) : message, connection);
    callback?.(reply);
    // If the key expired while connected, the client has just got the error.
    if (connection.socket.hasRoom()) connection.checkValid();
  }

  #socketOf(socket: ServerSocket, lease: ConnectionLease): ConnectionSocket {
    sendPreparedFrames(socket.conn);
    const waitingBytes = countWaiting(socket.conn, bytes => lease.setQueued(bytes));
    const hasRoom = () => {
      if (waitingBytes() <= limits.waitingEventBytes && !lease.isTooSlow) return true;
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

  /** A client that does not read must not fill the memory; it has to reconnect and ask again. */
  #dropSlow(socket: ServerSocket): void {
    const message = `A client was disconnected: more than ${limits.waitingEventBytes} bytes of unread events.`;
    this.#options.onRefusal(new RepoconfError(1107, message));
    cutOff(socket.conn);
  }
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
