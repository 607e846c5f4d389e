import { rename } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Connection } from "../../../main/daemon/socket/connection.ts";
import { createDispatch, type DispatchOptions } from "../../../main/daemon/socket/dispatch.ts";
import { ConcurrencyLimit } from "../../../main/daemon/socket/fairness/concurrency-limit.ts";
import { KeyBudget } from "../../../main/daemon/socket/fairness/key-budget.ts";
import { systemClock } from "../../../main/time/clock.ts";
import { Yielding } from "../../../main/time/yielding.ts";
import type { HistoryEntry, Reply } from "../../../shared/protocol.ts";
import { startTestDaemon, type TestClient, type TestDaemon, until } from "../../helpers/daemon.ts";
import { SteppingClock } from "../../helpers/stepping-clock.ts";

const pageBytes = 1_000_000;
const everything = [{ repos: "*", fields: ["*"], right: "write" }] as const;

/** Sets the services of a repository to values of the given size, the given number of times. */
async function setLarge(t: TestDaemon, repo: string, times: number, bytes: number): Promise<void> {
  for (let count = 0; count < times; count++) {
    const services = { web: { ready: String(count), image: "x".repeat(bytes) } };
    expect((await t.owner.call("config/set", { repo, "svc.services": services })).errors).toEqual([]);
  }
}

async function keyOf(t: TestDaemon, name = "tool"): Promise<string> {
  return (await t.owner.call("key/create", { name, grants: everything })).result.key;
}

describe("a reply has a maximum size", () => {
  test("a page of the history ends early, and all pages together are the history", async () => {
    await using t = await startTestDaemon();
    const repo = await t.addRepository();
    await setLarge(t, repo, 12, 200_000);
    const revisions: number[] = [];
    let after: string | undefined;
    do {
      const args = { repo, limit: 1000, after: after ?? null };
      const { result, errors, next }: Reply<readonly HistoryEntry[]> = await t.owner.call("history/list", args);
      expect(errors).toEqual([]);
      // The entry that reaches the limit is the last one; each holds the value and the one before it.
      expect(JSON.stringify(result.slice(0, -1)).length).toBeLessThan(pageBytes);
      revisions.push(...result.map(({ revision }) => revision));
      after = next;
    } while (after !== undefined);
    expect(revisions).toEqual(Array.from({ length: 13 }, (_, index) => 13 - index));
  });

  test("a page of a search ends early between two repositories, and all pages together are what is found", async () => {
    await using t = await startTestDaemon();
    const repos = ["a", "b", "c", "d", "e", "f", "g", "h"];
    for (const repo of repos) {
      await t.addRepository(repo);
      await setLarge(t, repo, 1, 200_000);
    }
    const pages: string[][] = [];
    let after: string | undefined;
    do {
      const args = { query: "@modified", limit: 1000, after: after ?? null };
      const { result, next } = await t.owner.call("config/search", args);
      pages.push(result.map(hit => hit.repo));
      after = next;
    } while (after !== undefined);
    expect(pages.flat()).toEqual(repos);
    expect(pages.map(({ length }) => length)).toEqual([5, 3]);
  });
});

/** Lets the event loop turn until everything that can start has started. */
async function rounds(): Promise<void> {
  for (let count = 0; count < 20; count++) await new Promise(setImmediate);
}

/** What the dispatch needs of a daemon; if `isHeld`, every operation waits until the test ends it. */
function startHeld(authorize: DispatchOptions["authorize"] = () => {}, isHeld = true) {
  const running: string[] = [];
  const ends: (() => void)[] = [];
  const hold = (name: string) => async () => {
    running.push(name);
    if (isHeld) await new Promise<void>(resolve => ends.push(resolve));
    return { result: {} };
  };
  const operations = new Proxy({}, { get: (_, name) => hold(String(name)) }) as DispatchOptions["operations"];
  const yielding = new Yielding(systemClock);
  const dispatch = createDispatch({
    operations,
    budget: new KeyBudget(),
    concurrency: new ConcurrencyLimit(),
    yielding,
    authorize,
    onAsked: () => {},
    onError: () => {},
    onRefused: () => {},
  });
  const socket = {
    id: "",
    isProven: false,
    hasRoom: () => true,
    drained: async () => {},
    send: () => {},
    disconnect: () => {},
  };
  const connect = (keyId: string, owner = false) =>
    new Connection(
      { keyId, name: keyId, owner, actor: { kind: "key", id: keyId, name: keyId }, grants: [], rights: [] },
      socket,
      {
        isValid: () => true,
        onCatchUp: () => {},
      },
    );
  const replies: Reply[] = [];
  const ask = (connection: Connection, operation: string, args: object) =>
    dispatch(["svc", ...operation.split("/"), args], connection).then(({ reply }) => replies.push(reply as Reply));
  return { connect, ask, running, ends, replies, yielding };
}

describe("an expensive request", () => {
  test.each<[operation: string, args: object]>([
    ["history/list", { repo: "shop" }],
    ["history/search", { query: "x" }],
    ["history/restore", { repo: "shop", to: 1 }],
    ["config/explain", { repo: "shop", field: "svc.timeout" }],
    ["config/search", { query: "x" }],
    ["config/matrix", { query: "x" }],
    ["config/cells", { repo: "shop", fields: ["svc.timeout"] }],
    ["config/list", { repo: "shop", revision: 1 }],
    ["config/watch", { repo: "shop", since: 1 }],
    ["config/watch", { position: "p" }],
    ["repo/list", {}],
  ])("%s %j runs at most twice at once for a key, and the owner's waits for none of them", async (operation, args) => {
    const { connect, ask, running } = startHeld();
    const [tool, owner] = [connect("tool"), connect("owner", true)];
    for (let count = 0; count < 10; count++) void ask(tool, operation, args);
    await rounds();
    expect(running.length).toBe(2);
    void ask(owner, operation, args);
    void ask(owner, "key/self", {});
    await rounds();
    expect(running.slice(2).sort()).toEqual([operation, "key/self"].sort());
  });

  test("a set of a megabyte on many repositories counts by the work that it causes", async () => {
    const { connect, ask, running } = startHeld();
    const tool = connect("tool");
    const args = { repo: Array.from({ length: 100 }, (_, index) => `r${index}`), "svc.domain": "x".repeat(30_000) };
    for (let count = 0; count < 10; count++) void ask(tool, "config/set", args);
    await new Promise(setImmediate);
    expect(running.length).toBe(1);
  });

  test.each(["history/list", "key/self"])(
    "a request that waited for its turn is refused if its key has ended meanwhile: %s",
    async operation => {
      let hasEnded = false;
      const { connect, ask, running, ends, replies } = startHeld(() => {
        if (hasEnded) throw Object.assign(new Error("ended"), { code: 1100 });
      });
      const tool = connect("tool");
      const args = operation === "key/self" ? {} : { repo: "shop" };
      const most = operation === "key/self" ? 128 : 2;
      for (let count = 0; count < most + 1; count++) void ask(tool, operation, args);
      await rounds();
      hasEnded = true;
      for (const end of ends) end();
      await until(() => replies.length === most + 1, "all replies");
      expect(running.length).toBe(most);
      expect(replies.filter(({ errors }) => errors.length > 0).length).toBe(1);
    },
  );
});

test("expensive requests that waited for others start after a round of the event loop, each in its own turn", async () => {
  const { connect, ask, replies, yielding } = startHeld(() => {}, false);
  const tool = connect("tool");
  for (let count = 0; count < 50; count++) void ask(tool, "config/explain", { repo: "shop", field: "svc.timeout" });
  await until(() => replies.length === 50, "all replies");
  expect(yielding.yields).toBe(50);
});

test("requests of a client that has left are dropped, except those that change something", async () => {
  const { connect, ask, running, ends } = startHeld();
  const tool = connect("tool");
  for (const operation of ["history/list", "history/list", "history/list", "history/restore"])
    void ask(tool, operation, { repo: "shop", ...(operation === "history/restore" && { to: 1 }) });
  await rounds();
  tool.end();
  ends.shift()?.();
  await until(() => running.length === 3, "the restore");
  expect(running).toEqual(["history/list", "history/list", "history/restore"]);
});

describe("long work yields to other requests", () => {
  /** The number of yields, as the daemon counts them. */
  async function yieldsOf(): Promise<number> {
    const answer = await fetch(`${t.url}/metrics`, { headers: { Authorization: `Bearer ${t.ownerKey}` } });
    return Number(/^repoconf_yields_total (\d+)$/m.exec(await answer.text())?.[1]);
  }

  let t: TestDaemon;
  // With enough of everything that the steps, each in its own turn, take a while.
  beforeAll(async () => {
    t = await startTestDaemon({ clock: new SteppingClock() });
    await t.addRepository("shop");
    for (let count = 0; count < 40; count++)
      await Promise.all(
        Array.from({ length: 50 }, (_, index) =>
          t.owner.call("config/set", { repo: "shop", "svc.timeout": 50 * count + index + 1 }),
        ),
      );
    for (let count = 0; count < 40; count++) await t.addRepository();
  });
  afterAll(() => t[Symbol.asyncDispose]());

  test.each<[title: string, least: number, work: (client: TestClient) => Promise<unknown>]>([
    [
      "a search",
      1_000,
      client => Promise.all(["x", "y"].map(word => client.call("config/search", { query: word.repeat(20) }))),
    ],
    ["a matrix", 1_600, client => client.call("config/matrix", { query: "svc" })],
    ["a history", 1_900, client => client.call("history/list", { repo: "shop", limit: 1000, field: "svc.domain" })],
    ["the histories of all", 1_900, client => client.call("history/search", { query: "svc.domain" })],
    ["the values of an old revision", 1_900, client => client.call("config/list", { repo: "shop", revision: 2 })],
    ["a watch of all", 40, client => client.call("config/watch")],
    [
      "a watch of all, from a position on",
      // Once per repository for the watch that returns the position, twice for the watch that resumes from it.
      120,
      async client => {
        const { position = "" } = (await client.call("config/watch")).result;
        await client.call("config/watch", { position });
      },
    ],
    [
      "what a watch missed",
      1_900,
      async client => {
        await client.call("config/watch", { repo: "shop", since: 1 });
        await until(() => client.events.length >= 2_000, "all events");
      },
    ],
  ])("in %s", async (title, least, work) => {
    const client = await t.connect(await keyOf(t, title));
    const before = await yieldsOf();
    await work(client);
    expect(await yieldsOf()).toBeGreaterThan(before + least);
  });
});

test("config/explain reads the history once, follows each later change, and returns the same after values were forgotten", async () => {
  await using t = await startTestDaemon({ repositories: ["shop"] });
  const explain = async (field: string) =>
    (await t.owner.call("config/explain", { repo: "shop", field: `svc.${field}` })).result;
  await t.owner.call("config/set", { repo: "shop", "svc.timeout": 1, reason: "why" });
  await t.owner.call("config/set", { repo: "shop", "svc.domain": "secret.test", "svc.refresh_day": 3 });
  expect(await explain("timeout")).toMatchObject({ revision: 2, reason: "why", actor: "owner", source: "set" });
  await t.owner.call("config/set", { repo: "shop", "svc.domain": "public.test", flush: true });
  // Its history cannot be read.
  const [folder, away] = [join(t.homeFolder, "journal"), join(t.homeFolder, "away")];
  await rename(folder, away);
  const before = await explain("domain");
  expect(before).toMatchObject({ value: "public.test", revision: 4 });
  expect(await explain("refresh_day")).toMatchObject({ revision: 3 });
  expect(await explain("provider")).not.toHaveProperty("revision");
  await rename(away, folder);
  expect((await t.owner.call("history/forget", { repo: "shop", field: "svc.domain" })).errors).toEqual([]);
  for (const restart of [async () => {}, t.restart]) {
    await restart();
    expect(await explain("domain")).toEqual(before);
  }
});
