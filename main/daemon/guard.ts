import type { IncomingMessage } from "node:http";

/** Why a request was turned away at the door. */
export interface Refusal {
  readonly cause: "host" | "origin";
  readonly message: string;
}

export interface GuardOptions {
  readonly port: number;
  /** Origins that the settings allow beside the daemon's own; asked at each request, as settings change. */
  allowedOrigins(): readonly string[];
}

/**
 * The door: every HTTP request and every upgrade passes here before any route is looked at. A web page can make the
 * browser send requests to this port; it cannot make it lie about Origin, nor, once its name is rebound to 127.0.0.1,
 * about Host. So Host must be exactly one of ours, and an Origin, where there is one, ours or one that the settings name.
 */
export function createGuard({ port, allowedOrigins }: GuardOptions): (request: IncomingMessage) => Refusal | undefined {
  const names = ["127.0.0.1", "localhost", "[::1]"];
  // Of HTTP's own port clients do not speak.
  const hosts = new Set([...names.map(name => `${name}:${port}`), ...(port === 80 ? names : [])]);
  const ownOrigins = new Set([...hosts].map(host => `http://${host}`));
  return request => {
    const hostHeaders = request.headersDistinct["host"] ?? [];
    const [host] = hostHeaders;
    if (hostHeaders.length !== 1 || host === undefined || !hosts.has(host)) {
      return { cause: "host", message: `Refused: Host must be 127.0.0.1:${port}, localhost:${port} or [::1]:${port}.` };
    }
    const originHeaders = request.headersDistinct["origin"] ?? [];
    const refused = originHeaders.find(origin => !ownOrigins.has(origin) && !allowedOrigins().includes(origin));
    if (refused === undefined) return undefined;
    return {
      cause: "origin",
      message: `Refused: the origin ${JSON.stringify(refused)} is not allowed. If it is yours, add it to "origins" in settings.json.`,
    };
  };
}
