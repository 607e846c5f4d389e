import { type IncomingMessage, type OutgoingHttpHeaders, type ServerResponse, STATUS_CODES } from "node:http";
import type { Duplex } from "node:stream";
import { RepoconfError, toRepoconfError } from "../../../shared/errors.ts";
import { emptyResult, type Reply } from "../../../shared/protocol.ts";
import type { Clock } from "../../time/clock.ts";
import type { Authentication } from "../keys/authentication.ts";
import { bearerOf } from "../keys/key-text.ts";
import type { Dispatch, Requester } from "../socket/dispatch.ts";
import type { Channel, ConnectionLease, KeyBudget } from "../socket/fairness/key-budget.ts";
import { PreparedReply } from "../socket/prepared-replies.ts";
import type { Refusal } from "./guard.ts";
import { argumentsIn, ClosedError, checkBodyHeaders, isContinue, readBody } from "./read-body.ts";
import { HttpError, statusOf } from "./statuses.ts";

export interface OneShotOptions {
  readonly authentication: Authentication;
  readonly budget: KeyBudget;
  readonly dispatch: Dispatch;
  readonly clock: Pick<Clock, "schedule">;
  /** A request was refused before its operation was looked for. */
  onRefusal(error: RepoconfError): void;
  /** Called whenever the number of requests in progress changes. */
  onCount(): void;
}

/** Milliseconds in which a client must read its answer. */
const readTime = 10_000;

/** Milliseconds for which a client may go on sending a body that was refused. */
const lingerTime = 1_000;

/** Headers that decide who may do what: with two of them, programs on the way may have read another one than we do. */
const onlyOnce = ["authorization", "content-type", "content-encoding", "expect"];

/**
 * `POST /svc/<resource>/<operation>` on the Unix socket: one operation without a Socket.IO client (docs/protocol.md, "One-shot requests").
 * It only makes a message of a request, and a response of the reply: everything else is done by `dispatch`, as for a message.
 */
export class OneShotRequests {
  readonly #options: OneShotOptions;
  /** Those with a valid key that are not answered yet. */
  readonly #open = new Set<IncomingMessage>();
  /** Connections that are closed after an answer: what follows on them could not be answered, so it is not run either. */
  readonly #closing = new WeakSet<Duplex>();

  constructor(options: OneShotOptions) {
    this.#options = options;
  }

  /** How many requests are in progress. */
  get count(): number {
    return this.#open.size;
  }

  /** `refusal`: the guard's. */
  async answer(
    request: IncomingMessage,
    response: ServerResponse,
    channel: Channel,
    refusal: Refusal | undefined,
  ): Promise<void> {
    if (this.#closing.has(request.socket)) return;
    const path = request.url?.split("/") ?? [];
    const [resource = "", operation = ""] = [path[2], path.slice(3).join("/")];
    try {
      checkPlace(channel, refusal);
      checkHead(request);
      const { caller, lease } = this.#admit(request, response);
      checkBodyHeaders(request);
      if (isContinue(request.headers.expect)) response.writeContinue();
      const body = await readBody(request, this.#options.clock, bytes => lease.countReceived(bytes));
      const from: Requester = {
        caller,
        get hasEnded() {
          return response.destroyed;
        },
      };
      const { reply, failure } = await this.#options.dispatch(["svc", resource, operation, argumentsIn(body)], from);
      // As over Socket.IO, nothing is delivered to a key that was revoked meanwhile. If nothing ran, the reply says why.
      if (failure === undefined && !this.#options.authentication.isValid(caller)) response.destroy();
      else this.#send(response, failure === undefined ? 200 : statusOf(failure), reply, lease);
    } catch (error) {
      if (error instanceof ClosedError) return;
      const failure = toRepoconfError(error);
      const reply = { result: emptyResult(`${resource}/${operation}`), errors: [failure.toEntry()] };
      this.#send(response, statusOf(failure), reply);
    }
  }

  /**
   * Answers what is no HTTP, has too large a header, or did not arrive in time. While an operation runs for an earlier request of the same
   * connection, its client must not take this for the answer, so the connection is only closed.
   */
  refuseBroken({ code }: Error & { readonly code?: string }, socket: Duplex): void {
    if (!socket.writable || [...this.#open].some(request => request.socket === socket && request.complete)) {
      socket.destroy();
      return;
    }
    // It has its answer.
    if (this.#closing.has(socket)) {
      socket.end(() => socket.destroy());
      return;
    }
    endWith(socket, brokenRequest(code));
  }

  /** Answers a request whose header does not arrive. No other request of the connection is being answered. */
  refuseSlow(socket: Duplex): void {
    endWith(socket, tooSlow());
  }

  /** Answers a request that asks for another protocol on its connection, such as `h2c`. Node reads no more from it as HTTP. */
  refuseUpgrade(socket: Duplex, channel: Channel, refusal: Refusal | undefined): void {
    socket.on("error", () => {});
    try {
      checkPlace(channel, refusal);
      throw new RepoconfError(1101, "One-shot requests are HTTP/1.1. Send them without the header Upgrade.");
    } catch (error) {
      endWith(socket, toRepoconfError(error));
    }
  }

  /** The key decides before anything of the body is read. Throws RepoconfError 1100 or 1107. */
  #admit(request: IncomingMessage, response: ServerResponse) {
    const { authentication, budget, onRefusal, onCount } = this.#options;
    try {
      const caller = authentication.authenticate(bearerOf(request.headers.authorization) ?? "");
      const lease = budget.admit(caller, "socket");
      authentication.noteUse(caller);
      this.#open.add(request);
      onCount();
      response.once("close", () => {
        lease.end();
        this.#open.delete(request);
        onCount();
      });
      lease.attach(request);
      return { caller, lease };
    } catch (error) {
      onRefusal(toRepoconfError(error));
      throw error;
    }
  }

  #send(response: ServerResponse, status: number, reply: Reply | PreparedReply, lease?: ConnectionLease): void {
    if (response.destroyed) return;
    const text = response.req.headers.accept === "text/plain" && status === 200 ? textOf(reply) : undefined;
    const body = reply instanceof PreparedReply ? reply.body : Buffer.from(text ?? JSON.stringify(reply));
    const headers = { ...headersOf(body.length, status), ...(text !== undefined && { "Content-Type": plainText }) };
    if (response.req.complete) response.writeHead(status, headers).end(body);
    else this.#refuseRest(response.writeHead(status, { ...headers, Connection: "close" }), body);
    lease?.setQueued(body.length);
    if (lease?.isTooSlow) {
      response.destroy();
      return;
    }
    response.once(
      "close",
      this.#options.clock.schedule(readTime, () => response.destroy()),
    );
  }

  /**
   * Answers while the body is still arriving, and closes the connection when it has arrived, or soon. A client that is cut off while it sends
   * may never read the answer.
   */
  #refuseRest(response: ServerResponse, body: Buffer): void {
    this.#closing.add(response.req.socket);
    response.write(body);
    const cancel = this.#options.clock.schedule(lingerTime, () => response.end());
    response.req.once("end", () => response.end()).resume();
    response.once("close", cancel);
  }
}

function endWith(socket: Duplex, error: RepoconfError): void {
  const [status, body] = [statusOf(error), JSON.stringify({ result: null, errors: [error.toEntry()] })];
  const headers = { ...headersOf(Buffer.byteLength(body), status), Connection: "close" };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  socket.end([`HTTP/1.1 ${status} ${STATUS_CODES[status]}`, ...lines, "", body].join("\r\n"), () => socket.destroy());
}

/** Throws RepoconfError 1105 or 1109. */
function checkPlace(channel: Channel, refusal: Refusal | undefined): void {
  if (refusal !== undefined) throw new RepoconfError(1105, refusal.message);
  if (channel === "socket") return;
  // A program that takes the port while no daemon is running would get the key of each request.
  const message =
    "One-shot requests are answered on the daemon's Unix socket only, whose path is socket in daemon.json. Never send a key to this port without a proof of who listens there.";
  throw new RepoconfError(1109, message);
}

/** Throws HttpError, RepoconfError 1101. */
function checkHead({ method, url = "", headersDistinct }: IncomingMessage): void {
  if (method !== "POST") throw new HttpError(405, `Send one-shot requests with POST, not ${method}.`);
  if (url.includes("?"))
    throw new RepoconfError(1101, "The arguments belong into the body, as JSON, not into the path.");
  const twice = onlyOnce.find(name => (headersDistinct[name]?.length ?? 0) > 1);
  if (twice !== undefined) throw new RepoconfError(1101, `The header ${twice} is given more than once.`);
}

function brokenRequest(code: string | undefined): RepoconfError {
  switch (code) {
    case "HPE_HEADER_OVERFLOW":
      return new RepoconfError(1107, "The header of the request is too large.");
    case "ERR_HTTP_REQUEST_TIMEOUT":
      return tooSlow();
    default:
      return new RepoconfError(1101, "This is not an HTTP request.");
  }
}

function tooSlow(): HttpError {
  return new HttpError(408, "The request did not arrive in time.");
}

const plainText = "text/plain; charset=utf-8";

/** The whole answer for a client that cannot read JSON, such as a shell; undefined unless the result is a text. */
function textOf(reply: Reply | PreparedReply): string | undefined {
  if (reply instanceof PreparedReply || reply.errors.length > 0) return undefined;
  return typeof reply.result === "string" ? reply.result : undefined;
}

function headersOf(bytes: number, status: number): OutgoingHttpHeaders {
  return {
    "Content-Type": "application/json",
    "Content-Length": bytes,
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    ...(status === 401 && { "WWW-Authenticate": "Bearer" }),
    ...(status === 405 && { Allow: "POST" }),
  };
}
