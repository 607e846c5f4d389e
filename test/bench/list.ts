import { readFile } from "node:fs/promises";
import { Agent } from "node:http";
import { join } from "node:path";
import { promisify } from "node:util";
import { post, socketOf } from "../helpers/one-shot.ts";
import { atLeast, atMost, type Compared, compare, cpuTimeOf } from "./compare.ts";
import { etcdCommand, startEtcd } from "./etcd.ts";
import { type Call, rateOf } from "./figures.ts";
import { makeHome, repositoryId, twentyFields } from "./homes.ts";
import type { Machine } from "./machine.ts";
import { redisCommand, startRedis } from "./redis.ts";
import type { Row, Section } from "./section.ts";
import { ask, calls, prepare, startPair } from "./sockets.ts";

/** Lists all values of one repository repeatedly. */
export const list: Section = {
  name: "list",
  title: "Listing the 20 fields of one repository",
  run: async machine => {
    const home = await makeHome(machine, 1);
    await using pair = await startPair(machine, home);
    const { daemon, floor, ours, bare } = pair;
    const args = { repo: repositoryId(0) };
    await prepare(bare, { replies: { "config/list": await ask(ours, "config/list", args) } });
    const ourCall = calls(ours, "config/list", () => args);
    const bareCall = calls(bare, "config/list", () => args);
    await using alternatives = new AsyncDisposableStack();
    const peerCalls = await startAlternatives(machine, alternatives);
    const rows: Row[] = [];
    for (const lanes of [1, 64]) {
      const contender = (name: string, call: Call) => ({ name, run: () => rateOf(call, lanes, machine.slice) });
      const others: Compared[] = [
        { contender: contender("bare Socket.IO", bareCall), goal: atLeast(1) },
        ...peerCalls.map(({ name, call }) => ({
          contender: contender(name, call),
          ...(lanes > 1 && { goal: atLeast(1) }),
        })),
      ];
      const what = lanes === 1 ? "one at a time" : `${lanes} at once`;
      rows.push(...(await compare(machine, what, "calls/s", contender("Repoconf", ourCall), others)));
    }
    if (process.platform !== "win32") {
      await using kept = await oneShot(home, args);
      const own = { name: "Repoconf", run: () => rateOf(kept.call, 1, machine.slice) };
      const other = { name: "bare Socket.IO", run: () => rateOf(bareCall, 1, machine.slice) };
      const what = "one at a time, as one-shot requests over a connection that is kept";
      rows.push(...(await compare(machine, what, "calls/s", own, [{ contender: other }])));
    }
    if (process.platform === "linux") {
      const own = cpuTimeOf(machine, "Repoconf", daemon, ourCall);
      const other = { contender: cpuTimeOf(machine, "bare Socket.IO", floor, bareCall), goal: atMost(0.9) };
      rows.push(...(await compare(machine, "CPU time per call", "ms", own, [other])));
    }
    return rows;
  },
};

/** Lists by one-shot requests on the Unix socket, one after the other on one connection. */
async function oneShot(home: string, args: object) {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const path = await socketOf(home);
  const key = (await readFile(join(home, "owner.key"), "utf8")).trim();
  const call: Call = (_lane, done) => {
    post(path, key, "config/list", args, agent).then(({ reply: { errors } }) => done(errors[0]), done);
  };
  return { call, [Symbol.asyncDispose]: async () => agent.destroy() };
}

/** Starts the alternatives that are installed. As with Repoconf, a call ends when it has the values as an object. */
async function startAlternatives(
  machine: Machine,
  alternatives: AsyncDisposableStack,
): Promise<{ name: string; call: Call }[]> {
  const found: { name: string; call: Call }[] = [];
  const fields = Object.entries(twentyFields).map(([field, value]) => [field, JSON.stringify(value)] as const);
  if (machine.has(redisCommand)) {
    const redis = alternatives.use(await startRedis(machine));
    await promisify(redis.request)(["HSET", "svc", ...fields.flat()]);
    found.push({
      name: "Redis HGETALL",
      call: (_lane, done) =>
        redis.request(["HGETALL", "svc"], (error, reply) => {
          if (error !== undefined || !Array.isArray(reply)) return done(error ?? new Error("Redis answered no list"));
          const config: { [field: string]: unknown } = {};
          for (let at = 0; at < reply.length; at += 2) config[reply[at]] = JSON.parse(reply[at + 1]);
          done(Object.keys(config).length === fields.length ? undefined : new Error("Redis lost a field"));
        }),
    });
  }
  if (machine.has(etcdCommand)) {
    const etcd = alternatives.use(await startEtcd(machine));
    for (const [field, value] of fields) await promisify(etcd.put)(`svc/${field}`, value);
    found.push({
      name: "etcd range",
      call: (_lane, done) =>
        etcd.range("svc/", (error, pairs) => {
          if (error !== undefined) return done(error);
          const config: { [field: string]: unknown } = {};
          for (const [key, value] of pairs) config[key.slice("svc/".length)] = JSON.parse(value);
          done(Object.keys(config).length === fields.length ? undefined : new Error("etcd lost a field"));
        }),
    });
  }
  return found;
}
