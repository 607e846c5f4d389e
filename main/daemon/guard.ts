import type { IncomingMessage } from "node:http";

/** Why a request was turned away at the door. */
export interface Refusal {
  readonly cause: "host" | "origin";
  readonly message: string;
}

export interface GuardOptions {
  readonly port: number;
  /** Whether [::1] at this port is the daemon too; if not, it may be anybody. */
  readonly ipv6: boolean;
  /** Origins that the settings allow beside the daemon's own; asked at each request, as settings change. */
  allowedOrigins(): readonly string[];
}

/**
 * The door: every HTTP request and every upgrade passes here before any route is looked at. A web page can make the
 * browser send requests to this port; it cannot make it lie about Origin, nor, once its name is rebound to 127.0.0.1,
 * about Host. So Host must be exactly one of ours, and an Origin, where there is one, ours or one that the settings name.
 */
export function createGuard({
  port,
  ipv6,
  allowedOrigins,
}: GuardOptions): (request: IncomingMessage) => Refusal | undefined {
  const names = ["127.0.0.1", "localhost", ...(ipv6 ? ["[::1]"] : [])];
  // Of HTTP's own port clients do not speak.
  const hosts = new Set([...names.map(name => `${name}:${port}`), ...(port === 80 ? names : [])]);
  const ownOrigins = new Set([...hosts].map(host => `http://${host}`));
  return request => {
    const hostHeaders = request.headersDistinct["host"] ?? [];
    const [host] = hostHeaders;
    if (hostHeaders.length !== 1 || host === undefined || !hosts.has(host)) {
      return { cause: "host", message: `Refused: Host must be one of ${[...hosts].join(", ")}.` };
    }
    const originHeaders = request.headersDistinct["origin"] ?? [];
    const refused = originHeaders.find(origin => !ownOrigins.has(origin) && !allowedOrigins().includes(origin));
    if (refused === undefined && originHeaders.length === 0 && isForeignLoad(request)) {
      return { cause: "origin", message: "Refused: a page of another site may not load this." };
    }
    if (refused === undefined) return undefined;
    return {
      cause: "origin",
      message: `Refused: the origin ${JSON.stringify(refused)} is not allowed. If it is yours, add it to "origins" in settings.json.`,
    };
  };
}

/** The guard of the Unix socket: no name leads there, and no page of a browser. */
export function guardLocally(request: IncomingMessage): Refusal | undefined {
  if (request.headersDistinct["origin"] === undefined) return undefined;
  return { cause: "origin", message: "Refused: no web page is served over the Unix socket." };
}

/**
 * What a page loads as a script or an image bears no Origin, but browsers say that it comes from another site. Following
 * a link to here is fine.
 */
function isForeignLoad({ headers }: IncomingMessage): boolean {
  const site = headers["sec-fetch-site"];
  return (site === "cross-site" || site === "same-site") && headers["sec-fetch-mode"] !== "navigate";
}
