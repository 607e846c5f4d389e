import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Socket } from "socket.io-client";
import { atLeast, atMost, type Compared, compare, timeOf } from "./compare.ts";
import { type Etcd, etcdCommand, startEtcd } from "./etcd.ts";
import { type Call, rateOf } from "./figures.ts";
import { makeHome, repositoryFile, repositoryId, twentyFields } from "./homes.ts";
import type { Machine } from "./machine.ts";
import type { Row, Section } from "./section.ts";
import { ask, calls, prepare, sets, startPair } from "./sockets.ts";

const floorName = "write, fsync, rename, fsync of the folder, reply";

interface Servers {
  readonly ours: Socket;
  readonly bare: Socket;
  readonly etcd: Etcd | undefined;
}

/** Sets one field durably, with no other requests pending. */
export const set: Section = {
  name: "set",
  title: "Durable set of one field, one at a time",
  run: machine =>
    withServers(machine, 1, async ({ ours, bare, etcd }) => {
      const bareCall = calls(bare, "config/set", () => ({ repo: repositoryId(0), "svc.timeout": 1 }));
      const others: Compared[] = [{ contender: timeOf(machine, floorName, bareCall), goal: atMost(0.9) }];
      if (etcd !== undefined) others.push({ contender: timeOf(machine, "etcd put", puts(etcd)), goal: atMost(2) });
      return compare(machine, "one at a time", "ms", timeOf(machine, "Repoconf", sets(ours)), others);
    }),
};

/** Sets one field in a work tree's file; the reply waits for the file. */
export const setInTree: Section = {
  name: "set-in-tree",
  title: "Durable set into a work tree, one at a time",
  run: async machine => {
    await using pair = await startPair(machine, await makeHome(machine, 0));
    const { ours, bare } = pair;
    // Like a clone, because the temporary file is created in git's folder.
    const tree = await machine.newFolder("tree");
    await mkdir(join(tree, ".git"));
    await writeFile(join(tree, ".git/HEAD"), "ref: refs/heads/main\n");
    const repo = "tree";
    await ask(ours, "repo/add", { id: repo, name: "in its work tree", path: tree, inTree: true });
    const config = Object.fromEntries(Object.entries(twentyFields).map(([field, value]) => [`svc.${field}`, value]));
    const reply = await ask(ours, "config/set", { repo, ...config });
    const text = await readFile(join(tree, ".repoconf.json"), "utf8");
    await prepare(bare, {
      replies: { "config/set": reply },
      write: { folder: await machine.newFolder("floor"), text },
    });
    const ourCall = sets(ours, () => repo);
    const bareCall = calls(bare, "config/set", () => ({ repo, "svc.timeout": 1 }));
    const goal = { text: "not slower than before the log: at most 2.6", isMet: atMost(2.6).isMet };
    const other = { contender: timeOf(machine, floorName, bareCall), goal };
    return await compare(machine, "one at a time", "ms", timeOf(machine, "Repoconf", ourCall), [other]);
  },
};

/** 64 sets at once on the same repository. */
export const setOne: Section = {
  name: "set-one",
  title: "Durable sets, 64 at once on one repository",
  run: machine =>
    withServers(machine, 1, async ({ ours, bare, etcd }) => {
      // Writes to one file cannot run in parallel, so there is no baseline with writes. This measures only the cost of the messages.
      await prepare(bare, { replies: { "config/set": { result: [], errors: [] } } });
      const bareCall = calls(bare, "config/set", () => ({ repo: repositoryId(0), "svc.timeout": 1 }));
      const others: Compared[] = [{ contender: rate(machine, "bare Socket.IO, nothing written", bareCall) }];
      if (etcd !== undefined)
        others.push({ contender: rate(machine, "etcd put on one key", puts(etcd)), goal: atLeast(1) });
      return compare(machine, "64 at once", "sets/s", rate(machine, "Repoconf", sets(ours)), others);
    }),
};

/** 64 sets at once, each on a different repository. */
export const setMany: Section = {
  name: "set-many",
  title: "Durable sets, 64 at once on 64 repositories",
  run: machine =>
    withServers(machine, 64, async ({ ours, bare, etcd }) => {
      const bareCall = calls(bare, "config/set", lane => ({ repo: repositoryId(lane), "svc.timeout": 1 }));
      const others: Compared[] = [{ contender: rate(machine, floorName, bareCall), goal: atLeast(1.5) }];
      const keys = etcd && puts(etcd, lane => `svc${lane}`);
      if (keys !== undefined)
        others.push({ contender: rate(machine, "etcd put on 64 keys", keys), goal: atLeast(0.5) });
      return compare(machine, "64 at once", "sets/s", rate(machine, "Repoconf", sets(ours, repositoryId)), others);
    }),
};

function rate(machine: Machine, name: string, call: Call) {
  return { name, run: () => rateOf(call, 64, machine.slice) };
}

function puts(etcd: Etcd, key: (lane: number) => string = () => "svc"): Call {
  let count = 0;
  return (lane, done) => {
    count += 1;
    etcd.put(key(lane), String(count), error => done(error));
  };
}

/** Starts the daemon, a bare server that writes texts of the same size, and etcd if it is installed. */
async function withServers(
  machine: Machine,
  repositories: number,
  measure: (servers: Servers) => Promise<readonly Row[]>,
): Promise<readonly Row[]> {
  const home = await makeHome(machine, repositories);
  await using pair = await startPair(machine, home);
  const { ours, bare } = pair;
  await using etcd = machine.has(etcdCommand) ? await startEtcd(machine) : undefined;
  const reply = await ask(ours, "config/set", { repo: repositoryId(0), "svc.timeout": 31 });
  const { text } = await repositoryFile(home, repositoryId(0));
  const folder = await machine.newFolder("floor");
  await mkdir(folder, { recursive: true });
  await prepare(bare, { replies: { "config/set": reply }, write: { folder, text } });
  return await measure({ ours, bare, etcd });
}
