import { setTimeout as delay } from "node:timers/promises";
import type { ConfigChanged, HistoryEntry } from "../../shared/protocol.ts";
import { type TestClient, until } from "./daemon.ts";
import type { RecordedHistory, RecordedRead, RecordedSet, RecordedWatcher, Values } from "./history-checker.ts";
import { addLoadScope } from "./load-scope.ts";
import { type Random, randomNumbers } from "./random.ts";
import { type Stage, startStage } from "./stage.ts";
import { temporaryFolder } from "./temporary-folder.ts";

export interface RunOptions {
  readonly seed: number;
  readonly clients: number;
  /** The total requests of all clients. */
  readonly requests: number;
  readonly watchers: number;
  /** How often the daemon is killed during the run. */
  readonly kills: number;
  /** Fields with local values from the start. A set changes either these or others, because one of both is two revisions. */
  readonly local?: readonly string[];
}

export const repo = "shop";
export const fields = ["a", "b", "c", "d", "e", "f"];

export type RecordedRun = Awaited<ReturnType<typeof recordRun>>;

/** Lets clients set, compare and set, read and watch one repository, whose daemon is killed now and then, and records all. */
export async function recordRun(options: RunOptions) {
  await using home = await temporaryFolder();
  await addLoadScope(home.path, fields);
  await using stage = await startStage(home.path);
  const owner = await stage.connect();
  await owner.call("repo/add", { id: repo, name: repo });
  const { local = [] } = options;
  const own = Object.fromEntries(local.map(field => [field, `${field}0`]));
  const args = Object.fromEntries(local.map(field => [`load.${field}`, own[field]]));
  if (local.length > 0) await owner.call("config/set", { repo, ...args, layer: "local" });
  const { revision = 0 } = await owner.call("config/list", { repo });

  const random = randomNumbers(options.seed);
  const run = startRun(options.requests, revision, false, local);
  const watchers = Array.from({ length: options.watchers }, (_, index) =>
    run.watch(stage, `watcher ${index + 1}`, revision, randomNumbers(random(1_000_000))),
  );
  const clients = Array.from({ length: options.clients }, (_, index) =>
    run.work(stage, `client ${index + 1}`, randomNumbers(random(1_000_000))),
  );
  const killing = (async () => {
    for (let kill = 1; kill <= options.kills; kill++) {
      const after = Math.floor((options.requests * kill) / (options.kills + 1));
      while (run.begun < after) await delay(1);
      // At a random moment, in the middle of its work.
      await delay(random(20));
      await stage.restart();
    }
  })();
  await Promise.all([...clients, killing]);
  const last = await stage.connect();
  const revisions = (await wholeHistory(last)).filter(entry => entry.revision > revision);
  const final = revisions.at(-1)?.revision ?? revision;
  run.end(final);
  const recorded: RecordedHistory = {
    start: { revision, values: own },
    sets: run.sets,
    reads: run.reads,
    watchers: await Promise.all(watchers),
    revisions: revisions.map(entry => ({ revision: entry.revision, changes: valuesOf(entry) })),
  };
  return {
    history: recorded,
    compared: run.sets.filter(({ expected }) => expected !== undefined).length,
    refused: run.sets.filter(({ reply }) => reply !== undefined && "conflict" in reply).length,
    /** Sets without a reply. */
    unanswered: run.sets.filter(({ reply }) => reply === undefined).length,
    /** How often a watcher resumed on another connection. */
    resumed: recorded.watchers.reduce((sum, { sessions }) => sum + sessions.length - 1, 0),
  };
}

/**
 * Records what clients do and see. They work until this number of requests. `mayBeAway`: the log is on another machine, and sets are
 * refused while it cannot be reached.
 */
export function startRun(
  requests: number,
  revision: number,
  mayBeAway = false,
  local: readonly string[] = [],
  pause = 0,
) {
  const sets: RecordedSet[] = [];
  const reads: RecordedRead[] = [];
  let [most, begun, time] = [requests, 0, 0];
  /** The newest revision that any client has seen, for compare and set; often outdated by the time it is sent. */
  let newest = revision;
  let last: number | undefined;
  let acknowledgedAt = performance.now();
  let longestWithoutSet = 0;
  /** The next moment of the clock. */
  const now = () => ++time;

  /** Returns false if the connection was lost. */
  const read = async (name: string, client: TestClient, random: Random) => {
    // As most clients read, or directly, without the views that such a list is made from.
    const stored = random(2) === 0 && { stored: true };
    const began = now();
    const reply = await client.call("config/list", { repo, scope: "load", ...stored }).catch(() => undefined);
    if (reply === undefined) return false;
    const { revision: current = 0, result, errors } = reply;
    if (errors.length > 0) throw new Error(JSON.stringify(errors));
    reads.push({ client: name, began, ended: now(), revision: current, values: textsOf(result["load"] ?? {}) });
    newest = Math.max(newest, current);
    return true;
  };

  const set = async (name: string, client: TestClient, number: number, random: Random) => {
    const isLocal = local.length > 0 && random(2) === 0;
    const all = fields.filter(field => local.includes(field) === isLocal);
    const chosen = all.filter(() => random(2) === 0);
    const changes = Object.fromEntries((chosen.length > 0 ? chosen : all).map(field => [field, `${field}${number}`]));
    const expected = random(2) === 0 ? newest : undefined;
    const compared = expected === undefined ? {} : { expected };
    const began = now();
    const sent = Object.fromEntries(Object.entries(changes).map(([field, value]) => [`load.${field}`, value]));
    const reply = await client
      .call("config/set", { repo, ...sent, ...(expected !== undefined && { revision: expected }) })
      .catch(() => undefined);
    const recorded = { client: name, began, changes, ...compared };
    const [error] = reply?.errors ?? [];
    const [done] = reply?.result ?? [];
    const ended = now();
    if (error?.code === 1108 && mayBeAway) {
      // It is not always known whether the set happened.
      sets.push(recorded);
      await delay(20);
    } else if (error?.code === 1104) {
      sets.push({ ...recorded, reply: { ended, conflict: Number(error.details?.["current"]) } });
    } else if (error !== undefined) {
      throw new Error(JSON.stringify(error));
    } else if (done === undefined) {
      sets.push(recorded);
      return false;
    } else {
      sets.push({ ...recorded, reply: { ended, revision: done.revision } });
      longestWithoutSet = Math.max(longestWithoutSet, performance.now() - acknowledgedAt);
      acknowledgedAt = performance.now();
      newest = Math.max(newest, done.revision);
    }
    return true;
  };

  const work = async (stage: Stage, name: string, random: Random) => {
    let client = await stage.connect();
    while (begun < most) {
      const number = begun++;
      if (pause > 0) await delay(random(2 * pause));
      const isDone = random(2) === 0 ? await read(name, client, random) : await set(name, client, number, random);
      if (!isDone) {
        client.socket.close();
        client = await stage.connect();
      }
    }
  };

  const watch = async (stage: Stage, name: string, since: number, random: Random): Promise<RecordedWatcher> => {
    const sessions: RecordedWatcher["sessions"][number][] = [];
    let current = since;
    while (last === undefined || current < last) {
      const client = await stage.connect();
      const events: RecordedWatcher["sessions"][number]["events"][number][] = [];
      client.socket.on("svc", (resource: string, _operation: string, payload: ConfigChanged) => {
        if (resource !== "config") return;
        events.push({ revision: payload.revision, changes: valuesOf(payload), seen: now() });
      });
      const reply = await client.call("config/watch", { repo, since: current }).catch(() => undefined);
      // On a full disk a history may not be opened; it is asked again, as a person would.
      if (reply?.errors.some(({ code }) => code === 1108)) {
        client.socket.close();
        await delay(50);
        continue;
      }
      if (reply !== undefined && reply.errors.length > 0) throw new Error(JSON.stringify(reply.errors));
      sessions.push({ since: current, events });
      const enough = 20 + random(400);
      // The connection before may have ended with the event that turns out to be the last one.
      const seen = () => events.at(-1)?.revision ?? current;
      const isOver = () => !client.socket.connected || events.length > enough || seen() === last;
      // While servers are killed, there may be no events for a while; once the last revision is known, its event must arrive.
      while (last === undefined && !isOver()) await delay(5);
      await until(isOver, `the event of revision ${last}, or the end of the connection, of ${name}`).catch(error => {
        throw new Error(`${error.message}: ${events.length} events since ${current}, up to ${events.at(-1)?.revision}`);
      });
      // Disconnects at any moment; the watcher resumes from what it has seen by then.
      client.socket.close();
      current = events.at(-1)?.revision ?? current;
    }
    return { name, sessions };
  };

  return {
    sets,
    reads,
    /** How many requests clients have begun. */
    get begun() {
      return begun;
    },
    /** The longest time between two acknowledged sets, in milliseconds. */
    get longestWithoutSet() {
      return longestWithoutSet;
    },
    now,
    work,
    watch,
    /** Clients begin no further requests. */
    stop: () => {
      most = 0;
    },
    /** Sets the last revision: watchers that have seen it have seen everything. */
    end: (seen: number) => {
      last = seen;
    },
  };
}

/** Without the fields that have only their default, which no set gives them. */
function textsOf(values: { readonly [field: string]: unknown }): Values {
  const given = Object.entries(values).filter(([, value]) => value !== "");
  return Object.fromEntries(given.map(([field, value]) => [field, String(value)]));
}

export function valuesOf({ changes }: Pick<ConfigChanged, "changes">): Values {
  return Object.fromEntries(Object.entries(changes["load"] ?? {}).map(([field, { value }]) => [field, String(value)]));
}

/** All entries of a repository, the oldest first. */
export async function wholeHistory(client: TestClient, of: string = repo): Promise<HistoryEntry[]> {
  const entries: HistoryEntry[] = [];
  let after: string | undefined;
  do {
    const page = await client.call("history/list", { repo: of, limit: 1_000, after });
    if (page.errors.length > 0) throw new Error(JSON.stringify(page.errors));
    entries.push(...page.result);
    after = page.next;
  } while (after !== undefined);
  return entries.reverse();
}
