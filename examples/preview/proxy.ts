import { once } from "node:events";
import { createServer, type IncomingMessage, type RequestListener, request, type ServerResponse } from "node:http";
import { createServer as createSecureServer } from "node:https";
import { connect } from "node:net";
import { type Duplex, pipeline } from "node:stream";
import { hostOf, type Route } from "./plan.ts";

export interface ProxyOptions {
  readonly port: number;
  /** The certificate and its key, as PEM. Without them, nothing is served over HTTPS and nothing redirected to it. */
  readonly secure?: { readonly port: number; readonly cert: Buffer; readonly key: Buffer };
  routeOf(host: string): Route | undefined;
  portOf(service: string): number | undefined;
  statusPage(): string;
}

/** Serves on 127.0.0.1 only, and only hosts with a route: a page elsewhere whose name leads here is refused. `localhost` is the status page. */
export async function startProxy(options: ProxyOptions): Promise<void> {
  const { secure } = options;
  await listen(createServer(), options.port, false);
  if (secure !== undefined) await listen(createSecureServer(secure), secure.port, true);

  async function listen(server: ReturnType<typeof createServer>, port: number, isSecure: boolean): Promise<unknown> {
    server.on("request", answer(isSecure));
    server.on("upgrade", (incoming: IncomingMessage, socket: Duplex, head: Buffer) => {
      const target = targetOf(incoming, isSecure);
      if (typeof target === "string" || target.port === undefined) return socket.destroy();
      const service = connect(target.port, "127.0.0.1");
      const headers = incoming.rawHeaders.map((text, at) => (at % 2 === 0 ? `${text}: ` : `${text}\r\n`));
      service.write(`${incoming.method} ${target.path} HTTP/1.1\r\n${headers.join("")}\r\n`);
      service.write(head);
      return pipeline(socket, service, socket, () => undefined);
    });
    return once(server.listen(port, "127.0.0.1"), "listening");
  }

  function answer(isSecure: boolean): RequestListener {
    return (incoming, response) => {
      const host = hostOf(incoming.headers.host ?? "");
      if (host === "localhost") return say(response, 200, options.statusPage(), "text/html");
      const target = targetOf(incoming, isSecure);
      const isMoved = typeof target === "string" && target.startsWith("https:");
      if (isMoved) return response.writeHead(308, { Location: target }).end();
      if (typeof target === "string") return say(response, 421, target);
      if (target.port === undefined) return say(response, 503, `${target.service} is not ready.`);
      const { method, headers } = incoming;
      const outgoing = request({ host: "127.0.0.1", port: target.port, path: target.path, method, headers }, reply => {
        const { statusCode = 0, rawHeaders } = reply;
        response.writeHead(statusCode < 200 ? 502 : statusCode, rawHeaders);
        pipeline(reply, response, () => undefined);
      });
      outgoing.on("error", error => (response.headersSent ? response.destroy() : say(response, 502, error.message)));
      response.on("close", () => outgoing.destroy());
      incoming.pipe(outgoing);
    };
  }

  /** The service of a request, the address that it is redirected to, or why it is refused. */
  function targetOf({ headers, url = "/" }: IncomingMessage, isSecure: boolean) {
    const host = hostOf(headers.host ?? "");
    const route = host === undefined ? undefined : options.routeOf(host);
    if (route === undefined) return `Nothing is previewed at this host. What is: http://localhost:${options.port}/`;
    const { svc } = route;
    if (!isSecure && secure && svc.proxy_https_redirect) return `https://${host}:${secure.port}${url}`;
    if (!(isSecure ? svc.proxy_https : svc.proxy_http)) return `It is not served over ${isSecure ? "HTTPS" : "HTTP"}.`;
    const [, folder = "", rest = ""] = /^\/([^/?]*)(.*)$/s.exec(url) ?? [];
    const mapped = svc.proxy_subpath_map ? route.subpaths?.get(folder) : undefined;
    const service = mapped ?? route.service;
    const path = mapped === undefined ? url : rest.startsWith("/") ? rest : `/${rest}`;
    return { service, path, port: options.portOf(service) };
  }
}

function say(response: ServerResponse, status: number, text: string, type = "text/plain"): void {
  response.writeHead(status, { "Content-Type": `${type}; charset=utf-8`, "Content-Security-Policy": policy }).end(text);
}
const policy = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'";
