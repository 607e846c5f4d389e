import { once } from "node:events";
import { connect, type NetConnectOpts, type Socket } from "node:net";

export interface RawAnswer {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: ReadonlyMap<string, string>;
  readonly body: string;
}

export interface RawRequest {
  readonly method?: string;
  readonly version?: "1.0" | "1.1";
  /** The header lines to send, unchanged; only `Connection: close` is added if no Connection header is given. */
  readonly headers: readonly string[];
  readonly body?: string;
}

/** Where to connect: the address of a URL, or the path of a Unix socket. */
function placeOf(url: string): NetConnectOpts {
  if (url.startsWith("/")) return { path: url };
  const { hostname, port } = new URL(url);
  return { host: hostname, port: Number(port) };
}

/** Sends a request as given, for what no well-behaved client sends. An upgrade is cut off as soon as it is accepted. */
export function rawRequest(url: string, target: string, request: RawRequest): Promise<RawAnswer> {
  const { method = "GET", version = "1.1", headers, body = "" } = request;
  const closing = headers.some(line => /^connection:/i.test(line)) ? [] : ["Connection: close"];
  const length = body === "" ? [] : [`Content-Length: ${Buffer.byteLength(body)}`];
  const head = [`${method} ${target} HTTP/${version}`, ...headers, ...closing, ...length, "", ""].join("\r\n");
  return exchange(url, head + body);
}

/** Sends the text and waits for the end of the response. Rejects if the connection ends without one. */
function exchange(url: string, text: string): Promise<RawAnswer> {
  return new Promise((resolve, reject) => {
    let answer = "";
    const socket = connect(placeOf(url), () => socket.write(text));
    socket.setEncoding("utf8");
    socket.on("data", (part: string) => {
      answer += part;
      if (answer.startsWith("HTTP/1.1 101") && answer.includes("\r\n\r\n")) socket.destroy();
    });
    socket.on("error", reject);
    socket.on("close", () => {
      if (answer.startsWith("HTTP/1.1 ")) resolve(parseAnswer(answer));
      else reject(new Error(`the connection ended with: ${answer}`));
    });
  });
}

/** Sends the bytes, ends the sending side, and resolves with everything received once the connection has ended. */
export function sendBytes(url: string, bytes: string | Buffer): Promise<string> {
  return new Promise(resolve => {
    let answer = "";
    const socket = connect(placeOf(url), () => socket.end(bytes));
    socket.on("data", part => {
      answer += part.toString("latin1");
    });
    // A reset is handled like any other end; `close` follows.
    socket.on("error", () => {});
    socket.on("close", () => resolve(answer));
  });
}

function parseAnswer(text: string): RawAnswer {
  const [head = "", ...rest] = text.split("\r\n\r\n");
  const [statusLine = "", ...lines] = head.split("\r\n");
  const headers = lines.map(line => {
    const colon = line.indexOf(":");
    return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()] as const;
  });
  return { status: Number(statusLine.split(" ")[1]), headers: new Map(headers), body: rest.join("\r\n\r\n") };
}

export const pollingHandshake = "/socket.io/?EIO=4&transport=polling";

/** Begins a connection by polling, which has no key yet: its id, and the path and query of its requests. */
export async function beginPolling(url: string, options?: RequestInit): Promise<{ sid: string; target: string }> {
  const response = await fetch(url + pollingHandshake, options);
  const text = await response.text();
  if (!response.ok) throw new Error(`${response.status} ${text}`);
  const { sid }: { sid: string } = JSON.parse(text.slice(1));
  return { sid, target: `${pollingHandshake}&sid=${sid}` };
}

/** Each way to connect with the same Host and Origin headers: its target, and its status when accepted. */
export const waysIn = [
  { way: "a plain route", target: "/livez", headers: [], granted: 200 },
  { way: "polling", target: pollingHandshake, headers: [], granted: 200 },
  {
    way: "a websocket upgrade",
    target: "/socket.io/?EIO=4&transport=websocket",
    headers: [
      "Connection: Upgrade",
      "Upgrade: websocket",
      "Sec-WebSocket-Version: 13",
      "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
    ],
    granted: 101,
  },
] as const;

/** The text of a request for a websocket. */
export function upgradeOf(url: string, headers: readonly string[] = [], query = ""): string {
  const { target, headers: own } = waysIn[2];
  const lines = [`GET ${target}${query} HTTP/1.1`, `Host: ${new URL(url).host}`, ...headers, ...own, "", ""];
  return lines.join("\r\n");
}

/** Opens a websocket with these headers, as a socket that the test reads and writes itself; resolves with the daemon's answer. */
export async function openUpgrade(url: string, headers: readonly string[] = [], query = ""): Promise<Socket> {
  const { hostname, port } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true });
  socket.on("error", () => {});
  socket.write(upgradeOf(url, headers, query));
  await Promise.race([once(socket, "readable"), once(socket, "close")]);
  return socket;
}

/** A text frame of a client (RFC 6455, 5.2), with a mask of zeros: its header announces `bytes`, and `text` follows. */
export function frameOf(text: string, bytes = Buffer.byteLength(text)): Buffer {
  const header = Buffer.alloc(14);
  header[0] = 0x81;
  header[1] = 0xff;
  header.writeBigUInt64BE(BigInt(bytes), 2);
  return Buffer.concat([header, Buffer.from(text)]);
}

/** Requests the screen's page at a link without resolving its host name, which not every system's resolver knows. */
export function requestScreen(link: string): Promise<RawAnswer> {
  const { host, port } = new URL(link.trim());
  return rawRequest(`http://127.0.0.1:${port}`, "/", { headers: [`Host: ${host}`] });
}
