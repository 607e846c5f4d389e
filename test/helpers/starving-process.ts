/**
 * The worst behaviour of one limited key, in a separate process: the daemon's address, the key and the attack come in a message.
 * Runs until its requests are used up or a message tells it to end; then reports the results.
 */
import { once } from "node:events";
import { type Socket as Connection, connect } from "node:net";
import type { Socket } from "socket.io-client";
import type { Reply } from "../../shared/protocol.ts";
import { headOf, requestOf } from "./one-shot.ts";
import { openSocket } from "./open-socket.ts";
import { randomNumbers } from "./random.ts";
import { frameOf, upgradeOf } from "./raw-http.ts";

export type Attack = "history" | "search" | "explain" | "sockets" | "watches" | "sets" | "one-shot requests";

/** Sent to the process first; its arguments would show the key to others. */
export interface Starving {
  readonly url: string;
  /** The path of the Unix socket. */
  readonly path: string;
  readonly key: string;
  readonly attack: Attack;
  /** The number of connections, and of the requests waiting on each at any time. */
  readonly sockets: number;
  readonly atOnce: number;
  /** The total number of requests, after which it ends by itself. */
  readonly requests: number;
  readonly seed: number;
  /** The repository with a long history of large values, and the minimum number of its revisions. */
  readonly large: string;
  readonly revisions: number;
  readonly repositories: readonly string[];
}

/** Sent by the process at the end. */
export interface StarvingReport {
  readonly asked: number;
  readonly answered: number;
  /** Connections that were accepted, and connections that the daemon refused or ended. */
  readonly opened: number;
  readonly ended: number;
  /** The number of error replies by code. */
  readonly errors: { readonly [code: string]: number };
}

let isOver = false;
let asked = 0;
let answered = 0;
let opened = 0;
let ended = 0;
const errors: { [code: string]: number } = {};

const countError = (code: number | string) => {
  errors[code] = (errors[code] ?? 0) + 1;
};

/** Keeps this many requests pending on a connection of its own, which is reopened when the daemon ends it. */
async function keepAsking(order: Starving, requestFor: (count: number) => readonly [string, object]): Promise<void> {
  while (!isOver) {
    let socket: Socket;
    try {
      socket = await openSocket(order.url, order.key);
    } catch {
      ended += 1;
      await new Promise(resolve => setTimeout(resolve, 100));
      continue;
    }
    opened += 1;
    const lane = async () => {
      while (!isOver && socket.connected) {
        if (asked >= order.requests) {
          isOver = true;
          return;
        }
        asked += 1;
        const [operation, args] = requestFor(asked);
        // With a timeout, it is abandoned when the connection is lost.
        const asking: Promise<Reply> = socket.timeout(patience).emitWithAck("svc", ...operation.split("/"), args);
        const reply = await asking.catch(() => undefined);
        if (reply === undefined) return;
        answered += 1;
        for (const { code } of reply.errors) countError(code);
      }
    };
    await Promise.all(Array.from({ length: order.atOnce }, lane));
    if (!socket.connected) ended += 1;
    socket.close();
  }
}

/** Milliseconds; longer than an attack. */
const patience = 3_600_000;

/** Keeps a connection until the attack on it is over, or the daemon ends it. */
async function holding(socket: Connection, attack: (socket: Connection, over: () => void) => void): Promise<void> {
  await new Promise<void>(resolve => {
    socket.on("error", () => {});
    socket.on("close", () => {
      ended += 1;
      resolve();
    });
    attack(socket, resolve);
  });
  socket.destroy();
}

const half = frameOf("x".repeat(3_500_000), 3_900_000);

/** Opens as many connections as possible, keeps each for a moment, and begins a large packet on it that never ends. */
async function keepConnecting({ url, key, requests, sockets }: Starving): Promise<void> {
  const { hostname, port } = new URL(url);
  const upgrade = upgradeOf(url);
  while (!isOver && asked < requests) {
    asked += 1;
    await holding(connect({ host: hostname, port: Number(port) }), (socket, resolve) => {
      socket.once("connect", () => socket.write(upgrade));
      let received = "";
      socket.on("data", (part: Buffer) => {
        const known = received;
        received += part.toString("latin1");
        if (!known.includes('"sid"') && received.includes('"sid"'))
          socket.write(frameOf(`40${JSON.stringify({ apiKey: key })}`));
        // The CONNECT is answered.
        if (!/40\{"sid"/.test(known) && /40\{"sid"/.test(received)) {
          opened += 1;
          answered += 1;
          socket.write(half);
          // Some stay longer, to reach the maximum number of connections.
          setTimeout(resolve, 50 + 20 * (asked % sockets));
        }
      });
    });
  }
}

/** Sends requests and large bodies in a row on connections whose answers it hardly reads, and bodies that never end. */
async function keepPosting({ path, key, requests, sockets, repositories, large }: Starving): Promise<void> {
  const image = "x".repeat(900_000);
  const set = requestOf(key, "config/set", { repo: repositories.slice(0, 16), "svc.domain": image });
  const read = requestOf(key, "history/list", { repo: large, limit: 1_000 });
  const endless = `${headOf(key, "config/set", "Transfer-Encoding: chunked")}\r\n\r\nffffff\r\n`;
  while (!isOver && asked < requests) {
    asked += 1;
    await holding(connect(path), (socket, resolve) => {
      socket.on("data", (part: Buffer) => {
        answered += part.toString("latin1").split("HTTP/1.1 200").length - 1;
        // It reads slowly.
        socket.pause();
        setTimeout(() => socket.resume(), 100);
      });
      socket.once("connect", () => {
        opened += 1;
        socket.write(asked % 3 === 0 ? endless + image : (set + read).repeat(4));
        setTimeout(resolve, 200 + 20 * (asked % sockets));
      });
    });
  }
  // However slow the machine is, one waits for its answer; while the earlier ones are not over, that is a refusal.
  while (!isOver && answered === 0) {
    const socket = connect(path);
    socket.on("error", () => {});
    socket.write(read);
    const [part] = await Promise.race([once(socket, "data"), once(socket, "close")]).catch(() => []);
    if (String(part).startsWith("HTTP/1.1 200")) answered += 1;
    else await new Promise(resolve => setTimeout(resolve, 20));
    socket.destroy();
  }
}

function requests(order: Starving): (count: number) => readonly [string, object] {
  const random = randomNumbers(order.seed);
  const one = <Item>(items: readonly Item[]) => items[random(items.length)] as Item;
  const repo = () => (random(4) === 0 ? one(order.repositories) : order.large);
  const words = (count: number) => Array.from({ length: count }, (_, index) => `${"a".repeat(20)}${index}`).join(" ");
  switch (order.attack) {
    case "history":
      return () =>
        random(4) === 0
          ? ["config/list", { repo: order.large, revision: 1 + random(order.revisions) }]
          : ["history/list", { repo: repo(), limit: 1_000, ...(random(3) === 0 && { field: "svc.domain" }) }];
    case "search": {
      const letters = "a b c d e f g h i j k l m n o p q r s t u v w x y z ".repeat(19);
      const queries = [words(20), "@modified", letters, "svc @modified", "x"];
      return () => ["config/search", { query: one(queries), limit: 1_000 }];
    }
    case "explain":
      return count =>
        random(10) === 0
          ? ["config/set", { repo: repo(), "svc.timeout": count % 80_000 }]
          : ["config/explain", { repo: repo(), field: one(["svc.timeout", "svc.services", "svc.domain"]) }];
    case "watches": {
      const since = Object.fromEntries(order.repositories.map(id => [id, 1]));
      return () =>
        one<readonly [string, object]>([
          ["config/watch", { repo: order.large, since: 1 }],
          ["config/watch", { repo: [...order.repositories], since }],
          ["config/watch", { progress: true }],
          ["config/unwatch", {}],
        ]);
    }
    default:
      return count => {
        const image = "x".repeat(200_000 + random(50_000));
        const large = { "svc.services": { web: { ready: String(count), image } } };
        const wide = Array.from({ length: 250 }, (_, index) => [`svc.f${index}`, "y".repeat(3_500)] as const);
        const many = { repo: order.repositories.slice(0, 900), "svc.timeout": count % 80_000, atomic: random(2) === 0 };
        return one<readonly [string, object]>([
          ["config/set", { repo: order.repositories.slice(0, 60), ...large }],
          ["config/set", many],
          ["config/set", { repo: one(order.repositories), ...Object.fromEntries(wide) }],
          ["no/operation", { padding: "z".repeat(900_000) }],
          ["config/set", { repo: one(order.repositories), ...large }],
        ]);
      };
  }
}

process.once("message", async (order: Starving) => {
  process.on("message", () => {
    isOver = true;
  });
  const messageOf = requests(order);
  const each = () => {
    if (order.attack === "one-shot requests") return keepPosting(order);
    return order.attack === "sockets" ? keepConnecting(order) : keepAsking(order, messageOf);
  };
  // More than are accepted.
  const lanes = order.attack === "sockets" ? 2 * order.sockets : order.sockets;
  await Promise.race([
    Promise.all(Array.from({ length: lanes }, each)),
    // When told to end, it does not wait for pending requests.
    new Promise<void>(resolve => process.on("message", () => resolve())),
  ]);
  const report: StarvingReport = { asked, answered, opened, ended, errors };
  process.send?.(report, () => process.exit());
});
process.on("disconnect", () => process.exit());
