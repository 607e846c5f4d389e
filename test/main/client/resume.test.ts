import { rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { expect, test } from "vitest";
import type { WatchMessage } from "../../../main/client/client.ts";
import type { ConfigChanged } from "../../../shared/protocol.ts";
import { startTestDaemon, until } from "../../helpers/daemon.ts";
import { watchConnections } from "../../helpers/daemon-connections.ts";
import { connect } from "../../helpers/patient-client.ts";
import { randomNumbers } from "../../helpers/random.ts";

/** The number of changes; 5,000 in the full test. */
const count = Number(process.env["REPOCONF_CHANGES"] ?? (process.env["REPOCONF_TORTURE"] === "1" ? 5_000 : 600));
const seed = Number(process.env["REPOCONF_SEED"] ?? 4);

/** A watcher that discards its client now and then; a new one resumes after the last change that it saw. */
class Watcher {
  readonly seen: ConfigChanged[] = [];
  readonly #home: string;
  readonly #repo: string;
  #stop = new AbortController();
  #running: Promise<void> = Promise.resolve();
  #ended = false;
  restarts = 0;

  constructor(home: string, repo: string) {
    this.#home = home;
    this.#repo = repo;
    this.#running = this.#run();
  }

  /** Discards the client in the middle of whatever it does. */
  discard(): void {
    this.#stop.abort();
  }

  async end(): Promise<void> {
    this.#ended = true;
    this.#stop.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    while (!this.#ended) {
      this.#stop = new AbortController();
      try {
        using client = await connect({ home: this.#home });
        const since = this.seen.at(-1)?.revision ?? 1;
        for await (const change of client.watch({ repo: this.#repo, since, signal: this.#stop.signal })) {
          this.seen.push(change);
          if (this.#stop.signal.aborted) break;
        }
        this.restarts++;
      } catch (error) {
        // No daemon right now, or it stopped before its first reply.
        if (![1200, 1201].includes((error as { code?: number }).code ?? 0)) throw error;
        await delay(10);
      }
    }
  }
}

const fields = ["svc.timeout", "svc.domain", "svc.provider"];

/** A set of some of the fields, all with the same number; always includes the first field. */
function nextSet(number: number, random: (below: number) => number): { readonly [field: string]: unknown } {
  const taken = fields.filter((_, index) => index === 0 || random(2) === 0);
  return Object.fromEntries(taken.map((field, index) => [field, index === 0 ? number : `${number}`]));
}

/** Expects each change once and in order, each set complete. */
function expectWhole(seen: readonly ConfigChanged[], sets: readonly { readonly [field: string]: unknown }[]): void {
  expect(seen.map(({ revision }) => revision)).toEqual(sets.map((_, index) => index + 2));
  const values = seen.map(({ changes }) =>
    Object.fromEntries(Object.entries(changes["svc"] ?? {}).map(([field, { value }]) => [`svc.${field}`, value])),
  );
  expect(values).toEqual(sets);
}

test(`watchers disconnected, discarded and resumed at random over ${count} changes see each once, in order and complete`, {
  timeout: 600_000,
}, async () => {
  const random = randomNumbers(seed);
  await using t = await startTestDaemon();
  const repo = await t.addRepository("shop");
  const other = await t.addRepository("other");
  let begun = 0;
  using connections = watchConnections();
  const watcher = new Watcher(t.homeFolder, repo);
  using steady = await connect({ home: t.homeFolder });
  using everything = await connect({ home: t.homeFolder });
  const stop = new AbortController();
  const steadySeen: ConfigChanged[] = [];
  const steadyEnded = (async () => {
    for await (const change of steady.watch({ repo, since: 1, signal: stop.signal })) steadySeen.push(change);
  })();
  const messages: WatchMessage[] = [];
  const everythingEnded = (async () => {
    for await (const message of everything.watchEverything({ signal: stop.signal })) messages.push(message);
  })();
  await until(async () => {
    await t.owner.call("config/set", { repo: other, "svc.timeout": ++begun });
    return messages.length > 0;
  }, "the watch of everything to begin");

  const sets: { readonly [field: string]: unknown }[] = [];
  const waiting: Promise<void>[] = [];
  const restarts = new Set(Array.from({ length: 5 }, () => 1 + random(count - 1)));
  let cuts = 0;
  while (sets.length < count) {
    const next = nextSet(sets.length + 1, random);
    sets.push(next);
    // In flight concurrently, so that writes are shared; they keep the order of sending.
    waiting.push(
      t.owner.call("config/set", { repo, ...next }).then(({ errors }) => {
        if (errors.length > 0) throw new Error(JSON.stringify(errors));
      }),
    );
    if (random(12) === 0) await Promise.all(waiting.splice(0));
    if (random(40) === 0) {
      cuts++;
      connections.cut();
    }
    if (random(20) === 0) watcher.discard();
    if (random(20) === 0) await delay(random(30));
    if (!restarts.has(sets.length)) continue;
    await Promise.all(waiting.splice(0));
    await connections.sparing(() => t.restart());
  }
  await Promise.all(waiting);

  await until(() => watcher.seen.length >= count, "the watcher's last change");
  expectWhole(watcher.seen, sets);
  await until(() => steadySeen.length >= count, "the last change of the client that resumes by itself");
  expectWhole(steadySeen, sets);

  const changes = () =>
    messages.flatMap(([resource, , payload]) => (resource === "config" && payload.repo === repo ? [payload] : []));
  await until(() => changes().at(-1)?.revision === count + 1, "the last change of the watch of everything");
  expectWhole(changes(), sets);
  const resumed = messages.flatMap(([resource, event, payload]) =>
    resource === "connection" && event === "resumed" ? [payload.lost] : [],
  );
  expect(resumed.length).toBeGreaterThan(0);
  expect(resumed.flat()).toEqual([]);
  process.stdout.write(
    `${count} changes: ${cuts} times cut, ${watcher.restarts} clients thrown away, ${restarts.size} restarts, ${resumed.length} resumed\n`,
  );

  stop.abort();
  await Promise.all([watcher.end(), steadyEnded, everythingEnded]);
});

test("a watcher that returns gets all that it missed within the kept history, and 1110 beyond it", async () => {
  await using t = await startTestDaemon();
  const repo = await t.addRepository("shop");
  await writeFile(join(t.homeFolder, "settings.json"), `{ "history": { "revisions": 10 } }`);
  await t.restart();
  const last = 60;
  for (let timeout = 2; timeout <= last; timeout++) await t.owner.call("config/set", { repo, "svc.timeout": timeout });
  for (const since of [1, last - 30, last - 11]) {
    using client = await connect({ home: t.homeFolder });
    const taken = client.watch({ repo, since });
    await expect(taken.next()).rejects.toMatchObject({ code: 1110, details: { current: last } });
  }
  for (const since of [last - 10, last - 3]) {
    using client = await connect({ home: t.homeFolder });
    const seen: number[] = [];
    for await (const { revision } of client.watch({ repo, since })) if (seen.push(revision) === last - since) break;
    expect(seen).toEqual(Array.from({ length: last - since }, (_, index) => since + 1 + index));
  }
});

test("a watch that was away for longer than history is kept ends with 1110; a watch of everything reports what it lost", async () => {
  await using t = await startTestDaemon();
  const repo = await t.addRepository("shop");
  const other = await t.addRepository("other");
  await writeFile(join(t.homeFolder, "settings.json"), `{ "history": { "revisions": 5 } }`);
  await t.restart();
  using connections = watchConnections();
  using client = await connect({ home: t.homeFolder });
  using everything = await connect({ home: t.homeFolder });
  const watched = client.watch({ repo });
  let isFirst = false;
  const first = watched.next().then(() => {
    isFirst = true;
  });
  const messages: WatchMessage[] = [];
  void (async () => {
    for await (const message of everything.watchEverything()) messages.push(message);
  })();
  let timeout = 0;
  await until(async () => {
    await t.owner.call("config/set", { repo, "svc.timeout": ++timeout });
    return isFirst && messages.length > 0;
  }, "both watches to begin");
  await first;
  const ended = (async () => {
    for await (const _ of watched);
  })().catch((error: unknown) => error);
  // Without the endpoint's file no client can reconnect.
  const endpoint = join(t.homeFolder, "daemon.json");
  await rename(endpoint, `${endpoint}.away`);
  connections.cut();
  const begin = messages.length;
  for (let more = 0; more < 30; more++) await t.owner.call("config/set", { repo, "svc.timeout": ++timeout });
  await t.owner.call("config/set", { repo: other, "svc.timeout": 7 });
  await rename(`${endpoint}.away`, endpoint);
  expect(await ended).toMatchObject({ code: 1110 });
  const rest = () =>
    messages.slice(begin).filter(([resource, , payload]) => resource !== "config" || payload.repo === other);
  await until(() => rest().length === 3, "what was not lost");
  expect(rest()).toMatchObject([
    ["connection", "lost", {}],
    ["connection", "resumed", { lost: [repo] }],
    ["config", "changed", { repo: other, revision: 2, changes: { svc: { timeout: { value: 7 } } } }],
  ]);
});

test("a watch whose connection is lost before its first reply begins with the next connection", async () => {
  await using t = await startTestDaemon();
  const repo = await t.addRepository("shop");
  using connections = watchConnections();
  using client = await connect({ home: t.homeFolder });
  const next = client.watch({ repo, since: 1 }).next();
  connections.cut();
  await t.owner.call("config/set", { repo, "svc.timeout": 5 });
  expect(await next).toMatchObject({ value: { revision: 2, changes: { svc: { timeout: { value: 5 } } } } });
});
