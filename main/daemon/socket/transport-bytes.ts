import type { Socket as EngineSocket } from "engine.io";
import type { Readable } from "./fairness/key-budget.ts";
import { PreparedReply } from "./prepared-replies.ts";

interface Packet {
  readonly data?: unknown;
}

/**
 * Returns a function that returns how many bytes wait in this process for the client to read. `onChange` gets that number plus
 * the bytes that the transport has not sent yet, whenever it changes.
 */
export function countWaiting(connection: EngineSocket, onChange: (bytes: number) => void): () => number {
  let waiting = 0;
  let handed = 0;
  connection.on("packetCreate", (packet: Packet) => {
    const bytes = bytesOf(packet);
    if (bytes === 0) return;
    waiting += bytes;
    onChange(waiting + handed);
  });
  // The transport accepts no more until it has sent everything. Over polling, it is not handed everything that waits.
  connection.on("flush", (packets: readonly Packet[]) => {
    handed = packets.reduce((sum, packet) => sum + bytesOf(packet), 0);
    // Not below zero: the reply to CONNECT was created before this began to count.
    waiting = Math.max(0, waiting - handed);
    connection.transport.once("drain", () => {
      handed = 0;
      onChange(waiting);
    });
  });
  return () => waiting;
}

function bytesOf({ data }: Packet): number {
  if (data instanceof PreparedReply) return data.byteLength;
  return typeof data === "string" ? data.length : 0;
}

/** Pauses and resumes reading a WebSocket. Polling is not paused: each of its packets is a separate, short request. */
export function readingOf(connection: EngineSocket): Readable {
  const webSocket = () => {
    const { transport } = connection;
    const socket: unknown = "socket" in transport ? transport.socket : undefined;
    return isReadable(socket) ? socket : undefined;
  };
  return { pause: () => webSocket()?.pause(), resume: () => webSocket()?.resume() };
}

/** Ends a connection whose client does not read. Closing it would wait half a minute for the client, and keep its unread data. */
export function cutOff(connection: EngineSocket): void {
  const { transport } = connection;
  const socket: unknown = "socket" in transport ? transport.socket : undefined;
  if (typeof socket === "object" && socket !== null && "terminate" in socket && typeof socket.terminate === "function")
    socket.terminate();
  // As if it had been lost: the unread data is dropped at once, and with polling nothing else would report the end.
  transport.emit("close");
}

function isReadable(socket: unknown): socket is Readable {
  return typeof socket === "object" && socket !== null && "pause" in socket && "resume" in socket;
}
