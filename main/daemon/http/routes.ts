import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from "node:http";
import { bearerOf } from "../keys/key-text.ts";
import type { Screen } from "./screen.ts";

export interface RoutesOptions {
  identityProof(nonce: string | null): string | undefined;
  isReady(): boolean;
  readonly version: string;
  /** Undefined if only the daemon was built. */
  readonly screen: Screen | undefined;
  /** Whether a request is to the screen's own host. */
  isForScreen(request: IncomingMessage): boolean;
  /** The daemon's metrics, for the owner's key; undefined for any other key. */
  metrics(key: string): Promise<{ readonly text: string; readonly type: string } | undefined>;
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
    if (options.isForScreen(request)) {
      answerScreen(options, url.pathname, request, response);
      return;
    }
    switch (url.pathname) {
      case "/livez":
        return answer(response, 200, "alive");
      case "/readyz":
        return options.isReady() ? answer(response, 200, "ready") : answer(response, 503, "not ready");
      case "/metrics":
        answerMetrics(options, request, response).catch(() =>
          answer(response, 500, "The metrics could not be collected."),
        );
        return;
      case "/identity": {
        const proof = options.identityProof(url.searchParams.get("nonce"));
        return proof === undefined
          ? answer(response, 400, "nonce must be 32 to 128 hexadecimal digits.")
          : answer(response, 200, proof);
      }
      case "/":
        return answer(
          response,
          200,
          `Repoconf ${options.version} is running. Tools connect here with Socket.IO and an API key; to open the screen: repoconf ui`,
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
  { metrics }: RoutesOptions,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const numbers = await metrics(bearerOf(request.headers.authorization) ?? "");
  if (numbers !== undefined) return answer(response, 200, numbers.text.trimEnd(), { "Content-Type": numbers.type });
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
