import type { IncomingMessage, ServerResponse } from "node:http";

const message =
  "This Socket.IO client is too old: Repoconf needs version 3 or 4 of socket.io-client, or of a client in another language that speaks the same protocol.";

/**
 * Answers the first request of a client that speaks revision 3 of the protocol below Socket.IO (`EIO=3`), such as socket.io-client 2. The
 * 400 of engine.io would reach people as "xhr poll error". Over WebSocket nothing can be said: such a client only learns that it was refused.
 *
 * @returns false if it is none of these requests
 */
export function answeredOldClient({ method, url = "" }: IncomingMessage, response: ServerResponse): boolean {
  const query = URL.parse(url, "http://localhost")?.searchParams;
  const isFirst = method === "GET" && query?.get("transport") === "polling" && !query.has("sid");
  if (!isFirst || query?.get("EIO") !== "3") return false;
  // A handshake, then Socket.IO's packet "error" (4) in a message (4). The next request names no session that exists, and ends it.
  const packets = [
    `0${JSON.stringify({ sid: "none", upgrades: [], pingInterval: 25_000, pingTimeout: 20_000 })}`,
    `44${JSON.stringify(message)}`,
  ];
  response.writeHead(200, { "Content-Type": "text/plain; charset=UTF-8", "X-Content-Type-Options": "nosniff" });
  response.end(packets.map(packet => `${packet.length}:${packet}`).join(""));
  return true;
}
