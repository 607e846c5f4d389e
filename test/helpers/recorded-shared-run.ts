import { readFileSync } from "node:fs";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { type TestClient, until } from "./daemon.ts";
import { checkHistory, type RecordedSet, type RecordedWatcher, type Violation } from "./history-checker.ts";
import { addLoadScope } from "./load-scope.ts";
import { startCluster, type TestCluster, type TestServer } from "./nats-server.ts";
import { type Random, randomNumbers } from "./random.ts";
import { fields, repo, type Stage, startRun, startStage, valuesOf, wholeHistory } from "./recorded-run.ts";
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
  await using cluster = await startCluster();
  await using folder = await temporaryFolder();
  const address = `${cluster.url}/${stream}`;
  await using stack = new AsyncDisposableStack();
  const homes = machines.map(machine => join(folder.path, machine));
  const stages: Stage[] = [];
  for (const [index, home] of homes.entries()) {
    await mkdir(home);
    await addLoadScope(home, scopeFields);
    const log = { address, replicas: 3, machine: machines[index] };
    await writeFile(join(home, "settings.json"), JSON.stringify({ log }));
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
  const run = startRun(Number.POSITIVE_INFINITY, 1, true);
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
      const file = JSON.parse(readFileSync(path, "utf8"));
      file.config.load = { ...file.config.load, [`hand${person}`]: value };
      renameOver(path, JSON.stringify(file, null, 2));
    }
  });
  const mishaps = new Map<string, number>();
  const end = Date.now() + options.seconds * 1_000;
  const all = Object.entries(mishapsOf(cluster, stages, random));
  const acknowledged = () => run.sets.filter(({ reply }) => reply !== undefined && "revision" in reply).length;
  // A slow machine acknowledges few sets in that time.
  const isEnough = () => acknowledged() > options.leastSets && edits.length > options.leastEdits;
  for (let count = 0; Date.now() < end || !isEnough(); count++) {
    await delay(random(1_500));
    // Each mishap once, then random ones.
    const [name, happen] = (count < all.length ? all[count] : all[random(all.length)]) ?? [];
    if (name === undefined) break;
    await happen?.();
    mishaps.set(name, (mishaps.get(name) ?? 0) + 1);
  }
  run.stop();
  await Promise.all(working);
  isOver = true;
  await Promise.all(editing);
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
  const everywhere = run.sets.map(({ reply, ...set }) =>
    reply !== undefined && "revision" in reply ? { ...set, reply } : set,
  );
  const violations: Violation[] = [
    ...checkHistory({ start, sets: [...everywhere, ...edits], reads: [], watchers: [], revisions }),
  ];
  for (const [machine, watcher] of watched.entries()) {
    const isHere = ({ client }: { readonly client: string }) => machineOf(client) === machine;
    const elsewhere = run.sets.filter(set => !isHere(set)).map(({ reply: _, ...set }) => ({ ...set, began: 0 }));
    const sets = [...run.sets.filter(isHere), ...elsewhere, ...edits.map(edit => ({ ...edit, began: 0 }))];
    const reads = run.reads.filter(isHere);
    violations.push(...checkHistory({ start, sets, reads, watchers: [watcher], revisions }));
  }
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
    /** The final history and file values of each machine, as text. */
    histories: histories.map(history => JSON.stringify(history)),
    files: files.map(values => JSON.stringify(Object.entries(values).sort())),
  };
}

/** The mishaps of servers and daemons; each is over when its promise resolves. */
function mishapsOf({ servers, leaderOf }: TestCluster, stages: readonly Stage[], random: Random) {
  const one = <Item>(items: readonly Item[]) => items[random(items.length)];
  const crash = async (...dying: readonly (TestServer | undefined)[]) => {
    await Promise.all(dying.map(server => server?.kill()));
    await delay(random(1_000));
    await Promise.all(dying.map(server => server?.start()));
  };
  return {
    "a server killed": () => crash(one(servers)),
    "a daemon killed": async () => one(stages)?.restart(),
    "the leader killed": async () => crash(await leaderOf(stream)),
    "a server stopped for a while": async () => {
      const server = one(servers);
      await server?.pause();
      await delay(random(4_000));
      server?.resume();
    },
    "a server and a daemon killed": async () => void (await Promise.all([crash(one(servers)), one(stages)?.restart()])),
    "two servers killed": () => crash(...servers.slice(random(2)).slice(0, 2)),
    "all servers killed": () => crash(...servers),
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
