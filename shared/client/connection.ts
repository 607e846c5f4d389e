import { io, type Socket } from "socket.io-client";
import { type ErrorCode, errorNames, RepoconfError } from "../errors.ts";
import type { EventMessage, IndexingMessage, ProgressMessage, ProofMessage } from "../protocol.ts";
import type { Address } from "./address.ts";
import { Proofs } from "./proofs.ts";

export interface ConnectionOptions {
  /** Finds the daemon, before every connect and reconnect. Throws RepoconfError 1200. */
  locate(): Promise<Address>;
  /** How long to wait for a connection, in milliseconds. */
  readonly timeout: number;
  /** The daemon, which has proven its identity, sent a message. */
  onMessage(message: EventMessage | ProgressMessage | IndexingMessage): void;
  /** The connection was lost, and another one is being made. */
  onLost(): void;
  /** Another connection replaces the lost one. */
  onReplaced(): void;
  /** The lost connection cannot be replaced: the daemon does not accept the key any more. */
  onFailed(error: unknown): void;
}

const firstRetryDelay = 100;
const maxRetryDelay = 5_000;
/** A connection that lasted less than this, in milliseconds, is not replaced immediately. */
const shortLife = 500;

/** A connection to the daemon; once it has been made, it is replaced when it is lost, with growing pauses. */
export class Connection {
  readonly #options: ConnectionOptions;
  #socket: Socket | undefined;
  #connecting: Promise<Socket> | undefined;
  #closed = false;
  #wasConnected = false;
  #connectedAt = 0;

  constructor(options: ConnectionOptions) {
    this.#options = options;
  }

  get isClosed(): boolean {
    return this.#closed;
  }

  get isConnected(): boolean {
    return this.#socket?.connected === true;
  }

  /** Whether a lost connection is being replaced. */
  get isReconnecting(): boolean {
    return this.#wasConnected && !this.isConnected;
  }

  /** The connected socket; waits for a reconnect in progress. */
  async connected(): Promise<Socket> {
    if (this.#socket?.connected) return this.#socket;
    const { promise, reject } = Promise.withResolvers<never>();
    const timer = setTimeout(() => reject(noReply("The daemon cannot be reached.")), this.#options.timeout);
    try {
      return await Promise.race([this.connect(), promise]);
    } finally {
      clearTimeout(timer);
    }
  }

  connect(): Promise<Socket> {
    if (this.#closed) return Promise.reject(closedError());
    if (this.#socket?.connected) return Promise.resolve(this.#socket);
    // A failed first connect is an error. A reconnect is retried until it succeeds.
    this.#connecting ??= (this.#wasConnected ? this.#reconnect() : this.#connectFirst()).finally(() => {
      this.#connecting = undefined;
    });
    return this.#connecting;
  }

  /** Ends the present connection, if there is one, and makes another. */
  replace(): void {
    if (this.#socket?.connected) this.#socket.disconnect();
  }

  close(): void {
    this.#closed = true;
    this.#socket?.close();
    this.#socket = undefined;
  }

  async #connectFirst(): Promise<Socket> {
    return this.#connectOnce(await this.#options.locate());
  }

  async #connectOnce(address: Address): Promise<Socket> {
    const { timeout, onMessage, onLost, onReplaced, onFailed } = this.#options;
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const { url, agent } = address;
    const proofs = new Proofs(address);
    const socket = io(url, {
      // Called when the Engine.IO connection is open and has its id.
      auth: send => {
        proofs.prove(socket.io.engine.id).then(send, reject);
      },
      transports: ["websocket"],
      // The client reconnects itself, because it has to locate the daemon and verify its identity again each time.
      reconnection: false,
      forceNew: true,
      timeout,
      // The types only allow a name, but engine.io-client in Node accepts an agent of `node:http`.
      ...(agent !== undefined && { agent: agent as unknown as string }),
    });
    socket.on("svc", (...message: EventMessage | ProgressMessage | IndexingMessage | ProofMessage) => {
      if (message[0] === "session") return proofs.isOfDaemon(message[1]) ? resolve() : reject(stranger(url));
      // Ignore everything that the daemon sends until it has proven its identity.
      if (this.#socket !== socket) return reject(stranger(url));
      onMessage(message);
    });
    const timer = setTimeout(() => reject(noReply("The daemon does not finish the handshake.")), timeout);
    socket.once("connect_error", error => reject(proofs.mayBeRefusal(error) ? connectFailure(error) : stranger(url)));
    // If the connection is lost before the handshake, socket.io-client reports nothing. The rejection waits a microtask because a
    // daemon that refuses closes the connection just before its reason is reported.
    socket.io.engine.once("close", reason =>
      queueMicrotask(() => reject(new RepoconfError(1200, `The daemon closed the connection: ${reason}.`))),
    );
    socket.once("disconnect", () => {
      if (this.#socket !== socket) return;
      onLost();
      if (!this.#closed) void this.connect().catch(onFailed);
    });
    try {
      await promise;
    } catch (error) {
      socket.close();
      throw error;
    } finally {
      clearTimeout(timer);
    }
    if (this.#closed || !socket.connected) {
      socket.close();
      throw this.#closed ? closedError() : new RepoconfError(1200, "The connection was lost immediately.");
    }
    const again = this.#wasConnected;
    this.#connectedAt = Date.now();
    this.#socket = socket;
    this.#wasConnected = true;
    if (again) onReplaced();
    return socket;
  }

  async #reconnect(): Promise<Socket> {
    // Otherwise a connection that is lost at once would be replaced in an endless loop.
    if (Date.now() - this.#connectedAt < shortLife) await new Promise(resolve => setTimeout(resolve, shortLife));
    for (let pause = firstRetryDelay; ; pause = Math.min(pause * 2, maxRetryDelay)) {
      // The daemon's files may be missing for a moment, while a home is restored or moved.
      const address = await this.#options.locate().catch(() => undefined);
      try {
        if (this.#closed) throw closedError();
        if (address !== undefined) return await this.#connectOnce(address);
      } catch (error) {
        // A key that the daemon does not know stays unknown. Any other failure may be temporary.
        if (this.#closed || (error instanceof RepoconfError && error.code === 1100)) throw error;
      }
      // Half of the pause is random, so that many clients do not reconnect at the same moment.
      await new Promise(resolve => setTimeout(resolve, pause * (0.5 + Math.random() / 2)));
    }
  }
}

/** `isUnknown` in its details: the request was sent, and it is not known whether it took effect. */
export function noReply(message: string, details?: { readonly isUnknown: true }): RepoconfError {
  return new RepoconfError(1201, message, { ...(details && { details }) });
}

function connectFailure(error: Error): RepoconfError {
  const code = codeOf(error);
  if (code === undefined) return new RepoconfError(1200, `The daemon cannot be reached: ${error.message}.`);
  if (code === 1100)
    return new RepoconfError(1100, "The daemon does not accept this API key: it is wrong, revoked or expired.");
  return new RepoconfError(code, error.message);
}

function codeOf(error: Error): ErrorCode | undefined {
  const data: unknown = "data" in error ? error.data : undefined;
  if (typeof data !== "object" || data === null || !("code" in data)) return undefined;
  return Object.keys(errorNames)
    .map(Number)
    .find((code): code is ErrorCode => code === data.code);
}

function stranger(url: string): RepoconfError {
  const message = `The program at ${url} is not your daemon, or does not know this key. Nothing was sent to it.`;
  return new RepoconfError(1200, message);
}

function closedError(): RepoconfError {
  return new RepoconfError(1200, "This client has been closed.");
}
