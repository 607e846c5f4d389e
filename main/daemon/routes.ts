import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from "node:http";

export interface RoutesOptions {
  identityProof(nonce: string | null): string | undefined;
  isReady(): boolean;
  readonly version: string;
}

/** The plain HTTP routes: health, identity, and a word to whoever opens the address in a browser. None needs a key or tells of anyone's data. */
export function createRoutes(options: RoutesOptions): (request: IncomingMessage, response: ServerResponse) => void {
  return (request, response) => {
    const url = URL.parse(request.url ?? "/", "http://localhost");
    if (url === null) return answer(response, 400, "This is no path.");
    if (request.method !== "GET" && request.method !== "HEAD")
      return answer(response, 405, "Only GET is answered here.", { Allow: "GET, HEAD" });
    switch (url.pathname) {
      case "/livez":
        return answer(response, 200, "alive");
      case "/readyz":
        return options.isReady() ? answer(response, 200, "ready") : answer(response, 503, "not ready");
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
          `Repoconf ${options.version} is running. Tools connect here with Socket.IO and an API key.`,
        );
      default:
        return answer(response, 404, "There is nothing here.");
    }
  };
}

function answer(response: ServerResponse, status: number, text: string, headers: OutgoingHttpHeaders = {}): void {
  response.writeHead(status, {
    "Content-Type": "text/plain; charset=utf-8",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
    ...headers,
  });
  response.end(`${text}\n`);
}
