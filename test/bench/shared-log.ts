import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type JetStreamClient, jetstream, jetstreamManager } from "@nats-io/jetstream";
import { connect, type NatsConnection } from "@nats-io/transport-node";
import type { Socket } from "socket.io-client";
import { freePort } from "../helpers/free-port.ts";
import { compare, timeOf } from "./compare.ts";
import { type Call, rateOf } from "./figures.ts";
import { makeHome, repositoryId } from "./homes.ts";
import type { Machine, Server } from "./machine.ts";
import type { Row, Section } from "./section.ts";
import { ask, calls, sets, untilWatched } from "./sockets.ts";

const command = "nats-server";
const repositories = 64;
const entry = Buffer.from(JSON.stringify({ first: 1, entries: ["x".repeat(250)] }));

/** A daemon of a new home with this log. */
export async function daemonOnLog(
  machine: Machine,
  log: { readonly address: string; readonly machine: string; readonly replicas?: number },
): Promise<Server> {
  const home = await machine.newFolder(log.machine);
  await writeFile(join(home, "settings.json"), JSON.stringify({ log }));
  return machine.daemon(home);
}

/** A home whose log is on one server, compared with bare appends to a stream on the same server. */
export const sharedLog: Section = {
  name: "shared-log",
  title: "A log shared by several machines: one server, two daemons",
  run: async machine => {
    if (!machine.has(command)) return [];
    await using resources = new AsyncDisposableStack();
    const port = await freePort();
    const place = ["-js", "-sd", await machine.newFolder("nats"), "-a", "127.0.0.1", "-p", String(port)];
    resources.use(await machine.start(command, place, /Server is ready/));
    const daemonOn = async (name: string): Promise<Server> =>
      resources.use(await daemonOnLog(machine, { address: `nats://127.0.0.1:${port}/bench`, machine: name }));
    const socketOf = async (server: Server): Promise<Socket> => {
      const socket = await server.connect();
      resources.defer(() => void socket.close());
      return socket;
    };
    const here = await socketOf(await daemonOn("here"));
    const there = await socketOf(await daemonOn("there"));
    for (let index = 0; index < repositories; index++)
      await ask(here, "repo/add", { id: repositoryId(index), name: "a repository" });
    const alone = await socketOf(resources.use(await machine.daemon(await makeHome(machine, 1))));
    const connection = await connect({ servers: `127.0.0.1:${port}` });
    resources.defer(() => connection.close());
    const manager = await jetstreamManager(connection);
    await manager.streams.add({ name: "raw", subjects: ["raw"] });
    const client = jetstream(connection);
    const append = appends(client);
    const repo = repositoryId(0);
    const set = sets(here, () => repo);
    const rows = await compare(machine, "set, one at a time", "ms", timeOf(machine, "Repoconf", set), [
      { contender: timeOf(machine, "a JetStream append with an expected sequence number", append) },
    ]);
    const rate = (name: string, call: Call, width: number) => ({ name, run: () => rateOf(call, width, machine.slice) });
    const raw = rate("JetStream appends, one after the other", append, 1);
    const many = rate("Repoconf", sets(here, repositoryId), repositories);
    const list = calls(here, "config/list", () => ({ repo, scope: "svc" }));
    const ownList = calls(alone, "config/list", () => ({ repo, scope: "svc" }));
    return [
      ...rows,
      ...(await compare(machine, "sets, 64 at once on 64 repositories", "sets/s", many, [{ contender: raw }])),
      ...(await compare(machine, "list, one at a time", "ms", timeOf(machine, "Repoconf", list), [
        { contender: timeOf(machine, "a daemon with its own log", ownList) },
      ])),
      ...(await watchRows(machine, here, there, connection, client)),
    ];
  },
};

/** Appends that expect the previous sequence number, as the log's do. */
function appends(client: JetStreamClient): Call {
  let last = 0;
  return (_, done) => {
    client.publish("raw", entry, { expect: { lastSequence: last } }).then(
      ({ seq }) => {
        last = seq;
        done(undefined);
      },
      (error: unknown) => done(error instanceof Error ? error : new Error(String(error))),
    );
  };
}

/** The time from a set on one daemon to the event on the other, compared with a message from its publisher to a consumer. */
async function watchRows(
  machine: Machine,
  here: Socket,
  there: Socket,
  connection: NatsConnection,
  client: JetStreamClient,
): Promise<readonly Row[]> {
  const { told, timesOf, own } = await untilWatched(machine, here, there, repositoryId(1));
  const manager = await jetstreamManager(connection);
  await manager.streams.add({ name: "watched", subjects: ["watched"] });
  const consumer = await client.consumers.get("watched");
  const messages = await consumer.consume({ callback: told });
  const contender = timesOf("from a JetStream publish to its consumer", () => client.publish("watched", entry));
  const what = "from a set to its event at the other daemon, 99th percentile";
  const rows = await compare(machine, what, "ms", own, [{ contender }]);
  await messages.close();
  return rows;
}
