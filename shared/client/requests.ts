import { limitExceeded } from "../errors.ts";
import { limits } from "../limits.ts";
import type { IndexingProgress, OperationArguments, OperationName, OperationResults, Reply } from "../protocol.ts";
import { type Connection, noReply } from "./connection.ts";
import { RequestError } from "./request-error.ts";

type OnIndexing = ((progress: Partial<IndexingProgress> | undefined) => void) | undefined;

/** The longest delay a timer accepts, in milliseconds. */
const maxTimer = 2 ** 31 - 1;
/** Bytes of a packet around its arguments, at most: the operation's name and the packet's number. */
const packetFrame = 100;
/** Operations that may have to read the values of all repositories, and how many times the usual timeout to wait for them. */
const readingAll: ReadonlySet<OperationName> = new Set(["config/matrix", "config/search"]);
const readingTimes = 6;

/** The requests of a client. Each waits for a connection, and then for its reply. */
export class Requests {
  readonly #connection: Connection;
  readonly #timeout: number;
  readonly #onIndexing: OnIndexing;
  /** For each request that waits for its reply: restarts its timeout. */
  readonly #waiting = new Set<() => void>();
  /** Whether `onIndexing` has been called for the current indexing. */
  #isIndexingReported = false;

  constructor(connection: Connection, timeout: number, onIndexing: OnIndexing) {
    this.#connection = connection;
    this.#timeout = timeout;
    this.#onIndexing = onIndexing;
  }

  /**
   * Resolves with the reply. `onReply` runs before any event that the daemon sent after the reply is handled; awaiting the promise
   * would be too late for that. Throws RepoconfError 1200 or 1201; 1107 without sending anything if the daemon would end the connection
   * at such a large packet, and could not say why.
   */
  async send<Name extends OperationName>(
    name: Name,
    args: OperationArguments<Name>,
    onReply: (reply: Reply<OperationResults[Name]>) => void = () => {},
  ): Promise<Reply<OperationResults[Name]>> {
    const bytes = new TextEncoder().encode(JSON.stringify(args)).length;
    if (bytes > limits.transportBytes - packetFrame)
      throw limitExceeded("bytes in a message", bytes, limits.messageBytes);
    const socket = await this.#connection.connected();
    const { promise, resolve, reject } = Promise.withResolvers<Reply<OperationResults[Name]>>();
    const fail = ({ message }: Error) =>
      reject(
        noReply(`The daemon did not answer ${name}: ${message}. It is not known whether the operation took effect.`, {
          isUnknown: true,
        }),
      );
    let timer: ReturnType<typeof setTimeout> | undefined;
    const wait = () => {
      clearTimeout(timer);
      const time = readingAll.has(name) ? this.#timeout * readingTimes : this.#timeout;
      timer = setTimeout(() => fail(new Error("it took too long")), time);
    };
    wait();
    this.#waiting.add(wait);
    // Only with a timeout, however long, does socket.io-client report that the connection was lost.
    const emitter = socket.timeout(maxTimer);
    emitter.emit("svc", ...name.split("/"), args, (error: Error | null, reply: Reply<OperationResults[Name]>) => {
      if (error !== null) return fail(error);
      onReply(reply);
      resolve(reply);
    });
    try {
      return await promise;
    } finally {
      clearTimeout(timer);
      this.#waiting.delete(wait);
      if (this.#waiting.size === 0 && this.#isIndexingReported) this.reportIndexing(undefined);
    }
  }

  /** Like `send`, but throws RequestError if the reply contains any error, and then does not call `onReply`. */
  async sendWhole<Name extends OperationName>(
    name: Name,
    args: OperationArguments<Name>,
    onReply: (reply: Reply<OperationResults[Name]>) => void = () => {},
  ): Promise<Reply<OperationResults[Name]>> {
    const reply = await this.send(name, args, found => {
      if (found.errors.length === 0) onReply(found);
    });
    const [first] = reply.errors;
    if (first !== undefined) throw new RequestError(first, reply);
    return reply;
  }

  /** The daemon is still reading files and made progress, so waiting requests may wait longer. Undefined: nothing waits any more. */
  reportIndexing(progress: Partial<IndexingProgress> | undefined): void {
    if (progress !== undefined && this.#waiting.size === 0) return;
    for (const wait of this.#waiting) wait();
    this.#isIndexingReported = progress !== undefined;
    this.#onIndexing?.(progress);
  }
}
