import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { connect } from "node:net";
import { join } from "node:path";
import { type JetStreamManager, jetstreamManager } from "@nats-io/jetstream";
import { connect as connectToNats } from "@nats-io/transport-node";
import { describe } from "vitest";
import { type Clock, systemClock } from "../../main/time/clock.ts";
import { until } from "./daemon.ts";
import { freePort } from "./free-port.ts";
import { openServerLine, type ServerLine } from "./server-line.ts";
import { titleWith } from "./skips.ts";
import { temporaryFolder } from "./temporary-folder.ts";

/** Its path on Debian, if it is installed. */
const program = ["nats-server", "/usr/sbin/nats-server"].find(
  path => spawnSync(path, ["--version"], { stdio: "ignore" }).status === 0,
);

/** Tests that need a real server; skipped, with a note in the title, where there is none. */
export function describeWithNats(title: string, define: () => void): void {
  const isThere = program !== undefined;
  describe.skipIf(!isThere)(titleWith(isThere, "nats-server", title), define);
}

/** Arguments for a server with these settings; `text` is called at each start. */
export function configured(text: () => string): (folder: string) => readonly string[] {
  return folder => {
    const file = join(folder, "server.conf");
    writeFileSync(file, text());
    return ["-c", file];
  };
}

/** The system's clock. While it is hurried, what would take a second or more takes a twentieth of that: for what ends only by a timeout. */
class HurriedClock implements Clock {
  isHurried = false;

  now = systemClock.now;
  monotonic = systemClock.monotonic;

  delay(milliseconds: number): Promise<void> {
    return systemClock.delay(this.#shorten(milliseconds));
  }

  schedule(milliseconds: number, task: () => void): () => void {
    return systemClock.schedule(this.#shorten(milliseconds), task);
  }

  #shorten(milliseconds: number): number {
    return this.isHurried && milliseconds >= 1_000 ? milliseconds / 20 : milliseconds;
  }
}

export type TestServer = Awaited<ReturnType<typeof startNatsServer>>;

/** A real server, which keeps its folder and port when it is killed and started again. `more`: further arguments. */
export async function startNatsServer(more: (folder: string) => readonly string[] = () => []) {
  const folder = await temporaryFolder();
  const port = await freePort();
  /** A clock for its clients, hurried while the server is down. */
  const clock = new HurriedClock();
  let child: ChildProcess | undefined;
  const start = async () => {
    const fixed = ["-js", "-sd", join(folder.path, "data"), "-a", "127.0.0.1", "-p", String(port)];
    const started = spawn(program ?? "nats-server", [...fixed, ...more(folder.path)], {
      stdio: ["ignore", "ignore", "pipe"],
    });
    child = started;
    let said = "";
    started.stderr.on("data", part => {
      said = `${said}${part}`.slice(-2_000);
    });
    await until(() => {
      if (started.exitCode !== null) throw new Error(`nats-server ended with ${started.exitCode}: ${said}`);
      return answers(port);
    }, "the server to answer");
    clock.isHurried = false;
  };
  /** kill -9 */
  const kill = async () => {
    const running = child;
    child = undefined;
    clock.isHurried = true;
    if (running === undefined || running.exitCode !== null || running.signalCode !== null) return;
    const ended = new Promise(resolve => running.once("exit", resolve));
    running.kill("SIGKILL");
    await ended;
  };
  await start();
  return {
    port,
    /** `nats://HOST:PORT` */
    url: `nats://127.0.0.1:${port}`,
    folder: folder.path,
    clock,
    kill,
    start,
    /** Resolves once the server is suspended, as if its machine stood still; `resume` continues it. */
    pause: async () => {
      child?.kill("SIGSTOP");
      clock.isHurried = true;
      await until(() => isStopped(child?.pid), "the server to stand still");
    },
    resume: () => {
      clock.isHurried = false;
      child?.kill("SIGCONT");
    },
    [Symbol.asyncDispose]: async () => {
      await kill();
      await folder[Symbol.asyncDispose]();
    },
  };
}

/** Whether all threads of a process are stopped: under load, some run for a moment after the signal. */
async function isStopped(pid: number | undefined): Promise<boolean> {
  const folder = `/proc/${pid}/task`;
  const threads = await readdir(folder).catch(() => []);
  const states = await Promise.all(
    threads.map(thread => readFile(join(folder, thread, "stat"), "utf8").catch(() => "")),
  );
  return states.every(stat => stat.slice(stat.lastIndexOf(")") + 2).startsWith("T"));
}

/**
 * Like `startCluster`, with a separate relay from each server to each other one, so that the network between them can fail.
 * `dataFolders`: where each server keeps its data, if not in its own folder.
 */
export async function startPartitionedCluster(dataFolders: readonly string[] = []) {
  const stack = new AsyncDisposableStack();
  const ports = [await freePort(), await freePort(), await freePort()];
  const lines: { readonly ends: readonly number[]; readonly line: ServerLine }[] = [];
  const routes: string[][] = ports.map(() => []);
  for (const [from, own] of routes.entries())
    for (const [to, port] of ports.entries()) {
      if (from === to) continue;
      const line = stack.use(await openServerLine(port));
      lines.push({ ends: [from, to], line });
      own.push(`nats://127.0.0.1:${line.port}`);
    }
  const cluster = stack.use(await startServers(ports, index => routes[index] ?? [], dataFolders));
  const cut = new Set<ServerLine>();
  return {
    ...cluster,
    /** Disconnects this server from the others, or from one of them; all servers and their clients' connections continue. */
    cutOff: async (server: TestServer, from?: TestServer) => {
      const places = [server, ...(from === undefined ? [] : [from])].map(one => cluster.servers.indexOf(one));
      for (const { ends, line } of lines)
        if (places.every(place => ends.includes(place)) && !cut.has(line)) {
          cut.add(line);
          await line.close();
        }
    },
    /** Reconnects all servers. */
    heal: async () => {
      for (const line of cut) await line.open();
      cut.clear();
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

export type TestCluster = Awaited<ReturnType<typeof startPartitionedCluster>>;

/** Three servers that form a cluster. */
export async function startCluster() {
  const ports = [await freePort(), await freePort(), await freePort()];
  return startServers(ports, () => ports.map(port => `nats://127.0.0.1:${port}`));
}

/** Resolves once the servers have found each other: before that, a stream cannot be placed on all of them. */
async function startServers(
  ports: readonly number[],
  routesOf: (index: number) => readonly string[],
  dataFolders: readonly string[] = [],
) {
  const stack = new AsyncDisposableStack();
  const start = async (port: number, index: number) => {
    // The address that a server advertises to the others is unreachable, so that they use their configured routes.
    const own = ["--cluster", `nats://127.0.0.1:${port}`, "--cluster_advertise", "127.0.0.1:1"];
    const cluster = ["--cluster_name", "test", ...own, "--routes", routesOf(index).join(",")];
    const data = dataFolders[index];
    const more = [...cluster, ...(data === undefined ? [] : ["-sd", data])];
    return stack.use(await startNatsServer(() => ["--name", `server${index}`, ...more]));
  };
  const servers = await Promise.all(ports.map(start));
  const addresses = servers.map(({ port }) => `127.0.0.1:${port}`);
  const isReady = () =>
    askServers(addresses, async ({ streams }) => {
      await streams.add({ name: "first", subjects: ["first"], num_replicas: servers.length });
      return streams.delete("first");
    }).catch(() => false);
  await until(isReady, "the servers to find each other");
  return {
    servers,
    /** `nats://HOST:PORT,HOST:PORT,HOST:PORT` */
    url: `nats://${addresses.join(",")}`,
    /** The leader of a stream, as soon as there is one. */
    leaderOf: async (stream: string) => {
      let leader: TestServer | undefined;
      await until(async () => {
        const info = await askServers(addresses, manager => manager.streams.info(stream)).catch(() => undefined);
        leader = servers.find((_, index) => info?.cluster?.leader === `server${index}`);
        return leader !== undefined;
      }, "a leader");
      return leader;
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

export async function askServers<Answer>(
  servers: string[],
  question: (manager: JetStreamManager) => Promise<Answer>,
  timeout = 1_000,
): Promise<Answer> {
  const connection = await connectToNats({ servers, reconnect: false, timeout });
  try {
    return await question(await jetstreamManager(connection, { timeout }));
  } finally {
    await connection.close();
  }
}

function answers(port: number): Promise<boolean> {
  return new Promise(resolve => {
    const socket = connect({ port, host: "127.0.0.1" });
    socket.once("data", () => {
      socket.destroy();
      resolve(true);
    });
    socket.once("error", () => resolve(false));
  });
}
