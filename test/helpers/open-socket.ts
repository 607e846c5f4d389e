import { io, type Socket } from "socket.io-client";

/**
 * A bare socket to a daemon, connected. Rejects with the handshake's error (its `data` holds the code) if the daemon
 * refuses, and when the connection is lost on the way, of which socket.io-client itself says nothing.
 */
export async function openSocket(url: string, key: string | undefined): Promise<Socket> {
  const socket = io(url, {
    auth: key === undefined ? {} : { apiKey: key },
    reconnection: false,
    forceNew: true,
    transports: ["websocket"],
  });
  await new Promise<void>((resolve, reject) => {
    socket.once("connect", resolve);
    socket.once("connect_error", error => {
      socket.close();
      reject(error);
    });
    // After `connect_error`, which comes together with it where the daemon refuses.
    socket.io.engine.once("close", reason =>
      queueMicrotask(() => reject(new Error(`the connection was lost: ${reason}`))),
    );
  });
  return socket;
}
