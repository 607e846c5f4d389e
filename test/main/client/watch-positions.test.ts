import { rm } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { RepoconfClient, WatchMessage } from "../../../main/client/client.ts";
import { collectWatch } from "../../helpers/collect-watch.ts";
import { startTestDaemon, until } from "../../helpers/daemon.ts";
import { watchConnections } from "../../helpers/daemon-connections.ts";
import { connect } from "../../helpers/patient-client.ts";
import { randomNumbers } from "../../helpers/random.ts";
import { temporaryFolder } from "../../helpers/temporary-folder.ts";

const seed = Number(process.env["REPOCONF_SEED"] ?? 7);
const count = Number(process.env["REPOCONF_CHANGES"] ?? 500);
const repos = ["one", "two", "three"];

/** One watch, and the revisions that it received of each repository. */
class Recorded {
  readonly seen = new Map<string, number[]>();
  readonly lost: string[] = [];
  position: string | undefined;
  readonly #stop = new AbortController();
  readonly ended: Promise<void>;

  constructor(
    client: RepoconfClient,
    which: { repo?: readonly string[]; since?: { [repo: string]: number }; position?: string },
  ) {
    for (const [id, revision] of Object.entries(which.since ?? {})) this.seen.set(id, [revision]);
    this.ended = this.#run(client, which);
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.ended;
  }

  async #run(client: RepoconfClient, { repo, ...from }: ConstructorParameters<typeof Recorded>[1]): Promise<void> {
    const options = { ...from, signal: this.#stop.signal };
    if (repo !== undefined) {
      for await (const change of client.watch({ repo, ...options })) this.#note(change);
      return;
    }
    for await (const [resource, event, payload] of client.watchEverything(options)) {
      if (resource === "connection" && event === "resumed") this.lost.push(...payload.lost);
      if (resource === "config") this.#note(payload);
    }
  }

  #note({ repo, revision, position }: { repo: string; revision: number; position?: string }): void {
    this.seen.set(repo, [...(this.seen.get(repo) ?? []), revision]);
    this.position = position;
  }
}

test(`watches that begin and end at random on one client, with different repositories and starts, see each of ${count} changes once and in order`, {
  timeout: 600_000,
}, async () => {
  const random = randomNumbers(seed);
  await using t = await startTestDaemon();
  for (const id of repos) await t.addRepository(id);
  using connections = watchConnections();
  using client = await connect({ home: t.homeFolder });
  const newest = new Map(repos.map(id => [id, 1]));
  const running: Recorded[] = [];
  const ended: Recorded[] = [];
  const begin = () => {
    const chosen = repos.filter(() => random(2) === 0);
    const repo = chosen.length === 0 ? repos.slice(0, 1) : chosen;
    const { position } = running[random(running.length || 1)] ?? {};
    switch (random(4)) {
      case 0:
        return new Recorded(client, {});
      case 1:
        return new Recorded(client, { repo });
      case 2:
        return new Recorded(client, position === undefined ? {} : { position });
      default:
        return new Recorded(client, {
          repo,
          since: Object.fromEntries(repo.map(id => [id, 1 + random(newest.get(id) ?? 1)])),
        });
    }
  };
  let cuts = 0;
  const restarts = new Set([100, 300]);
  const waiting: Promise<void>[] = [];
  for (let number = 1; number <= count; number++) {
    const chosen = repos.filter(() => random(3) === 0);
    const repo = chosen.length === 0 ? repos.slice(0, 1) : chosen;
    waiting.push(
      t.owner.call("config/set", { repo, "svc.timeout": number, atomic: true }).then(({ result, errors }) => {
        expect(errors).toEqual([]);
        for (const one of result) newest.set(one.repo, Math.max(one.revision, newest.get(one.repo) ?? 0));
      }),
    );
    if (random(4) === 0) await Promise.all(waiting.splice(0));
    if (running.length < 6 && random(5) === 0) running.push(begin());
    if (running.length > 0 && random(12) === 0) {
      const [one] = running.splice(random(running.length), 1);
      if (one !== undefined) {
        ended.push(one);
        void one.stop();
      }
    }
    if (random(40) === 0) {
      cuts += 1;
      connections.cut();
    }
    if (!restarts.has(number)) continue;
    await Promise.all(waiting.splice(0));
    await connections.sparing(() => t.restart());
  }
  await Promise.all(waiting);
  while (running.length < 4) running.push(begin());
  // Until everything arrived: one more change of each repository, which every watch of it sees last.
  for (const id of repos) {
    const last = newest.get(id) ?? 0;
    let more = 0;
    await until(async () => {
      const isDone = running.every(({ seen }) => !seen.has(id) || (seen.get(id)?.at(-1) ?? 0) > last);
      if (!isDone) await t.owner.call("config/set", { repo: id, "svc.timeout": count + ++more });
      return isDone;
    }, `the last change of ${id}`);
  }
  for (const { seen, lost } of [...running, ...ended]) {
    expect(lost).toEqual([]);
    for (const [id, revisions] of seen) {
      const [first = 0] = revisions;
      expect([id, revisions]).toEqual([id, revisions.map((_, index) => first + index)]);
    }
  }
  expect(cuts).toBeGreaterThan(5);
  await Promise.all(running.map(one => one.stop()));
  await Promise.all(ended.map(one => one.ended));
});

test("after a backup was restored, a watch of everything names every repository as lost and goes on; one of a repository ends with 1110", async () => {
  await using home = await temporaryFolder();
  const first = await startTestDaemon({ home: home.path });
  for (const id of ["shop", "other"]) await first.addRepository(id);
  using client = await connect({ home: home.path });
  const { seen: messages } = collectWatch(client.watchEverything());
  const { ended } = collectWatch(client.watch({ repo: "shop" }));
  await client.run("daemon/status", {});
  await first.owner.call("config/set", { repo: "shop", "svc.timeout": 1 });
  await until(() => messages.length === 1, "the change");
  await first[Symbol.asyncDispose]();
  // As after a restore, the home's log begins anew, while the histories have the same revisions.
  await rm(join(home.path, "log"), { recursive: true });
  await using second = await startTestDaemon({ home: home.path });
  expect(await ended).toMatchObject({ code: 1110, details: { position: expect.any(String) } });
  await until(() => messages.length === 3, "the watch of everything to go on");
  await second.owner.call("config/set", { repo: "other", "svc.timeout": 2 });
  await until(() => messages.length === 4, "the next change");
  expect(messages.slice(1)).toMatchObject([
    ["connection", "lost", {}],
    ["connection", "resumed", { lost: ["shop", "other"] }],
    ["config", "changed", { repo: "other", revision: 2 }],
  ]);
});

test("a watch that is cut while its past is sent continues there, although another watch of the client is further", async () => {
  await using t = await startTestDaemon();
  const repo = await t.addRepository("shop");
  await t.addRepository("other");
  const last = 42;
  for (let number = 2; number < last; number++) {
    // More than the daemon sends before the client has read it.
    const services = { web: { ready: `${number}`, image: "x".repeat(200_000) } };
    await t.owner.call("config/set", { repo, "svc.services": services });
  }
  using connections = watchConnections();
  using client = await connect({ home: t.homeFolder });
  const stop = new AbortController();
  const { seen: messages, ended } = collectWatch(client.watchEverything({ signal: stop.signal }));
  const isOther = ([resource, , payload]: WatchMessage) => resource === "config" && payload.repo === "other";
  await client.run("daemon/status", {});
  const seen: number[] = [];
  let isCut = false;
  for await (const { revision } of client.watch({ repo, since: 1 })) {
    if (seen.push(revision) === 3) await t.owner.call("config/set", { repo: "other", "svc.timeout": 5 });
    if (messages.some(isOther) && !isCut) {
      isCut = true;
      connections.cut();
      // Sent last, whatever is missing.
      await t.owner.call("config/set", { repo, "svc.timeout": 5 });
    }
    if (revision === last) break;
  }
  expect(seen).toEqual(Array.from({ length: last - 1 }, (_, index) => index + 2));
  expect(isCut).toBe(true);
  stop.abort();
  await ended;
});
