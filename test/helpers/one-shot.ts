import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { type Agent, request } from "node:http";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import type { Reply } from "../../shared/protocol.ts";
import { until } from "./daemon.ts";

export interface PostAnswer {
  readonly status: number;
  readonly reply: Reply;
}

/** The path of the running daemon's Unix socket. */
export async function socketOf(homeFolder: string): Promise<string> {
  const { socket }: { socket: string } = JSON.parse(await readFile(join(homeFolder, "daemon.json"), "utf8"));
  return socket;
}

/** Sends a one-shot request; rejects if the connection ends without an answer. Without a key, it has no such header. */
export async function post(
  socketPath: string,
  key: string | undefined,
  name: string,
  args: unknown = {},
  agent: Agent | false = false,
): Promise<PostAnswer> {
  const { promise, resolve, reject } = Promise.withResolvers<PostAnswer>();
  const headers = { "Content-Type": "application/json", ...(key !== undefined && { Authorization: `Bearer ${key}` }) };
  const sent = request({ socketPath, path: `/svc/${name}`, method: "POST", headers, agent }, response => {
    let text = "";
    response.setEncoding("utf8").on("data", (part: string) => {
      text += part;
    });
    response.on("error", reject);
    response.on("end", () => resolve({ status: response.statusCode ?? 0, reply: JSON.parse(text) }));
  });
  sent.on("error", reject);
  sent.end(JSON.stringify(args));
  return promise;
}

/** The header of a one-shot request, without its end. */
export function headOf(key: string, name: string, ...more: readonly string[]): string {
  const own = [`POST /svc/${name} HTTP/1.1`, "Host: localhost", `Authorization: Bearer ${key}`];
  return [...own, "Content-Type: application/json", ...more].join("\r\n");
}

/** A whole one-shot request. */
export function requestOf(key: string, name: string, args: object = {}): string {
  const body = JSON.stringify(args);
  return `${headOf(key, name, `Content-Length: ${Buffer.byteLength(body)}`)}\r\n\r\n${body}`;
}

/** A connection that the test writes itself. */
export async function openRaw(path: string) {
  const socket: Socket = connect(path);
  let received = "";
  socket.setEncoding("utf8").on("data", (part: string) => {
    received += part;
  });
  socket.on("error", () => {});
  await once(socket, "connect");
  return {
    socket,
    get received() {
      return received;
    },
    has: (text: string | RegExp) => until(() => received.search(text) !== -1, `${text} in ${received}`),
    /** Resolves with everything once the daemon has closed it. */
    closed: async () => {
      await until(() => socket.closed, "the end of the connection");
      return received;
    },
    [Symbol.dispose]: () => void socket.destroy(),
  };
}
