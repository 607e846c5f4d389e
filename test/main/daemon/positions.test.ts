import { readdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { ConfigChanged } from "../../../shared/protocol.ts";
import { noRescans, startTestDaemon, type TestClient, type TestDaemon, until } from "../../helpers/daemon.ts";
import { freezeHome } from "../../helpers/frozen-home.ts";
import { temporaryFolder } from "../../helpers/temporary-folder.ts";

async function set(t: TestDaemon, repo: string | readonly string[], timeout: number, more: object = {}): Promise<void> {
  const { errors } = await t.owner.call("config/set", { repo, "svc.timeout": timeout, ...more });
  expect(errors).toEqual([]);
}

/** What a client has received once everything sent has arrived: repository and timeout, or that the replay ends. */
async function receivedBy(client: TestClient): Promise<string[]> {
  await client.call("key/self");
  const events = client.events as readonly (readonly [string, string, object])[];
  return events.flatMap(([resource, event, payload]) => {
    if (resource !== "config") return [];
    if (event === "position") return ["the replay ends"];
    const { repo, changes, position } = payload as ConfigChanged;
    return [`${repo} ${changes?.["svc"]?.["timeout"]?.value}${position === undefined ? "" : " with a position"}`];
  });
}

/** The last position that a client received. */
function positionOf(client: TestClient): string {
  const events = client.events as readonly (readonly [string, string, { readonly position?: string }])[];
  const position = events.findLast(([, , payload]) => payload.position !== undefined)?.[2].position;
  if (position === undefined) throw new Error("no position was received");
  return position;
}

/** A daemon whose histories keep only so much. */
const startWithLimit = (history: object, repositories: readonly string[]) =>
  startTestDaemon({ ...noRescans, files: { "settings.json": { history } }, repositories });

describe("a watch from a position", () => {
  test("replays what came after it in every repository, including one added since, or in those that it names, across a restart; then continues live", async () => {
    await using t = await startTestDaemon({ ...noRescans, repositories: ["one", "two", "three"] });
    const { result } = await t.owner.call("config/watch", {});
    await set(t, "one", 1);
    await set(t, "two", 2);
    expect(await receivedBy(t.owner)).toEqual(["one 1 with a position", "two 2 with a position"]);
    const position = positionOf(t.owner);
    await set(t, "one", 3);
    await t.addRepository("four");
    await set(t, "four", 4);
    const text = await t.readRepository("two");
    await t.writeRepository("two", text.replace(/"timeout": 2/, '"timeout": 5'));
    await until(async () => (await receivedBy(t.owner)).at(-1) === "two 5 with a position", "the edit by hand");
    await t.restart();
    await set(t, "one", 6);

    const client = await t.connect();
    const reply = await client.call("config/watch", { position });
    expect(reply).toMatchObject({
      errors: [],
      result: {
        revisions: { one: 4, two: 3, three: 1, four: 2 },
        since: { one: 2, two: 2, four: 0 },
      },
    });
    await until(async () => (await receivedBy(client)).at(-1) === "the replay ends", "the replay");
    const replayed = await receivedBy(client);
    // In order within a repository; between repositories there is no order.
    expect(replayed.toSorted()).toEqual(["four 4", "one 3", "one 6", "the replay ends", "two 5"]);
    expect(replayed.indexOf("one 3")).toBeLessThan(replayed.indexOf("one 6"));
    await set(t, "three", 7);
    expect((await receivedBy(client)).slice(replayed.length)).toEqual(["three 7 with a position"]);

    /** What another client receives from this watch. */
    const replayOf = async (args: object) => {
      const another = await t.connect();
      await another.call("config/watch", { ...args });
      await until(async () => (await receivedBy(another)).at(-1) === "the replay ends", "the end of the replay");
      return receivedBy(another);
    };
    expect(await replayOf({ repo: ["two"], position })).toEqual(["two 5", "the replay ends"]);
    // From the first watch's position everything is replayed; from the newest position, nothing.
    expect(await replayOf({ position: result.position })).toHaveLength(8);
    expect(await replayOf({ position: positionOf(client) })).toEqual(["the replay ends"]);
  });

  test("sends live events without a position while the replay is still running", async () => {
    await using t = await startTestDaemon({ ...noRescans, repositories: ["two", "one"] });
    const { result } = await t.owner.call("config/watch", { repo: "two" });
    // More than the daemon buffers for a client that does not read.
    for (let timeout = 1; timeout <= 40; timeout++) {
      const services = { web: { ready: `${timeout}`, image: "x".repeat(200_000) } };
      await set(t, "one", timeout, { "svc.services": services });
    }
    const client = await t.connect();
    const reading: { pause(): void; resume(): void } = Reflect.get(client.socket.io.engine.transport, "ws");
    await client.call("config/watch", { position: result.position });
    reading.pause();
    await set(t, "two", 61);
    reading.resume();
    await until(async () => (await receivedBy(client)).at(-1) === "the replay ends", "the replay");
    const received = await receivedBy(client);
    expect(received).toContain("two 61");
    expect(received.indexOf("two 61")).toBeLessThan(received.indexOf("one 40"));
  });

  test("gets a position only with the last event of an atomic set, so that resuming from it misses none of the set", async () => {
    await using t = await startTestDaemon({ ...noRescans, repositories: ["one", "two", "three"] });
    await t.owner.call("config/watch", {});
    await set(t, ["one", "two", "three"], 1, { atomic: true });
    const received = await receivedBy(t.owner);
    expect(received.map(one => one.endsWith("with a position"))).toEqual([false, false, true]);
  });

  test("gives a limited key positions that advance past what it cannot see, reveal nothing of it, and stay valid while it is away", async () => {
    await using t = await startWithLimit({ revisions: 20 }, ["one", "hidden"]);
    const tool = await t.connectWith([{ repos: ["one"], fields: ["svc.domain"], right: "read" }]);
    const { result } = await tool.call("config/watch", { progress: true });
    for (let timeout = 1; timeout <= 60; timeout++) await set(t, "one", timeout);
    await receivedBy(tool);
    const position = positionOf(tool);
    expect(position).toMatch(/^[\w-]{22}$/);
    const again = await t.connectWith([{ repos: ["one"], fields: ["svc.domain"], right: "read" }]);
    expect((await again.call("config/watch", { position })).errors).toEqual([]);
    const old = await again.call("config/watch", { position: result.position });
    expect(old).toMatchObject({ result: null, errors: [{ code: 1110, repo: "one" }] });
  });

  test("of another log, an invalid one, or one that the log does not reach, because an older state of its disk was put back, fails with 1110 and the position to resume from", async () => {
    await using folder = await temporaryFolder();
    const home = join(folder.path, "home");
    await using t = await startTestDaemon({ home, repositories: ["one"] });
    const refusal = { code: 1110, details: { position: expect.stringMatching(/^[\w-]{22}$/) } };
    await t.daemon.close();
    // As the snapshot of a disk has it: the log cannot know that it was put back.
    await using snapshot = await freezeHome(home);
    await t.restart();
    await t.owner.call("config/watch", {});
    await set(t, "one", 1);
    await receivedBy(t.owner);
    const later = positionOf(t.owner);
    await t.daemon.close();
    await rm(home, { recursive: true });
    await rename(snapshot.path, home);
    await t.restart();
    expect((await t.owner.call("config/watch", { position: later })).errors).toMatchObject([refusal]);
    const { result: before } = await t.owner.call("config/watch", {});
    await t.daemon.close();
    await rm(join(home, "log"), { recursive: true });
    await t.restart();
    await set(t, "one", 1);
    expect((await t.owner.call("config/watch", { position: "" })).errors).toEqual([]);
    for (const position of [before.position, "no position", "A".repeat(22)])
      expect((await t.owner.call("config/watch", { position })).errors).toMatchObject([refusal]);
    const [error] = (await t.owner.call("config/watch", { position: before.position })).errors;
    await set(t, "one", 2);
    const client = await t.connect();
    await client.call("config/watch", { position: String(error?.details?.["position"]) });
    await until(async () => (await receivedBy(client)).length > 1, "the replay");
    expect(await receivedBy(client)).toEqual(["one 2", "the replay ends"]);
  });

  test("before the start of several histories fails with the names of all", async () => {
    await using t = await startWithLimit({ revisions: 5 }, ["one", "two", "three"]);
    const { result } = await t.owner.call("config/watch", {});
    for (let timeout = 1; timeout <= 20; timeout++) await set(t, ["one", "three"], timeout);
    const client = await t.connect();
    const { errors } = await client.call("config/watch", { position: result.position ?? "" });
    expect(errors).toMatchObject([{ code: 1110, repo: "one", details: { repos: ["one", "three"] } }]);
  });
});

test("a watch from a position older than the history is refused with 1110, also if the limit on its bytes removed the files", async () => {
  await using t = await startWithLimit({ bytes: 65_536 }, ["shop"]);
  const { result } = await t.owner.call("config/watch", { repo: "shop" });
  const hasFirst = async () => {
    const names = await readdir(join(t.homeFolder, "journal"));
    return names.length === 0 || names.some(name => name.endsWith("-0.jsonl"));
  };
  for (let timeout = 1; await hasFirst(); timeout++) {
    const services = { web: { ready: `${timeout}`, image: "x".repeat(2_000) } };
    await t.owner.call("config/set", { repo: "shop", flush: true, "svc.services": services });
  }
  const { errors } = await t.owner.call("config/watch", { repo: "shop", position: result.position ?? "" });
  expect(errors).toMatchObject([{ code: 1110 }]);
});

test("a watch from an earlier position gets a change and its reversal, also after a restart", async () => {
  await using t = await startTestDaemon({ ...noRescans, repositories: ["shop"] });
  await t.owner.call("config/set", { repo: "shop", flush: true, "svc.timeout": 1 });
  const { result } = await t.owner.call("config/watch", { repo: "shop" });
  // Both sets share one write, so the file stays the same.
  await Promise.all([2, 1].map(timeout => t.owner.call("config/set", { repo: "shop", "svc.timeout": timeout })));
  await t.owner.call("file/read", { repo: "shop" });
  await t.restart();
  await t.owner.call("config/list", { repo: "shop" });
  const client = await t.connect();
  const reply = await client.call("config/watch", { repo: "shop", position: result.position ?? "" });
  expect(reply.result).toMatchObject({ revisions: { shop: 4 }, since: { shop: 2 } });
  // Until the past changes have been sent, this is the position to resume from.
  expect(reply.result.position).toBeDefined();
  const past = [await client.nextChange(), await client.nextChange()];
  expect(past.map(({ revision }) => revision)).toEqual([3, 4]);
});
