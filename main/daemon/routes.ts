import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from "node:http";
import { isJsonObject } from "../../shared/json.ts";
import { bearerOf } from "./keys/key-text.ts";
import { readSmallText, type Screen } from "./screen.ts";

export interface RoutesOptions {
  identityProof(nonce: string | null): string | undefined;
  isReady(): boolean;
  readonly version: string;
  /** Undefined where only the daemon was built. */
  readonly screen: Screen | undefined;
  /** Changes a code for a session's key; undefined if the code is no good. */
  createSession(code: string): Promise<string | undefined>;
  /** What the daemon counts, for the owner's key or a session; undefined for any other. */
  metrics(key: string): Promise<{ readonly text: string; readonly type: string } | undefined>;
}

/**
 * The plain HTTP routes: health, identity, the screen's files, a session for whoever has a code, and numbers for whoever has
 * the owner's key. None tells of anyone's data.
 */
export function createRoutes(options: RoutesOptions): (request: IncomingMessage, response: ServerResponse) => void {
  return (request, response) => {
    const url = URL.parse(request.url ?? "/", "http://localhost");
    if (url === null) return answer(response, 400, "This is no path.");
    if (url.pathname === "/session") {
      answerSession(options, request, response).catch(() => answer(response, 500, "No session could be made."));
      return;
    }
    if (request.method !== "GET" && request.method !== "HEAD")
      return answer(response, 405, "Only GET is answered here.", { Allow: "GET, HEAD" });
    if (options.screen?.answer(url.pathname, request.headers.host ?? "", response)) return;
    switch (url.pathname) {
      case "/livez":
        return answer(response, 200, "alive");
      case "/readyz":
        return options.isReady() ? answer(response, 200, "ready") : answer(response, 503, "not ready");
      case "/metrics":
        answerMetrics(options, request, response).catch(() => answer(response, 500, "The numbers could not be told."));
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
          `Repoconf ${options.version} is running. It was built without its screen; tools connect here with Socket.IO and an API key.`,
        );
      default:
        return answer(response, 404, "There is nothing here.");
    }
  };
}

/** `POST /session` `{ code }`, by the daemon's own page alone: the guard let in other origins too, if the settings name them. */
async function answerSession(
  { createSession }: RoutesOptions,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  if (request.method !== "POST") return answer(response, 405, "Only POST is answered here.", { Allow: "POST" });
  if (request.headers.origin !== `http://${request.headers.host}`)
    return answer(response, 403, "Only Repoconf's own page gets a session.");
  const text = await readSmallText(request);
  if (text === undefined) return answer(response, 413, "A code is shorter than that.");
  const code = codeIn(text);
  if (code === undefined) return answer(response, 400, 'Send { "code": "..." } as JSON.');
  const key = await createSession(code);
  if (key === undefined)
    return answer(response, 401, "This link was used before, or is too old. Get a new one: repoconf ui");
  return answer(response, 200, JSON.stringify({ key }), { "Content-Type": "application/json" });
}

async function answerMetrics(
  { metrics }: RoutesOptions,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const told = await metrics(bearerOf(request.headers.authorization) ?? "");
  if (told !== undefined) return answer(response, 200, told.text.trimEnd(), { "Content-Type": told.type });
  answer(response, 401, "Send the owner's key: Authorization: Bearer KEY.", { "WWW-Authenticate": "Bearer" });
}

function codeIn(text: string): string | undefined {
  try {
    const body: unknown = JSON.parse(text);
    return isJsonObject(body) && typeof body["code"] === "string" ? body["code"] : undefined;
  } catch {
    return undefined;
  }
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
