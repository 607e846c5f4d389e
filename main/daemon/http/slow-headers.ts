import type { Server } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { Clock } from "../../time/clock.ts";

/** Milliseconds between two checks of the connections. A header that two checks find unfinished is too slow. */
const lookInterval = 5_000;

/** What a connection has of its next request. */
interface Waiting {
  /** The number of requests that are being answered. */
  open: number;
  /** How much was read before the next request. */
  bytes: number;
  hasBegun: boolean;
}

/**
 * Calls `refuse` for each connection on which the header of a request has begun and does not end, within ten seconds. Node would wait for more
 * than a minute. A connection on which nothing is sent may stay.
 */
export function refuseSlowHeaders(
  server: Server,
  clock: Pick<Clock, "schedule">,
  refuse: (socket: Duplex) => void,
): void {
  const all = new Map<Duplex, Waiting>();
  let cancel: (() => void) | undefined;
  const look = () => {
    cancel = undefined;
    for (const [socket, waiting] of all) {
      if (waiting.open > 0) continue;
      if (waiting.hasBegun) refuse(socket);
      waiting.hasBegun = bytesOf(socket) > waiting.bytes;
    }
    follow();
  };
  // A daemon without connections does not wake up.
  const follow = () => {
    if (all.size > 0) cancel ??= clock.schedule(lookInterval, look);
    else {
      cancel?.();
      cancel = undefined;
    }
  };
  const forget = (socket: Duplex) => {
    all.delete(socket);
    follow();
  };
  server.on("connection", socket => {
    all.set(socket, { open: 0, bytes: 0, hasBegun: false });
    socket.once("close", () => forget(socket));
    follow();
  });
  server.on("request", ({ socket }, response) => {
    const waiting = all.get(socket);
    if (waiting === undefined) return;
    waiting.open += 1;
    response.once("close", () => {
      waiting.open -= 1;
      [waiting.bytes, waiting.hasBegun] = [bytesOf(socket), false];
    });
  });
  server.on("upgrade", (_, socket) => forget(socket));
}

function bytesOf(socket: Duplex): number {
  return (socket as Socket).bytesRead;
}
