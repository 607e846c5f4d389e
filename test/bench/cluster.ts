import { promisify } from "node:util";
import { jetstreamManager } from "@nats-io/jetstream";
import { connect } from "@nats-io/transport-node";
import type { Socket } from "socket.io-client";
import { until } from "../helpers/daemon.ts";
import { freePort } from "../helpers/free-port.ts";
import { compare, timeOf } from "./compare.ts";
import { etcdCommand, startEtcd } from "./etcd.ts";
import type { Call } from "./figures.ts";
import { repositoryId } from "./homes.ts";
import type { Machine } from "./machine.ts";
import type { Row, Section } from "./section.ts";
import { daemonOnLog } from "./shared-log.ts";
import { ask, sets, untilWatched } from "./sockets.ts";

const command = "nats-server";

/** What a set and its event at another machine take when the log is stored on one, three and five servers. */
export const cluster: Section = {
  name: "cluster",
  title: "A log stored on one, three and five servers, beside etcd with as many members",
  run: async machine => {
    if (!machine.has(command) || !machine.has(etcdCommand)) return [];
    const rows: Row[] = [];
    for (const count of machine.short ? [1, 3] : [1, 3, 5]) rows.push(...(await measure(machine, count)));
    return rows;
  },
};

async function measure(machine: Machine, count: number): Promise<readonly Row[]> {
  await using resources = new AsyncDisposableStack();
  const servers = await startServers(machine, count, resources);
  const socketOf = async (name: string): Promise<Socket> => {
    const log = { address: `nats://${servers}/bench`, machine: name, replicas: count };
    const socket = await resources.use(await daemonOnLog(machine, log)).connect();
    resources.defer(() => void socket.close());
    return socket;
  };
  const [here, there] = [await socketOf("here"), await socketOf("there")];
  const repo = repositoryId(0);
  await ask(here, "repo/add", { id: repo, name: "a repository" });
  await until(() => ask(there, "config/list", { repo }).then(isTrue, isFalse), "the repository at the other daemon");
  const etcd = resources.use(await startEtcd(machine, count));
  const put = (key: string) => promisify(etcd.put)(key, "x".repeat(250));
  const title = count === 1 ? "1 server" : `${count} servers`;
  const setting = sets(here, () => repo);
  const putting: Call = (_, done) => void put("key").then(() => done(), done);
  const rows = await compare(machine, `${title}: set, one at a time`, "ms", timeOf(machine, "Repoconf", setting), [
    { contender: timeOf(machine, "etcd put", putting) },
  ]);
  const { told, timesOf, own } = await untilWatched(machine, here, there, repo);
  await etcd.watch("watched", told);
  const contender = timesOf("from an etcd put to its event at the last member", () => put("watched"));
  const what = `${title}: from a set to its event at the other daemon, 99th percentile`;
  return [...rows, ...(await compare(machine, what, "ms", own, [{ contender }]))];
}

/** Starts servers that store streams on all of them, and returns their addresses for clients. */
async function startServers(machine: Machine, count: number, resources: AsyncDisposableStack): Promise<string> {
  const ports: number[] = [];
  for (let index = 0; index < 2 * count; index += 1) ports.push(await freePort());
  const clients = ports.slice(0, count);
  const routes = ports.slice(count).map(port => `nats://127.0.0.1:${port}`);
  const startServer = async (port: number, index: number) => {
    const own = ["-js", "-sd", await machine.newFolder("nats"), "-a", "127.0.0.1", "-p", String(port)];
    const joined = ["--server_name", `s${index}`, "--cluster_name", "bench", "--cluster", routes[index] ?? ""];
    const args = count === 1 ? own : [...own, ...joined, "--routes", routes.join(",")];
    resources.use(await machine.start(command, args, /Server is ready/));
  };
  await Promise.all(clients.map(startServer));
  const connection = await connect({ servers: clients.map(port => `127.0.0.1:${port}`) });
  const manager = await jetstreamManager(connection, { checkAPI: false });
  // A cluster answers once it has a leader.
  await until(
    () => manager.streams.add({ name: "ready", subjects: ["ready"], num_replicas: count }).then(isTrue, isFalse),
    "the cluster",
  );
  await manager.streams.delete("ready");
  await connection.close();
  return clients.map(port => `127.0.0.1:${port}`).join(",");
}

const isTrue = () => true;
const isFalse = () => false;
