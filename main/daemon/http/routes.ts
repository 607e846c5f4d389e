import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from "node:http";
import type { Endpoint } from "../../home/endpoint-file.ts";
import { identityProof } from "../../home/identity.ts";
import type { Authentication } from "../keys/authentication.ts";
import { bearerOf } from "../keys/key-text.ts";
import type { Metrics } from "../observe/metrics.ts";
import type { Problems } from "../observe/problems.ts";
import type { Refusals } from "../observe/refusals.ts";
import type { RunState } from "../run-state.ts";
import type { Screen } from "./screen.ts";
import type { DaemonServer } from "./server.ts";

export interface RoutesOptions {
  readonly endpoint: Endpoint;
  readonly runState: Pick<RunState, "isRunning">;
  readonly problems: Pick<Problems, "all">;
  /** Undefined if only the daemon was built. */
  readonly screen: Screen | undefined;
  readonly server: Pick<DaemonServer, "isForScreen">;
  readonly authentication: Authentication;
  readonly metrics: Metrics;
  readonly refusals: Refusals;
}

/**
 * The plain HTTP routes: health, identity, the screen's files at its own host, and metrics for the owner's key. None returns configuration.
 */
export function createRoutes(options: RoutesOptions): (request: IncomingMessage, response: ServerResponse) => void {
  return (request, response) => {
    const url = URL.parse(request.url ?? "/", "http://localhost");
    if (url === null) return answer(response, 400, "Invalid path.");
    if (request.method !== "GET" && request.method !== "HEAD")
      return answer(response, 405, "Only GET and HEAD are supported.", { Allow: "GET, HEAD" });
    if (options.server.isForScreen(request)) {
      answerScreen(options, url.pathname, request, response);
      return;
    }
    switch (url.pathname) {
      case "/livez":
        return answer(response, 200, "alive");
      case "/readyz":
        if (!options.runState.isRunning) return answer(response, 503, "not ready");
        // Not which ones: no key is required here.
        return answer(
          response,
          200,
          options.problems.all.length === 0 ? "ready" : "ready, with problems: repoconf status",
        );
      case "/metrics":
        answerMetrics(options, request, response).catch(() =>
          answer(response, 500, "The metrics could not be collected."),
        );
        return;
      case "/identity": {
        const proof = identityProof(options.endpoint, url.searchParams.get("nonce"));
        return proof === undefined
          ? answer(response, 400, "nonce must be 32 to 128 hexadecimal digits.")
          : answer(response, 200, proof);
      }
      case "/":
        return answer(
          response,
          200,
          `Repoconf ${options.endpoint.version} is running. Tools connect here with Socket.IO and an API key; to open the screen: repoconf ui`,
        );
      default:
        return answer(response, 404, "Not found.");
    }
  };
}

function answerScreen(
  { screen }: RoutesOptions,
  path: string,
  { headers: { host = "" } }: IncomingMessage,
  response: ServerResponse,
): void {
  const found = screen?.find(path, `ws://${host}`);
  if (found === undefined) {
    answer(response, 404, screen === undefined ? "This build of Repoconf does not include the screen." : "Not found.");
    return;
  }
  response.writeHead(200, { "Content-Length": found.body.length, ...found.headers });
  response.end(found.body);
}

async function answerMetrics(
  { authentication, metrics, refusals }: RoutesOptions,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  if (authentication.isOwnersKey(bearerOf(request.headers.authorization) ?? "")) {
    const { text, type } = await metrics.render();
    return answer(response, 200, text.trimEnd(), { "Content-Type": type });
  }
  refusals.noteMetrics();
  answer(response, 401, "The owner's key is required: Authorization: Bearer KEY.", { "WWW-Authenticate": "Bearer" });
}

function answer(response: ServerResponse, status: number, text: string, headers: OutgoingHttpHeaders = {}): void {
  const body = Buffer.from(`${text}\n`);
  response.writeHead(status, {
    "Content-Length": body.length,
    "Content-Type": "text/plain; charset=utf-8",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
    ...headers,
  });
  response.end(body);
}
