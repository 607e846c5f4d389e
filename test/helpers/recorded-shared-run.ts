import { readFileSync } from "node:fs";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { rejoinShared } from "../../main/daemon/home/rejoin-log.ts";
import { homeAt } from "../../main/home/home.ts";
import { type TestClient, until } from "./daemon.ts";
import { checkHistory, type RecordedSet, type RecordedWatcher, type Violation } from "./history-checker.ts";
import { addLoadScope } from "./load-scope.ts";
import { Additions, daemonMishaps, problemsOf, serverMishaps } from "./mishaps.ts";
import { askServers, startPartitionedCluster, type TestCluster } from "./nats-server.ts";
import { randomNumbers } from "./random.ts";
import { fields, repo, startRun, valuesOf, wholeHistory } from "./recorded-run.ts";
import { openServerLine } from "./server-line.ts";
import { mountSmallDisk } from "./small-disk.ts";
import { type Stage, startStage } from "./stage.ts";
import { temporaryFolder } from "./temporary-folder.ts";
import { renameOver } from "./ways-of-saving.ts";

export interface SharedRunOptions {
  readonly seed: number;
  /** The number of clients on all machines together. */
  readonly clients: number;
  /** How long servers and daemons are killed while clients work. */
  readonly seconds: number;
  /** It goes on until this many sets were acknowledged and edits were made, however slow the machine is. */
  readonly leastSets: number;
  readonly leastEdits: number;
  /** For how many milliseconds each client rests after each request, so that a run of hours has no more than the checker can hold. */
  readonly pause?: number;
  /** Up to how many milliseconds nothing happens between two mishaps. */
  readonly rest?: number;
}

const stream = "shared";
const machines = ["one", "two", "three"];
/** Two people on different machines, each editing a separate field. */
const people = [0, 1];
const scopeFields = [...fields, ...people.map(person => `hand${person}`)];

/**
 * Runs three servers, three daemons with clients, and two people who edit files. Servers and daemons are killed during the run;
 * everything is recorded and checked. The sets of all machines together are linearizable, and so are, for each machine, its
 * clients' sets and reads.
 */
export async function recordSharedRun(options: SharedRunOptions) {
  await using folder = await temporaryFolder();
  await using stack = new AsyncDisposableStack();
  const mounted = (names: readonly string[], megabytes: number) =>
    names.map(name => {
      const path = join(folder.path, name);
      const disk = mountSmallDisk(path, megabytes);
      return { path, disk: disk && stack.use(disk) };
    });
  const data = mounted(["data0", "data1", "data2"], 192);
  const cluster = stack.use(await startPartitionedCluster(data.map(({ path }) => path)));
  const homeDisks = mounted(machines, 96);
  const homes = homeDisks.map(({ path }) => path);
  const stages: Stage[] = [];
  const lines = await Promise.all(
    homes.map(() => Promise.all(cluster.servers.map(async ({ port }) => stack.use(await openServerLine(port))))),
  );
  for (const [index, home] of homes.entries()) {
    await addLoadScope(home, scopeFields);
    const hosts = (lines[index] ?? []).map(({ port }) => `127.0.0.1:${port}`);
    const log = { address: `nats://${hosts.join(",")}/${stream}`, replicas: 3, machine: machines[index] };
    // A run of hours makes more than the 10,000 revisions that a history has otherwise, and each is judged in the end.
    const history = { revisions: 1_000_000, bytes: 1024 ** 3 };
    await writeFile(join(home, "settings.json"), JSON.stringify({ log, history }));
    stages.push(stack.use(await startStage(home)));
  }
  const [first] = stages;
  if (first === undefined) throw new Error("no machine");
  await (await first.connect()).call("repo/add", { id: repo, name: repo });
  for (const stage of stages) {
    const client = await stage.connect();
    await until(async () => (await client.call("repo/list")).result[0]?.revision === 1, "the repository");
  }
  const random = randomNumbers(options.seed);
  const run = startRun(Number.POSITIVE_INFINITY, 1, true, [], options.pause);
  const watchers = stages.map((stage, index) =>
    run.watch(stage, `watcher ${index}`, 1, randomNumbers(random(1_000_000))),
  );
  const watching = Promise.all(watchers);
  watching.catch(() => {});
  const machineOf = (client: string) => Number(/\d+$/.exec(client)?.[0]) % machines.length;
  const working = Array.from({ length: options.clients }, (_, index) => {
    const stage = stages[machineOf(`client ${index}`)];
    return stage && run.work(stage, `client ${index}`, randomNumbers(random(1_000_000)));
  });
  let isOver = false;
  const edits: RecordedSet[] = [];
  const editing = people.map(async person => {
    const path = join(homes[person] ?? "", "repos", `${repo}.json`);
    for (let count = 1; !isOver; count++) {
      await delay(300 + random(300));
      const value = `hand${person}-${count}`;
      edits.push({ client: `person ${person}`, began: run.now(), changes: { [`hand${person}`]: value } });
      // The disk may be full; then it may have happened or not.
      try {
        const file = JSON.parse(readFileSync(path, "utf8"));
        file.config.load = { ...file.config.load, [`hand${person}`]: value };
        renameOver(path, JSON.stringify(file, null, 2));
      } catch {}
    }
  });
  const mishaps = new Map<string, number>();
  const end = Date.now() + options.seconds * 1_000;
  const additions = new Additions();
  const told: number[] = [];
  const serverDisks = cluster.servers.flatMap((server, index) => {
    const disk = data[index]?.disk;
    return disk === undefined ? [] : [{ server, disk }];
  });
  const disks = { homeDisks: homeDisks.flatMap(({ disk }) => disk ?? []), serverDisks };
  const world = { cluster, stream, stages, lines, ...disks, random, additions, told };
  const leaders = watchLeader(cluster);
  const person = lookAfter(stages);
  const acknowledged = () => run.sets.filter(({ reply }) => reply !== undefined && "revision" in reply).length;
  // A slow machine acknowledges few sets in that time.
  const isEnough = () => acknowledged() > options.leastSets && edits.length > options.leastEdits;
  const happening = [serverMishaps(world), daemonMishaps(world)].map(async kinds => {
    const all = Object.entries(kinds);
    for (let count = 0; Date.now() < end || !isEnough(); count++) {
      await delay(random(options.rest ?? 1_500));
      // Each mishap once, then random ones.
      const [name, happen] = (count < all.length ? all[count] : all[random(all.length)]) ?? [];
      if (name === undefined) break;
      await happen?.();
      mishaps.set(name, (mishaps.get(name) ?? 0) + 1);
    }
  });
  await Promise.all(happening);
  const longestWithoutSet = run.longestWithoutSet;
  run.stop();
  await Promise.all(working);
  isOver = true;
  await Promise.all(editing);
  const helped = await person.stop();
  // A last set that all machines receive: then they also have everything before it in the log.
  const clients = await Promise.all(stages.map(stage => stage.connect()));
  const last = Math.max(...(await Promise.all(clients.map(client => settled(client)))));
  const isEverywhere = async () => (await Promise.all(clients.map(newest))).every(revision => revision >= last);
  await until(isEverywhere, "all machines to have everything");
  const histories = await Promise.all(clients.map(client => wholeHistory(client)));
  const final = histories[0]?.at(-1)?.revision ?? 0;
  run.end(final);
  const watched = await watching;
  const revisions = (histories[0] ?? [])
    .filter(({ revision }) => revision > 1)
    .map(entry => ({ revision: entry.revision, changes: valuesOf(entry) }));
  const start = { revision: 1, values: {} };
  // A daemon that has diverged may compare with a revision that never was.
  const everywhere = run.sets.map(({ reply, ...set }) =>
    reply !== undefined && "revision" in reply ? { ...set, reply } : set,
  );
  const violations: Violation[] = [
    ...checkHistory({ start, sets: [...everywhere, ...edits], reads: [], watchers: [], revisions }),
  ];
  for (const [machine, watcher] of watched.entries()) {
    // What a daemon read that had diverged until a person came is not in the log.
    if (helped.has(machine)) continue;
    const isHere = ({ client }: { readonly client: string }) => machineOf(client) === machine;
    const elsewhere = run.sets.filter(set => !isHere(set)).map(({ reply: _, ...set }) => ({ ...set, began: 0 }));
    const sets = [...run.sets.filter(isHere), ...elsewhere, ...edits.map(edit => ({ ...edit, began: 0 }))];
    const reads = run.reads.filter(isHere);
    violations.push(...checkHistory({ start, sets, reads, watchers: [watcher], revisions }));
  }
  const lists = await Promise.all(
    clients.map(async client => (await client.call("repo/list", { limit: 1_000 })).result.map(({ id }) => id).sort()),
  );
  const kept = new Set((await Promise.all(homes.map(keptAside))).flat());
  const wrong = lists.flatMap((ids, index) =>
    additions.wrong(machines[index] ?? "", ids, id => kept.has(`${id}.json`)),
  );
  await Promise.all(clients.map(client => client.call("file/read", { repo })));
  const files = await Promise.all(
    homes.map(async home => JSON.parse(await readFile(join(home, "repos", `${repo}.json`), "utf8")).config.load),
  );
  return {
    violations,
    sets: run.sets.length,
    acknowledged: acknowledged(),
    reads: run.reads.length,
    events: watched.reduce((sum, watcher) => sum + eventsOf(watcher), 0),
    /** Edits by hand that became revisions. */
    edits: revisions.filter(({ changes }) => Object.keys(changes).some(field => field.startsWith("hand"))).length,
    /** The mishaps of servers and daemons, with their counts. */
    mishaps,
    /** What is wrong with the repositories that were added and removed while the log was away. */
    wrong,
    additions: additions.count,
    /** The repositories of each machine, as text. */
    lists: lists.map(ids => ids.join()),
    /** In milliseconds. */
    withoutLeader: await leaders.stop(),
    longestWithoutSet,
    told,
    /** The machines on which a person had to type `repoconf log rejoin`. */
    helped: [...helped].map(([index, problems]) => `${machines[index]}: ${problems}`),
    /** The final history and file values of each machine, as text. */
    histories: histories.map(history => JSON.stringify(history)),
    files: files.map(values => JSON.stringify(Object.entries(values).sort())),
  };
}

/** The files of repositories that a person's `repoconf log rejoin` kept aside. */
async function keptAside(home: string): Promise<string[]> {
  const folders = (await readdir(home)).filter(name => name.startsWith("before-rejoin-"));
  return (await Promise.all(folders.map(name => readdir(join(home, name, "repos"))))).flat();
}

/** Asks for the leader all the time; `stop` returns the longest time without one, in milliseconds. */
function watchLeader({ servers }: TestCluster) {
  let [isOver, longest, seen] = [false, 0, performance.now()];
  const watching = (async () => {
    while (!isOver) {
      const asked = servers.map(async ({ port }) => {
        const info = await askServers([`127.0.0.1:${port}`], manager => manager.streams.info(stream));
        const { leader, replicas = [] } = info.cluster ?? {};
        // One that was cut off believes for a while that it still leads.
        if (!leader || !replicas.some(({ active }) => active < 3e9)) throw new Error("no leader");
      });
      await Promise.any(asked).then(
        () => {
          longest = Math.max(longest, performance.now() - seen);
          seen = performance.now();
        },
        () => {},
      );
      await delay(250);
    }
  })();
  return {
    stop: async () => {
      isOver = true;
      await watching;
      return longest;
    },
  };
}

/**
 * Does what a person does at a machine whose daemon has asked for it for some time. `stop` waits until no daemon has a problem, and returns
 * the machines on which a person was needed.
 */
function lookAfter(stages: readonly Stage[]) {
  const helped = new Map<number, string>();
  let isStopping = false;
  const looking = stages.map(async (stage, index) => {
    let since: number | undefined;
    for (;;) {
      await delay(1_000);
      const problems = await stage.ask(problemsOf);
      if (isStopping && problems === "") return;
      // A daemon that was killed or cut off meanwhile has not come back to the log by that.
      if (problems === "") since = undefined;
      if (!problems?.includes("log rejoin")) continue;
      since ??= performance.now();
      if (performance.now() - since < 60_000) continue;
      // It fails while the log cannot be read; the person tries again.
      await stage.restart(() => rejoinShared(homeAt(stage.home)).catch(() => {}));
      helped.set(index, problems ?? "");
      since = undefined;
    }
  });
  return {
    stop: async () => {
      isStopping = true;
      await Promise.all(looking);
      return helped;
    },
  };
}

function eventsOf({ sessions }: RecordedWatcher): number {
  return sessions.reduce((sum, { events }) => sum + events.length, 0);
}

async function newest(client: TestClient): Promise<number> {
  return (await client.call("config/list", { repo })).revision ?? 0;
}

/** The newest revision once the machine's daemon can change something again, and has applied the values in its file. */
async function settled(client: TestClient): Promise<number> {
  await until(async () => (await client.call("daemon/status")).result.problems?.length === 0, "the log");
  await client.call("file/read", { repo });
  await delay(500);
  await client.call("file/read", { repo });
  return newest(client);
}
