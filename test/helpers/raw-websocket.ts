import { once } from "node:events";
import { until } from "./daemon.ts";

/**
 * A websocket that only speaks the parts of Engine.IO that a test uses: packets are sent and received unchanged. With a key it also sends
 * Socket.IO's CONNECT, so that events may follow.
 */
export async function openRawWebSocket(url: string, key?: string) {
  const socket = new WebSocket(`${url.replace("http:", "ws:")}/socket.io/?EIO=4&transport=websocket`);
  const received: string[] = [];
  let closed = false;
  let ids = 0;
  socket.addEventListener("message", ({ data }) => void received.push(String(data)));
  socket.addEventListener("close", () => {
    closed = true;
  });
  // If the daemon ends the connection, an `error` precedes the `close`; the `close` is enough.
  socket.addEventListener("error", () => {});
  await once(socket, "open");
  await until(() => received.length > 0 || closed, "Engine.IO's handshake");
  if (key !== undefined) {
    socket.send(`40${JSON.stringify({ apiKey: key })}`);
    await until(() => received.some(packet => packet.startsWith("40")) || closed, "Socket.IO's handshake");
  }
  return {
    socket,
    /** Packets received so far; Engine.IO's own handshake is the first. */
    received: received as readonly string[],
    get closed() {
      return closed;
    },
    /** Sends a Socket.IO event as text and resolves with the single argument of the answer. */
    ask: async (eventText: string) => {
      const start = `43${++ids}[`;
      socket.send(`42${ids}${eventText}`);
      await until(() => closed || received.some(packet => packet.startsWith(start)), "an answer");
      const answer = received.find(packet => packet.startsWith(start));
      if (answer === undefined) throw new Error("the connection ended instead of an answer");
      return (JSON.parse(answer.slice(start.length - 1)) as unknown[])[0];
    },
    [Symbol.dispose]: () => socket.close(),
  };
}
