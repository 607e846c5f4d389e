import { createConnection, createServer, type Server, type Socket } from "node:net";

export type ServerLine = Awaited<ReturnType<typeof openServerLine>>;

/** A TCP relay to a local server, which can be closed and opened again on the same port, and can lose the server's answers. */
export async function openServerLine(serverPort: number) {
  const ends = new Set<Socket>();
  let server: Server | undefined;
  let port = 0;
  let [isMute, answersPings] = [false, false];
  const open = async () => {
    server = createServer(near => {
      const far = createConnection({ port: serverPort, host: "127.0.0.1" });
      for (const end of [near, far]) {
        ends.add(end);
        end.on("error", () => {});
        end.on("close", () => void ends.delete(end));
      }
      near.pipe(far);
      near.on("data", data => {
        if (answersPings && data.includes("PING\r\n")) near.write("PONG\r\n");
      });
      far.on("data", data => {
        if (!isMute) near.write(data);
      });
      far.on("end", () => near.end());
    });
    const listening = server;
    await new Promise<void>(resolve => listening.listen(port, "127.0.0.1", resolve));
    const address = listening.address();
    if (address === null || typeof address === "string") throw new Error("no port");
    ({ port } = address);
  };
  const cut = () => {
    for (const end of ends) end.destroy();
    isMute = false;
  };
  const close = async () => {
    const closed = new Promise(resolve => (server === undefined ? resolve(undefined) : server.close(resolve)));
    cut();
    await closed;
  };
  await open();
  return {
    get port() {
      return port;
    },
    open,
    close,
    /** Ends its connections. */
    cut,
    /** Loses the server's answers from now on: all of them, or all except its answers to pings. */
    mute: ({ butPings = false } = {}) => {
      [isMute, answersPings] = [true, butPings];
    },
    [Symbol.asyncDispose]: close,
  };
}
