/**
 * The baseline: a bare Socket.IO server with the daemon's engine options that accepts the same messages. `prepare` tells it what to
 * reply, write and emit, so it shows what the machine and Socket.IO allow.
 */
import { createServer } from "node:http";
import { Server as Engine } from "engine.io";
import { Server } from "socket.io";
import { limits } from "../../shared/limits.ts";
import { writeDurably } from "../helpers/durable-write.ts";

export interface Prepared {
  /** The replies by operation, such as "config/list". */
  readonly replies?: { readonly [operation: string]: unknown };
  /** The folder and the text that `config/set` writes durably before it replies. */
  readonly write?: { readonly folder: string; readonly text: string };
  /** The event that `config/set` emits to all clients. */
  readonly event?: readonly unknown[];
}

const http = createServer();
const engine = new Engine({
  maxHttpBufferSize: limits.transportBytes,
  cors: { origin: true },
  transports: ["polling", "websocket"],
  allowEIO3: false,
});
http.on("request", (request, response) => engine.handleRequest(request as never, response));
http.on("upgrade", (request, socket, head) => engine.handleUpgrade(request as never, socket, head));
const io = new Server({ serveClient: false });
io.bind(engine);

let prepared: Prepared = {};
io.on("connection", socket => {
  socket.on("prepare", (next: Prepared, callback: () => void) => {
    prepared = next;
    callback();
  });
  socket.on(
    "svc",
    (resource: string, operation: string, args: { repo: string }, callback: (reply: unknown) => void) => {
      const name = `${resource}/${operation}`;
      if (name !== "config/set") return callback(prepared.replies?.[name]);
      void set(args.repo, () => callback(prepared.replies?.[name]));
    },
  );
});

async function set(repo: string, reply: () => void): Promise<void> {
  if (prepared.write !== undefined) await writeDurably(prepared.write.folder, `${repo}.json`, prepared.write.text);
  if (prepared.event !== undefined) io.emit("svc", ...prepared.event);
  reply();
}

http.listen(0, "127.0.0.1", () => {
  const address = http.address();
  if (typeof address === "object" && address !== null) process.stdout.write(`http://127.0.0.1:${address.port}\n`);
});
process.once("SIGTERM", () => process.exit(0));
