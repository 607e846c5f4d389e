import { createConnection, createServer, type Server, type Socket } from "node:net";

/** A TCP relay to a local server, which can be closed and opened again on the same port. */
export interface ServerLine extends AsyncDisposable {
  readonly port: number;
  close(): Promise<void>;
  open(): Promise<void>;
}

export async function openServerLine(serverPort: number): Promise<ServerLine> {
  const ends = new Set<Socket>();
  let server: Server | undefined;
  let port = 0;
  const open = async () => {
    server = createServer(near => {
      const far = createConnection({ port: serverPort, host: "127.0.0.1" });
      for (const end of [near, far]) {
        ends.add(end);
        end.on("error", () => {});
        end.on("close", () => void ends.delete(end));
      }
      near.pipe(far).pipe(near);
    });
    const listening = server;
    await new Promise<void>(resolve => listening.listen(port, "127.0.0.1", resolve));
    const address = listening.address();
    if (address === null || typeof address === "string") throw new Error("no port");
    ({ port } = address);
  };
  const close = async () => {
    const closed = new Promise(resolve => (server === undefined ? resolve(undefined) : server.close(resolve)));
    for (const end of ends) end.destroy();
    await closed;
  };
  await open();
  return {
    get port() {
      return port;
    },
    open,
    close,
    [Symbol.asyncDispose]: close,
  };
}
