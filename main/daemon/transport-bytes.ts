import type { Socket as EngineSocket } from "engine.io";
import type { Readable } from "./key-budget.ts";

/**
 * Tells how many bytes wait in this process for the client to read. `onChange` is told whenever that changes, of these and of those
 * that were handed to the transport and are still there.
 */
export function countWaiting(connection: EngineSocket, onChange: (bytes: number) => void): () => number {
  let waiting = 0;
  let handed = 0;
  connection.on("packetCreate", ({ data }: { data?: unknown }) => {
    if (typeof data !== "string") return;
    waiting += data.length;
    onChange(waiting + handed);
  });
  // The transport accepts no more until it has sent what it has.
  connection.on("flush", () => {
    handed = waiting;
    waiting = 0;
    connection.transport.once("drain", () => {
      handed = 0;
      onChange(waiting);
    });
  });
  return () => waiting;
}

/** Leaves a websocket unread, and reads on. By polling each packet is a request of its own, which is short. */
export function readingOf(connection: EngineSocket): Readable {
  const webSocket = () => {
    const { transport } = connection;
    const socket: unknown = "socket" in transport ? transport.socket : undefined;
    return isReadable(socket) ? socket : undefined;
  };
  return { pause: () => webSocket()?.pause(), resume: () => webSocket()?.resume() };
}

/** Ends a connection whose client does not read. Closing it would wait for the client for half a minute, and keep all that waits meanwhile. */
export function cutOff(connection: EngineSocket): void {
  const { transport } = connection;
  const socket: unknown = "socket" in transport ? transport.socket : undefined;
  if (typeof socket === "object" && socket !== null && "terminate" in socket && typeof socket.terminate === "function")
    socket.terminate();
  // As if it had been lost: what waits is let go at once, and by polling nothing else would tell.
  transport.emit("close");
}

function isReadable(socket: unknown): socket is Readable {
  return typeof socket === "object" && socket !== null && "pause" in socket && "resume" in socket;
}
