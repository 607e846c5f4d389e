import type { ConnectionOptions, NatsConnection } from "@nats-io/transport-node";
import { NatsConnectionImpl, setTransportFactory } from "@nats-io/transport-node";
import { NodeTransport, nodeResolveHost } from "@nats-io/transport-node/lib/node_transport.js";

/** Bytes of a message: no server accepts a larger `max_payload`. */
const maxMessage = 64 * 1024 * 1024;
/** Bytes of a line outside of messages. The longest is the list of a cluster's servers. */
const maxLine = 1024 * 1024;
/** Frames of up to 64 KB that wait to be read. They wait for moments only, unless reading has failed. */
const maxWaiting = 1_000;

/** What the server sends cannot be from a NATS server. */
export class UnboundedServerError extends Error {
  override readonly name = "UnboundedServerError";
}

/** Like `connect` of the client library, which reads a line or message to its end, however long that is. */
export function connectBounded(options: ConnectionOptions): Promise<NatsConnection> {
  setTransportFactory({ factory: () => new BoundedTransport(), dnsResolveFn: nodeResolveHost });
  return NatsConnectionImpl.connect(options);
}

class BoundedTransport extends NodeTransport {
  /** The present line, as far as it has come. */
  #line = "";
  /** Bytes of the present message that have not come yet. */
  #rest = 0;

  override peekInfo(): ReturnType<NodeTransport["peekInfo"]> {
    const info = super.peekInfo();
    this.#watch();
    return info;
  }

  override setupHandlers(): void {
    super.setupHandlers();
    this.#watch();
  }

  /** The library would leave a connection without a greeting open, and go on reading from it. */
  override async close(error?: Error): Promise<void> {
    if (this.connected) return super.close(error);
    this.done = true;
    this.socket?.destroy();
  }

  #watch(): void {
    this.socket.on("data", (frame: Buffer) => {
      const excess = this.yields.length > maxWaiting ? "more than can be read" : this.#excessIn(frame);
      if (excess === undefined) return;
      // The library has put the frame there, and would read it.
      this.yields.pop();
      // After a greeting, it listens to nothing for a moment.
      this.socket.on("error", () => {});
      this.socket.destroy(new UnboundedServerError(`the server sends ${excess}`));
    });
  }

  #excessIn(frame: Buffer): string | undefined {
    for (let at = 0; at < frame.length; ) {
      const passed = Math.min(this.#rest, frame.length - at);
      this.#rest -= passed;
      at += passed;
      const end = frame.indexOf("\n", at);
      this.#line += frame.toString("latin1", at, end === -1 ? frame.length : end);
      if (this.#line.length > maxLine) return `a line of more than ${maxLine} bytes`;
      if (end === -1) return undefined;
      at = end + 1;
      if (!/^(h?msg\s|info\s|ping|pong|\+ok|-err|\r?$)/i.test(this.#line)) return "what is not the protocol of NATS";
      if (/^h?msg\s/i.test(this.#line)) this.#rest = Number(this.#line.trimEnd().split(/\s+/).at(-1));
      if (!(this.#rest <= maxMessage)) return `a message of more than ${maxMessage} bytes`;
      this.#line = "";
    }
    return undefined;
  }
}
