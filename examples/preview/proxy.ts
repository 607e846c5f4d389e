import { once } from "node:events";
import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  request,
  type Server,
  type ServerResponse,
} from "node:http";
import { createServer as createSecureServer } from "node:https";
import { type Duplex, pipeline } from "node:stream";
import { hostOf, type Route } from "./plan.ts";

export interface ProxyOptions {
  readonly port: number;
  /** The certificate and its key, as PEM. Without them, nothing is served over HTTPS and nothing redirected to it. */
  readonly secure?: { readonly port: number; readonly cert: Buffer; readonly key: Buffer };
  routeOf(host: string): Route | undefined;
  /** The port of a service; undefined while it is not ready. */
  portOf(service: string): number | undefined;
  statusPage(): string;
}

/**
 * Serves on 127.0.0.1 only, and only the hosts that have a route: a page on the internet whose name leads here is refused. The status page
 * is at `localhost`.
 */
export async function startProxy(options: ProxyOptions): Promise<void> {
  const { secure } = options;
  await listen(createServer(), options.port, false);
  if (secure !== undefined) await listen(createSecureServer(secure), secure.port, true);

  async function listen(server: Server, port: number, isSecure: boolean): Promise<unknown> {
    server.on("request", answer(isSecure));
    server.on("upgrade", (incoming: IncomingMessage, socket: Duplex, head: Buffer) => {
      const target = targetOf(incoming, isSecure);
      if (typeof target === "string" || target.port === undefined) return socket.destroy();
      socket.on("error", () => socket.destroy());
      const outgoing = request({ host: "127.0.0.1", port: target.port, path: target.path, headers: incoming.headers });
      outgoing.on("upgrade", (response, other, first) => {
        const lines = response.rawHeaders.map((text, at) => (at % 2 === 0 ? `${text}: ` : `${text}\r\n`));
        socket.write(`HTTP/1.1 101 Switching Protocols\r\n${lines.join("")}\r\n`);
        socket.write(first);
        other.on("error", () => socket.destroy());
        other.write(head);
        other.pipe(socket).pipe(other);
      });
      outgoing.on("response", () => socket.destroy()).on("error", () => socket.destroy());
      return outgoing.end();
    });
    return once(server.listen(port, "127.0.0.1"), "listening");
  }

  function answer(isSecure: boolean): RequestListener {
    return (incoming, response) => {
      const host = hostOf(incoming.headers.host ?? "");
      if (host === "localhost") return say(response, 200, options.statusPage(), "text/html");
      const target = targetOf(incoming, isSecure);
      if (typeof target === "string" && target.startsWith("https:"))
        return response.writeHead(308, { Location: target }).end();
      if (typeof target === "string") return say(response, 421, target);
      if (target.port === undefined) return say(response, 503, `${target.service} is not ready.`);
      const { method, headers } = incoming;
      const outgoing = request({ host: "127.0.0.1", port: target.port, path: target.path, method, headers }, reply => {
        const { statusCode = 0 } = reply;
        response.writeHead(statusCode < 200 ? 502 : statusCode, reply.rawHeaders);
        pipeline(reply, response, () => undefined);
      });
      outgoing.on("error", error => (response.headersSent ? response.destroy() : say(response, 502, error.message)));
      incoming.pipe(outgoing);
    };
  }

  /** The service of a request, the address that it is redirected to, or why it is refused. */
  function targetOf({ headers, url = "/" }: IncomingMessage, isSecure: boolean) {
    const host = hostOf(headers.host ?? "");
    const route = host === undefined ? undefined : options.routeOf(host);
    if (route === undefined) return "No repository is previewed at this host.";
    if (!isSecure && secure !== undefined && route.redirects) return `https://${host}:${secure.port}${url}`;
    if (!(isSecure ? route.isHttps : route.isHttp))
      return `This host is not served over ${isSecure ? "HTTPS" : "HTTP"}.`;
    const [, folder = "", rest = ""] = /^\/([^/?]*)(.*)$/s.exec(url) ?? [];
    const mapped = Object.hasOwn(route.subpaths, folder) ? route.subpaths[folder] : undefined;
    const service = mapped ?? route.service;
    const path = mapped === undefined ? url : rest.startsWith("/") ? rest : `/${rest}`;
    return { service, path, port: options.portOf(service) };
  }
}

function say(response: ServerResponse, status: number, text: string, type = "text/plain"): void {
  response
    .writeHead(status, { "Content-Type": `${type}; charset=utf-8`, "X-Content-Type-Options": "nosniff" })
    .end(text);
}
