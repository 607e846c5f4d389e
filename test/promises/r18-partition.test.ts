import { join } from "node:path";
import { expect, test } from "vitest";
import { startTestDaemon, type TestDaemon, until as untilSoon } from "../helpers/daemon.ts";
import { describeWithNats, startPartitionedCluster } from "../helpers/nats-server.ts";
import { reportPromise } from "../helpers/promise.ts";
import { historyOf, sees, timeoutOf } from "../helpers/shared-world.ts";
import { temporaryFolder } from "../helpers/temporary-folder.ts";

const all = ["shop", "site"];

/** Reconnected servers elect leaders, several times on a busy machine, so it waits up to three times as long. */
const until: typeof untilSoon = (condition, what) =>
  untilSoon(condition, what).catch(() => untilSoon(condition, what).catch(() => untilSoon(condition, what)));

/** A daemon on each of two servers of a cluster: `inside` is on the one that will be cut off, and cannot reach the others. */
async function makeWorld(cutsLeader: boolean) {
  const stack = new AsyncDisposableStack();
  const cluster = stack.use(await startPartitionedCluster());
  const folder = stack.use(await temporaryFolder());
  const start = async (machine: string, urls: readonly string[]) => {
    const home = join(folder.path, machine);
    const address = `nats://${urls.map(url => url.slice("nats://".length)).join(",")}/team`;
    const files = { "settings.json": { log: { address, machine, replicas: 3 } } };
    let started: TestDaemon | undefined;
    // The servers may elect a leader just now. A person starts it again, too.
    await until(async () => {
      started = await startTestDaemon({ home, files }).catch(error => {
        if (!String(error).includes("cannot be used: timeout")) throw error;
        return undefined;
      });
      return started !== undefined;
    }, "the shared log");
    if (started === undefined) throw new Error("no daemon");
    return stack.use(started);
  };
  const everywhere = cluster.servers.map(({ url }) => url);
  const first = await start("first", everywhere);
  for (const id of all) await first.addRepository(id);
  const leader = await cluster.leaderOf("team");
  const lonely = cluster.servers.find(server => (server === leader) === cutsLeader);
  if (lonely === undefined) throw new Error("no server");
  const inside = await start("inside", [lonely.url]);
  const others = everywhere.filter(url => url !== lonely.url);
  const outside = await start("outside", others);
  expect((await first.owner.call("config/set", { repo: all, "svc.timeout": 1 })).errors).toEqual([]);
  for (const daemon of [inside, outside]) for (const id of all) await sees(daemon, id, 1);
  return { cluster, lonely, first, inside, outside, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

/** Sets values one after the other until `enough` of them were acknowledged; returns those. */
async function setUntil({ owner }: TestDaemon, from: number, enough: number): Promise<number[]> {
  const acknowledged: number[] = [];
  for (let timeout = from; acknowledged.length < enough; timeout++) {
    const { errors } = await owner.call("config/set", { repo: "shop", "svc.timeout": timeout });
    if (errors.length === 0) acknowledged.push(timeout);
    else {
      expect(errors.map(({ code }) => code)).toEqual([1108]);
      // Waits as a person does who sees the daemon's report about the server.
      const isAway = async () => (await owner.call("daemon/status")).result.problems?.join().includes("refused");
      await until(async () => (await isAway()) === false, "the server");
    }
  }
  return acknowledged;
}

describeWithNats("R18 a server that is cut off from the others of its cluster but continues", () => {
  test.each([
    { which: "which is not the leader", cutsLeader: false },
    { which: "which is the leader", cutsLeader: true },
  ])(
    "$which: its daemon serves values and refuses sets, the others continue, and it has everything once after reconnecting",
    async row => {
      await using world = await makeWorld(row.cutsLeader);
      const { cluster, lonely, first, inside, outside } = world;
      await cluster.cutOff(lonely);
      const [acknowledged, refused] = await Promise.all([
        setUntil(outside, 100, 5),
        inside.owner.call("config/set", { repo: all, atomic: true, "svc.timeout": 2 }),
      ]);
      expect(refused.errors.map(({ code }) => code)).toEqual([1108]);
      for (const id of all) expect(await timeoutOf(inside, id)).toBe(1);
      const told = async ({ owner }: TestDaemon) => (await owner.call("daemon/status")).result.problems?.join() ?? "";
      await until(async () => (await told(inside)).includes("cannot be reached"), "the problem");
      await until(async () => (await told(outside)).includes("has lost"), "the missing server to be told elsewhere");
      const file = JSON.parse(await inside.readRepository("shop"));
      file.config.svc.domain = "edited.test";
      await inside.writeRepository("shop", JSON.stringify(file));
      await until(() => inside.log.some(line => line.includes("cannot be recorded")), "the edit to wait");
      acknowledged.push(...(await setUntil(first, 200, 5)));
      for (const id of all) expect(await timeoutOf(inside, id)).toBe(1);
      await cluster.heal();
      const [met = 0] = await setUntil(outside, 300, 1);
      acknowledged.push(met);
      await sees(first, "shop", met);
      const problems = async () => (await inside.owner.call("daemon/status")).result.problems?.join() ?? "";
      const outsides = await Promise.all(all.map(id => historyOf(outside, id)));
      // nats-server 2.9 may keep what its leader had when it was cut off, instead of what the others agreed on.
      let differs = false;
      await until(async () => {
        differs = (await problems()).includes("repoconf log rejoin");
        return differs || ((await timeoutOf(inside, "shop")) === met && (await problems()) === "");
      }, "the others");
      if (differs) {
        expect(row.cutsLeader).toBe(true);
        const { errors } = await inside.owner.call("config/set", { repo: "shop", "svc.timeout": 7 });
        expect(errors.map(({ code }) => code)).toEqual([1108]);
      } else {
        await until(async () => {
          const { result } = await outside.owner.call("config/list", { repo: "shop" });
          return result["svc"]?.["domain"] === "edited.test";
        }, "the edit");
        const [last = 0] = await setUntil(inside, 400, 1);
        for (const daemon of [first, outside]) await sees(daemon, "shop", last);
        acknowledged.push(last);
      }
      const together = differs ? [first, outside] : [first, outside, inside];
      const stored: number[] = [];
      for (const [index, id] of all.entries()) {
        const histories = await Promise.all(together.map(daemon => historyOf(daemon, id)));
        for (const history of histories) {
          expect(history).toEqual(histories[0]);
          // Without gaps, continuing what was there before.
          expect(history.map(({ revision }) => revision)).toEqual(history.map((_, place) => history.length - place));
          expect(history.slice(-(outsides[index]?.length ?? 0))).toEqual(outsides[index]);
        }
        stored.push(valuesIn(histories[0]).filter(value => value === 2).length);
      }
      const shop = await historyOf(first, "shop");
      for (const timeout of acknowledged) expect(valuesIn(shop).filter(value => value === timeout)).toHaveLength(1);
      const edits = shop.filter(({ changes }) => changes["svc"]?.["domain"] !== undefined);
      expect(edits).toHaveLength(differs ? 0 : 1);
      // A set rejected without an answer is everywhere or nowhere, equally for both repositories.
      expect([
        [0, 0],
        [1, 1],
      ]).toContainEqual(stored);
      const note = `sets acknowledged during a partition that cuts off ${row.cutsLeader ? "the leader" : "a server other than the leader"}${differs ? "; the server kept another message, which was noticed" : ""}`;
      reportPromise({ row: "R18", tried: acknowledged.length, failed: 0, note });
    },
  );
});

function valuesIn(history: Awaited<ReturnType<typeof historyOf>> = []): unknown[] {
  return history.map(({ changes }) => changes["svc"]?.["timeout"]?.value);
}
