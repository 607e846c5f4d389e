import { renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { type TestClient, until } from "./daemon.ts";
import type { TestCluster, TestServer } from "./nats-server.ts";
import type { Random } from "./random.ts";
import type { ServerLine } from "./server-line.ts";
import type { SmallDisk } from "./small-disk.ts";
import type { Stage } from "./stage.ts";

/** What mishaps happen to. */
export interface World {
  readonly cluster: TestCluster;
  readonly stream: string;
  readonly stages: readonly Stage[];
  /** The lines from each machine to the servers. */
  readonly lines: readonly (readonly ServerLine[])[];
  /** Empty where disks cannot be mounted. */
  readonly homeDisks: readonly SmallDisk[];
  readonly serverDisks: readonly { readonly server: TestServer; readonly disk: SmallDisk }[];
  readonly random: Random;
  readonly additions: Additions;
  /** The milliseconds after which a daemon told that the log cannot be reached. */
  readonly told: number[];
}

type Mishaps = { readonly [name: string]: () => Promise<void> };

/** The mishaps of servers; each is over when its promise resolves. */
export function serverMishaps({ cluster, stream, stages, serverDisks, random, additions, told }: World): Mishaps {
  const { servers, leaderOf } = cluster;
  const one = <Item>(items: readonly Item[]) => items[random(items.length)];
  const crash = async (dying: readonly (TestServer | undefined)[], meanwhile = () => delay(random(1_000))) => {
    await Promise.all(dying.map(server => server?.kill()));
    await meanwhile();
    await Promise.all(dying.map(server => server?.start()));
  };
  const cut = async (server = one(servers), from?: TestServer) => {
    if (server !== undefined) await cluster.cutOff(server, from);
    await delay(2_000 + random(12_000));
    await cluster.heal();
  };
  const pairs = servers.flatMap((server, index) => servers.slice(index + 1).map(other => [server, other] as const));
  return {
    "a server killed": () => crash([one(servers)]),
    "the leader killed": async () => crash([await leaderOf(stream)]),
    "a server frozen": async () => {
      const server = one(servers);
      await server?.pause();
      await delay(random(10_000));
      server?.resume();
    },
    "two servers killed": () => crash(servers.slice(random(2)).slice(0, 2)),
    "all servers killed": () => crash(servers, async () => void told.push(...(await tellingTimes(stages)))),
    "two servers cut from each other": async () => cut(...(one(pairs) ?? [])),
    "a server cut from the others": async () => cut(),
    "repositories added and removed while away": () =>
      crash(servers, () => additions.change(stages, random)).then(() => additions.change(stages, random)),
    ...(serverDisks.length > 0 && {
      "a server's disk full": async () => {
        const { server, disk } = one(serverDisks) ?? {};
        disk?.fill();
        await delay(random(4_000));
        disk?.free();
        // As its documentation says, it needs a restart.
        await crash([server]);
      },
    }),
  };
}

/** The mishaps of daemons, and of what connects them to servers. */
export function daemonMishaps({ stages, lines, homeDisks, random }: World): Mishaps {
  const one = <Item>(items: readonly Item[]) => items[random(items.length)];
  const cut = async (closing: readonly ServerLine[]) => {
    for (const line of closing) await line.close();
    await delay(random(8_000));
    for (const line of closing) await line.open();
  };
  return {
    "a daemon killed": async () => one(stages)?.restart(),
    "a daemon away for a while": async () => one(stages)?.restart(() => delay(random(8_000))),
    "a daemon frozen": async () => {
      const stage = one(stages);
      stage?.pause();
      await delay(random(8_000));
      stage?.resume();
    },
    "a daemon cut from a server": () => cut([one(one(lines) ?? [])].filter(line => line !== undefined)),
    "a daemon cut from all servers": () => cut(one(lines) ?? []),
    "a clock set": async () => one(stages)?.setClock((random(3) - 1) * random(172_800_000)),
    ...(homeDisks.length > 0 && {
      "a home's disk full": async () => {
        const disk = one(homeDisks);
        disk?.fill();
        await delay(random(5_000));
        disk?.free();
      },
    }),
  };
}

/** What a daemon tells that is wrong; empty: nothing. */
export async function problemsOf(client: TestClient): Promise<string> {
  return (await client.call("daemon/status")).result.problems?.join(" ") ?? "";
}

/** How long it took each daemon to tell that the log cannot be reached; without those that did not run all the time. */
async function tellingTimes(stages: readonly Stage[]): Promise<number[]> {
  const times = await Promise.all(
    stages.map(async stage => {
      const [began, disturbances] = [performance.now(), stage.disturbances];
      const isTold = async () => /cannot be reached|rejoin/.test((await stage.ask(problemsOf)) ?? "");
      await until(async () => disturbances !== stage.disturbances || (await isTold()), "a daemon to tell");
      return disturbances === stage.disturbances ? performance.now() - began : undefined;
    }),
  );
  return times.filter(time => time !== undefined);
}

/** Repositories that are added and removed while the log is away, and what was answered. */
export class Additions {
  readonly #added = new Map<string, "done" | "refused" | "unknown">();
  readonly #removed = new Map<string, "done" | "refused" | "unknown">();
  #count = 0;

  /** One machine adds a repository, one removes another, and on one a person puts a file into `repos/`. */
  async change(stages: readonly Stage[], random: Random): Promise<void> {
    const stage = () => stages[random(stages.length)];
    const added = `added${++this.#count}`;
    const removable = [...this.#added.keys()].filter(id => !this.#removed.has(id));
    const removed = removable[random(removable.length)];
    const answer = async (call: "repo/add" | "repo/remove", args: { readonly [name: string]: string }) => {
      const reply = await stage()?.ask(client => client.call(call, args));
      if (reply === undefined) return "unknown";
      const [error] = reply.errors;
      // A repository that is not known on this machine yet.
      return error === undefined ? "done" : error.details?.["outcome"] === "unknown" ? "unknown" : "refused";
    };
    const [add, remove] = await Promise.all([
      answer("repo/add", { id: added, name: added }),
      removed === undefined ? undefined : answer("repo/remove", { repo: removed }),
    ]);
    this.#added.set(added, add);
    if (removed !== undefined && remove !== undefined) this.#removed.set(removed, remove);
    const put = `put${this.#count}`;
    const home = stage()?.home;
    if (home === undefined) return;
    // A full disk refuses it.
    const whole = join(home, put);
    try {
      writeFileSync(whole, JSON.stringify({ name: put }), { mode: 0o600 });
      renameSync(whole, join(home, "repos", `${put}.json`));
      this.#added.set(put, "done");
    } catch {
      rmSync(whole, { force: true });
    }
  }

  get count(): number {
    return this.#added.size + this.#removed.size;
  }

  /** What is wrong with the repositories that a machine has in the end. `isKept`: those that a person's `repoconf log rejoin` kept aside. */
  wrong(machine: string, ids: readonly string[], isKept: (id: string) => boolean): string[] {
    const wrong: string[] = [];
    for (const [id, outcome] of this.#added) {
      const removal = this.#removed.get(id);
      const isThere = ids.includes(id);
      const mayBe = outcome !== "refused" && removal !== "done";
      const mustBe = outcome === "done" && (removal === undefined || removal === "refused");
      if (isThere && !mayBe) wrong.push(`${machine} has ${id}, whose adding was ${outcome} and removal ${removal}`);
      if (!isThere && mustBe && !isKept(id))
        wrong.push(`${machine} lacks ${id}, whose adding was ${outcome} and removal ${removal}`);
    }
    return wrong;
  }
}
