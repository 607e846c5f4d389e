import { subscribe, unsubscribe } from "node:diagnostics_channel";
import type { Socket } from "node:net";

/** The daemon's ends of connections made from now on, which can be cut like by a broken network. */
export function watchConnections() {
  const sockets = new Set<Socket>();
  let spared = false;
  const note = (message: unknown) => {
    if (spared) return;
    const { socket } = message as { readonly socket: Socket };
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
  };
  subscribe("net.server.socket", note);
  return {
    cut: () => {
      for (const socket of [...sockets]) socket.destroy();
    },
    /** Connections made meanwhile are not cut: the owner's sets would get no reply. */
    sparing: async (task: () => Promise<void>) => {
      spared = true;
      await task();
      spared = false;
    },
    [Symbol.dispose]: () => void unsubscribe("net.server.socket", note),
  };
}
