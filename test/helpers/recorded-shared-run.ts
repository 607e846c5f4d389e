import { readFileSync, renameSync, writeFileSync } from "node:fs";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { bundle } from "./bundled.ts";
import { until } from "./daemon.ts";
import { checkHistory, type RecordedSet, type RecordedWatcher, type Violation } from "./history-checker.ts";
import { addLoadScope } from "./load-scope.ts";
import { startCluster } from "./nats-server.ts";
import { randomNumbers } from "./random.ts";
import { fields, Run, repo, Stage, valuesOf, wholeHistory } from "./recorded-run.ts";
import { temporaryFolder } from "./temporary-folder.ts";

export interface SharedRunOptions {
  readonly seed: number;
  /** Clients of all machines together. */
  readonly clients: number;
  /** Requests of all clients together. */
  readonly requests: number;
  /** How often a server, and after it a daemon, is killed on the way. */
  readonly kills: number;
}

export interface RecordedSharedRun {
  readonly violations: readonly Violation[];
  readonly sets: number;
  readonly acknowledged: number;
  readonly reads: number;
  readonly events: number;
  /** Edits by hand that became revisions. */
  readonly edits: number;
  /** The text of the history and of the values in the file, of each machine, in the end. */
  readonly histories: readonly string[];
  readonly files: readonly string[];
}

const machines = ["one", "two", "three"];
/** Two people, each at a machine, edit a field of their own. */
const people = [0, 1];
const scopeFields = [...fields, ...people.map(person => `hand${person}`)];

/**
 * Three servers, three daemons on them, clients of each, and two people who edit files: servers and daemons are killed on the way, and all
 * of it is noted and judged. The sets of all machines together are linearizable; so are, of each machine, its clients' sets and reads.
 */
export async function recordSharedRun(options: SharedRunOptions): Promise<RecordedSharedRun> {
  await using programFolder = await temporaryFolder();
  const program = await bundle("dying-daemon.ts", programFolder.path);
  await using cluster = await startCluster();
  await using folder = await temporaryFolder();
  const address = `nats://${cluster.servers.map(({ port }) => `127.0.0.1:${port}`).join(",")}/shared`;
  await using stack = new AsyncDisposableStack();
  const homes = machines.map(machine => join(folder.path, machine));
  const stages: Stage[] = [];
  for (const [index, home] of homes.entries()) {
    await mkdir(home);
    await addLoadScope(home, scopeFields);
    const log = { address, replicas: 3, machine: machines[index] };
    await writeFile(join(home, "settings.json"), JSON.stringify({ log }));
    const stage = stack.use(new Stage(home, program));
    // Until the servers have found each other there is no stream.
    await until(
      () =>
        stage.start().then(
          () => true,
          () => false,
        ),
      "the daemon",
    );
    stages.push(stage);
  }
  const [first] = stages;
  if (first === undefined) throw new Error("no machine");
  await (await first.connect()).call("repo/add", { id: repo, name: repo });
  for (const stage of stages) {
    const client = await stage.connect();
    await until(async () => (await client.call("repo/list")).result[0]?.revision === 1, "the repository");
  }
  const random = randomNumbers(options.seed);
  const run = new Run(options.requests, 1, true);
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
      writeFileSync(`${path}.new`, JSON.stringify(file, null, 2));
      renameSync(`${path}.new`, path);
    }
  });
  const killing = (async () => {
    for (let kill = 1; kill <= options.kills; kill++) {
      const after = Math.floor((options.requests * kill) / (options.kills + 1));
      while (run.begun < after) await delay(1);
      const server = cluster.servers[kill % cluster.servers.length];
      await server?.kill();
      await delay(random(500));
      await server?.start();
      await delay(random(500));
      await stages[kill % stages.length]?.restart();
    }
  })();
  await Promise.all([...working, killing]);
  isOver = true;
  await Promise.all(editing);
  // A last set that all machines come to: what stands before it in the log, they have.
  const clients = await Promise.all(stages.map(stage => stage.connect()));
  const last = Math.max(...(await Promise.all(clients.map(client => settled(client)))));
  await until(
    async () => (await Promise.all(clients.map(newest))).every(revision => revision >= last),
    "all machines to have all",
  );
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
  const violations = [...checkHistory({ start, sets: [...everywhere, ...edits], reads: [], watchers: [], revisions })];
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
    acknowledged: run.sets.filter(({ reply }) => reply !== undefined && "revision" in reply).length,
    reads: run.reads.length,
    events: watched.reduce((sum, watcher) => sum + eventsOf(watcher), 0),
    edits: revisions.filter(({ changes }) => Object.keys(changes).some(field => field.startsWith("hand"))).length,
    histories: histories.map(history => JSON.stringify(history)),
    files: files.map(values => JSON.stringify(Object.entries(values).sort())),
  };
}

function eventsOf({ sessions }: RecordedWatcher): number {
  return sessions.reduce((sum, { events }) => sum + events.length, 0);
}

type Client = Awaited<ReturnType<Stage["connect"]>>;

async function newest(client: Client): Promise<number> {
  return (await client.call("config/list", { repo })).revision ?? 0;
}

/** The newest revision once the machine's daemon can change something again, and has applied what its file says. */
async function settled(client: Client): Promise<number> {
  await until(async () => (await client.call("daemon/status")).result.problems?.length === 0, "the log");
  await client.call("file/read", { repo });
  await delay(500);
  await client.call("file/read", { repo });
  return newest(client);
}
