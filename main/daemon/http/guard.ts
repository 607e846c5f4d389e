import type { IncomingMessage } from "node:http";
import { desktopOrigin } from "../../../shared/shell-bridge.ts";

/** Why a request was refused before any route. */
export interface Refusal {
  readonly cause: "host" | "origin" | "page";
  readonly message: string;
}

export interface GuardOptions {
  /** The allowed Host headers for tools, such as `127.0.0.1:7420`: no page is served there. */
  readonly toolHosts: readonly string[];
  /** The allowed Host headers for the screen. */
  readonly screenHosts: readonly string[];
  /** Origins that the settings allow besides the screen's; called for each request, because settings change. */
  allowedOrigins(): readonly string[];
}

/** `isUpgrade`: the request opens a WebSocket. */
export type Guard = (request: IncomingMessage, isUpgrade: boolean) => Refusal | undefined;

/**
 * Checks every HTTP request and every upgrade before any route. A web page can make the browser send requests to this port, but cannot
 * forge the Origin header or, if its name is rebound to 127.0.0.1, the Host header. So Host must be exactly one of ours, and Origin,
 * if there is one, must be the screen's or one from the settings, or in a tool's upgrade the daemon's own.
 */
export function createGuard({ toolHosts, screenHosts, allowedOrigins }: GuardOptions): Guard {
  const hosts = [...toolHosts, ...screenHosts];
  const screenOrigins = [...screenHosts.map(host => `http://${host}`), desktopOrigin];
  return (request, isUpgrade) => {
    const hostHeaders = request.headersDistinct["host"] ?? [];
    const [host] = hostHeaders;
    if (hostHeaders.length !== 1 || host === undefined || !hosts.includes(host)) {
      if (isOfEarlierScreen(host))
        return {
          cause: "page",
          message: "Refused: this page belongs to a daemon that has stopped. To open the screen: repoconf ui",
        };
      return { cause: "host", message: "Refused: Host must be 127.0.0.1 or localhost, with the port." };
    }
    const originHeaders = request.headersDistinct["origin"] ?? [];
    const isTool = isUpgrade && toolHosts.includes(host) && !isFromBrowser(request);
    const ownOrigins = isTool ? [...screenOrigins, originOfHost(request)] : screenOrigins;
    const refused = originHeaders.find(origin => !ownOrigins.includes(origin) && !allowedOrigins().includes(origin));
    if (refused === undefined && originHeaders.length === 0 && isForeignLoad(request, screenHosts.includes(host))) {
      return { cause: "origin", message: "Refused: pages of other sites may not load this." };
    }
    if (refused === undefined) return undefined;
    return {
      cause: "origin",
      message: `Refused: the origin ${JSON.stringify(refused)} is not allowed. If it is yours, add it to "origins" in settings.json.`,
    };
  };
}

/** An open tab of an earlier daemon keeps retrying, which is no attack. */
function isOfEarlierScreen(host: string | undefined): boolean {
  return /^[0-9a-f]{32}\.localhost(:\d+)?$/.test(host ?? "");
}

const originOfHost = ({ headers }: IncomingMessage) => `http://${headers.host}`;

/**
 * Whether the Origin is the address that the request was sent to. Some libraries of tools send it with every upgrade, such as
 * python3-websocket. Only the screen's hosts have pages of ours, but elsewhere one of the port's earlier owner may still be open.
 */
export function hasOwnOrigin(request: IncomingMessage): boolean {
  return request.headersDistinct["origin"]?.includes(originOfHost(request)) === true;
}

/** Every browser sends a User-Agent with an upgrade, and a page cannot remove it. Firefox and Safari also send Sec-Fetch-Site. */
function isFromBrowser({ headers }: IncomingMessage): boolean {
  return headers["user-agent"] !== undefined || headers["sec-fetch-site"] !== undefined;
}

/** Whether it is a request for one operation (one-shot.ts). */
export function isOneShot({ url = "" }: IncomingMessage): boolean {
  return /^\/svc(?:[/?]|$)/.test(url);
}

/**
 * The guard of the Unix socket, which no host name leads to and no web page can reach. A program that passes on requests of others to it
 * passes on their Host too, so one that carries a key must have the only name that our clients use.
 */
export function guardLocally(request: IncomingMessage): Refusal | undefined {
  if (request.headersDistinct["origin"] !== undefined)
    return { cause: "origin", message: "Refused: web pages may not use the Unix socket." };
  const hosts = request.headersDistinct["host"] ?? [];
  if (!isOneShot(request) || (hosts.length === 1 && hosts[0] === "localhost")) return undefined;
  return { cause: "host", message: "Refused: on the Unix socket, Host must be localhost." };
}

/**
 * Requests for scripts and images have no Origin, but browsers send the site that makes them. Our own page exists only at the
 * screen's host. Following a link to the daemon is allowed.
 */
function isForeignLoad({ headers }: IncomingMessage, isForScreen: boolean): boolean {
  const site = headers["sec-fetch-site"];
  const foreign = site === "cross-site" || site === "same-site" || (site === "same-origin" && !isForScreen);
  return foreign && headers["sec-fetch-mode"] !== "navigate";
}
