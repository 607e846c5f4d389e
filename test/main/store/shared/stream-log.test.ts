import { cp, rm } from "node:fs/promises";
import { join } from "node:path";
import { DiscardPolicy, jetstreamManager } from "@nats-io/jetstream";
import { connect } from "@nats-io/transport-node";
import { describe, expect, test } from "vitest";
import { AppendError, ConflictError } from "../../../../main/store/log/commit-log.ts";
import { parseStreamAddress } from "../../../../main/store/shared/stream/stream-address.ts";
import { StreamSession } from "../../../../main/store/shared/stream/stream-session.ts";
import { type Clock, systemClock } from "../../../../main/time/clock.ts";
import { commitLogTests, commitOf, type TestLog } from "../../../helpers/commit-log-contract.ts";
import { until } from "../../../helpers/daemon.ts";
import { describeWithNats, startNatsServer } from "../../../helpers/nats-server.ts";
import { openServerLine } from "../../../helpers/server-line.ts";
import { openStreamLog } from "../../../helpers/stream-log.ts";
import { temporaryFolder } from "../../../helpers/temporary-folder.ts";

/** A server and a folder, and logs that are closed at the end. */
async function makePlace() {
  const stack = new AsyncDisposableStack();
  const server = stack.use(await startNatsServer());
  const folder = stack.use(await temporaryFolder());
  const openAt = async (
    name: string,
    prepare = async () => {},
    { url = server.url, clock = server.clock }: { readonly url?: string; readonly clock?: Clock } = {},
  ) => {
    const opened = await openStreamLog({ url }, join(folder.path, name), { prepare, clock });
    stack.defer(() => opened.log.close());
    return opened;
  };
  return {
    server,
    open: () => openAt("own"),
    /** Opens it like another machine. */
    openOther: (prepare?: () => Promise<void>) => openAt("other", prepare),
    openAt,
    /** The stream, as an administrator sees it. */
    administer: async () => {
      const connection = await connect({ servers: server.url });
      stack.defer(() => connection.close());
      return { connection, streams: (await jetstreamManager(connection)).streams };
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

/** Every commit that a log knows of, in its order, whichever machine made it. */
function known({ found, committed }: TestLog): number[] {
  return [...found, ...committed.map(([, timeout]) => timeout)].sort((one, other) => one - other);
}

async function isReachable({ log }: TestLog): Promise<void> {
  await until(() => log.problem === undefined, "the server");
}

/** Twenty times as fast as the system's. */
const fastClock: Clock = {
  now: systemClock.now,
  monotonic: () => 20 * systemClock.monotonic(),
  delay: milliseconds => systemClock.delay(milliseconds / 20),
  schedule: (milliseconds, task) => systemClock.schedule(milliseconds / 20, task),
};

/** A placeholder for the id of the existing message. */
const previousId = "PREVIOUS";
const removal = { kind: "remove", time: "", repo: "shop" };

describeWithNats("a log on a stream", () => {
  describe("like every log", () => commitLogTests(makePlace));

  test("reports a conflict immediately, because the entry that came first may be waiting for that", async () => {
    await using place = await makePlace();
    let outcome: Promise<unknown> = Promise.resolve();
    const one = await place.openAt("one", async () => void (await outcome));
    const other = await place.openOther();
    const outcomes: unknown[] = [];
    await until(async () => {
      const theirs = other.append(2 * outcomes.length).catch((error: unknown) => error);
      outcome = one.append(2 * outcomes.length + 1).catch((error: unknown) => error);
      const both = await Promise.all([outcome, theirs]);
      outcomes.push(await outcome);
      for (const error of both) if (error instanceof ConflictError) await error.applied;
      return outcomes.filter(error => error instanceof ConflictError).length === 10;
    }, "ten conflicts");
    expect(outcomes.filter(error => error !== undefined && !(error instanceof ConflictError))).toEqual([]);
  });

  test("rejects a change decided before others changed the same repository, and reports when to decide again", async () => {
    await using place = await makePlace();
    const one = await place.open();
    const { promise: isHeld, resolve: release } = Promise.withResolvers<void>();
    const other = await place.openOther(() => isHeld);
    await one.append(1);
    let refused: unknown;
    await until(async () => {
      refused = await other.append(2).catch((error: unknown) => error);
      return refused instanceof ConflictError;
    }, "a conflict");
    expect(other.found).toEqual([]);
    release();
    if (refused instanceof ConflictError) await refused.applied;
    expect(other.found).toEqual([1]);
    await other.append(2);
    expect(other.committed).toEqual([[2, 2]]);
  });

  test("appends an entry again by itself if the others touched only other repositories", async () => {
    await using place = await makePlace();
    const [one, other] = [await place.open(), await place.openOther()];
    const removals = async ({ log }: TestLog, name: string) => {
      for (let count = 0; count < 100; count++) {
        const entry = { kind: "remove", time: "", repo: `${name}${count}` } as const;
        await log.append({ entries: [entry], after: log.newest, committed: () => {} });
      }
    };
    await Promise.all([removals(one, "a"), removals(other, "b")]);
    await until(() => one.log.newest === 200 && other.log.newest === 200, "all of both");
    expect([one.found.length, other.found.length]).toEqual([100, 100]);
  });

  test("continues after its server was killed, with each waiting entry once", async () => {
    await using place = await makePlace();
    // Nothing is refused, however long a start of the server takes.
    const one = await place.openAt("own", undefined, { clock: systemClock });
    await one.append(1);
    let count = 1;
    const appending = async () => {
      while (count < 300) await one.append(++count);
    };
    const appended = appending();
    for (let kill = 0; kill < 3; kill++) {
      const before = count;
      await until(() => count > before + 10, "some commits");
      await place.server.kill();
      await place.server.start();
    }
    await appended;
    await one.log.close();
    const again = await place.openOther();
    expect(again.found).toEqual(Array.from({ length: 300 }, (_, index) => index + 1));
  });

  test("rejects an entry that cannot be appended after a timeout, and further ones immediately; none of them turns up later", async () => {
    await using place = await makePlace();
    const one = await place.open();
    await one.append(1);
    await place.server.kill();
    await until(() => one.log.problem !== undefined, "a problem");
    const refused = await one.append(2).catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(AppendError);
    expect(refused).toMatchObject({ isOutcomeUnknown: false });
    await expect(one.append(3)).rejects.toThrow("cannot reach the server");
    await place.server.start();
    await isReachable(one);
    await one.append(4);
    expect(one.committed).toEqual([
      [1, 1],
      [2, 4],
    ]);
  });

  test("reports an unknown outcome when a server never answers; an entry that was stored anyway is received later", async () => {
    await using place = await makePlace();
    const one = await place.open();
    await one.append(1);
    await place.server.pause();
    const refused = await one.append(2).catch((error: unknown) => error);
    expect(refused).toMatchObject({ isOutcomeUnknown: true });
    place.server.resume();
    await isReachable(one);
    // Whether or not the server stored it, it has at most one place in the log.
    await one.append(3).catch(async (error: unknown) => {
      if (!(error instanceof ConflictError)) throw error;
      await error.applied;
      await one.append(3);
    });
    const other = await place.openOther();
    expect(known(one)).toEqual(other.found);
  });

  test("recognizes a message by its id when its answer was lost with the connection", async () => {
    await using place = await makePlace();
    await using line = await openServerLine(place.server.port);
    const one = await place.openAt("one", undefined, { url: `nats://127.0.0.1:${line.port}` });
    await one.append(1);
    line.mute();
    const appended = one.append(2);
    const other = await place.openOther();
    await until(() => other.found.length === 2, "the message in the stream");
    line.cut();
    await appended;
    expect(one.committed).toEqual([
      [1, 1],
      [2, 2],
    ]);
    await one.append(3);
    await until(() => other.found.length === 3, "the third");
    expect([other.found, one.found]).toEqual([[1, 2, 3], []]);
  });

  test("tells only the caller that waited too long that the outcome is unknown: the others of its message learn theirs", async () => {
    await using place = await makePlace();
    await using line = await openServerLine(place.server.port);
    const timeouts: (() => void)[] = [];
    const schedule = (milliseconds: number, task: () => void) => {
      if (milliseconds < 5_000) return systemClock.schedule(milliseconds, task);
      timeouts.push(task);
      return () => {};
    };
    const clock = { ...systemClock, schedule };
    const one = await place.openAt("one", undefined, { url: `nats://127.0.0.1:${line.port}`, clock });
    await one.append(1);
    line.mute();
    const [older, younger] = [one.append(2).catch((error: unknown) => error), one.append(3)];
    const other = await place.openOther();
    await until(() => other.found.length === 3, "the message in the stream");
    timeouts[1]?.();
    expect(await older).toMatchObject({ isOutcomeUnknown: true });
    line.cut();
    await younger;
    expect([one.found, one.committed.map(([number]) => number)]).toEqual([[2], [1, 3]]);
    await one.append(4);
    await until(() => other.found.length === 4, "the fourth");
    expect(other.found).toEqual([1, 2, 3, 4]);
  });

  test("detects by the stream's missing heartbeats that a server which still answers pings sends nothing else", async () => {
    await using place = await makePlace();
    await using line = await openServerLine(place.server.port);
    const session = await StreamSession.open(parseStreamAddress(`nats://127.0.0.1:${line.port}/test`), true);
    let received = 0;
    const followed = session.follow(0, async () => {
      received += 1;
    });
    await session.publish("one", new Uint8Array(1), 0);
    await until(() => received === 1, "the message");
    line.mute({ butPings: true });
    await session.ended;
    await followed;
  });

  test("does not continue with a stream that lost acknowledged entries", async () => {
    await using place = await makePlace();
    const one = await place.open();
    for (const timeout of [1, 2]) await one.append(timeout);
    await one.log.release(2);
    await one.log.close();
    await place.server.kill();
    await rm(join(place.server.folder, "data"), { recursive: true });
    await place.server.start();
    const other = await place.openOther();
    for (const timeout of [7, 8, 9]) await other.append(timeout);
    const again = await place.open();
    await until(() => again.log.problem?.includes("created again") === true, "the difference");
    await expect(again.append(10)).rejects.toThrow("created again");
    expect(again.found).toEqual([]);
  });

  test.each([0, 2])(
    "does not continue with an older copy of the stream to which others added %i messages",
    async more => {
      await using place = await makePlace();
      const [data, copy] = [join(place.server.folder, "data"), join(place.server.folder, "copy")];
      const other = await place.openOther();
      await other.append(1);
      await place.server.kill();
      await cp(data, copy, { recursive: true });
      await place.server.start();
      const one = await place.open();
      for (const timeout of [2, 3]) await one.append(timeout);
      await other.log.close();
      await place.server.kill();
      await rm(data, { recursive: true });
      await cp(copy, data, { recursive: true });
      await place.server.start();
      await until(() => one.log.problem?.includes("lost changes") === true, "the difference");
      const third = await place.openAt("third");
      expect(third.found).toEqual([1]);
      for (let timeout = 7; timeout < 7 + more; timeout++) await third.append(timeout);
      await expect(one.append(10)).rejects.toThrow("lost changes");
      await one.log.release(3);
      await one.log.close();
      const again = await place.open();
      await until(() => again.log.problem?.includes("lost changes") === true, "the difference after a start");
      expect(again.found).toEqual([]);
    },
  );

  test("rejects an entry that a full stream has no room for, reports why, and continues once there is room; reports a missing stream", async () => {
    await using place = await makePlace();
    const { streams } = await place.administer();
    const config = { name: "test", subjects: ["repoconf.test"], max_bytes: 2_000, discard: DiscardPolicy.New };
    await streams.add(config);
    const { log, append, committed } = await place.open();
    let refused: unknown;
    for (let timeout = 1; refused === undefined && timeout < 100; timeout++)
      refused = await append(timeout).catch((error: unknown) => error);
    expect(refused).toMatchObject({ name: "AppendError", isOutcomeUnknown: false });
    expect(String(refused)).toContain("maximum bytes exceeded");
    await streams.update("test", { max_bytes: 100_000 });
    const next = committed.length + 1;
    await append(99);
    expect(committed.at(-1)).toEqual([next, 99]);
    await streams.delete("test");
    await until(() => log.problem?.includes("stream not found") === true, "the problem");
    place.server.clock.isHurried = true;
    await expect(append(2)).rejects.toThrow("cannot reach");
    // It does not create another one in its place.
    await expect(streams.info("test")).rejects.toThrow("not found");
  });

  test("passes over messages and entries that no daemon published, and says so, on every machine and after a start", async () => {
    await using place = await makePlace();
    const [one, other] = [await place.open(), await place.openOther()];
    await one.append(1);
    const { connection, streams } = await place.administer();
    const publish = async (content: string, previous = "") => {
      const { seq } = (await connection.request("repoconf.test", content.replace(previousId, previous))).json<{
        seq: number;
      }>();
      await until(
        () => [one, other].every(({ log }) => log.warnings?.some(text => text.includes(`${seq} `))),
        `message ${seq} to be skipped`,
      );
    };
    const strays = [
      "hello",
      "null",
      `{"first":2,"previous":"${previousId}"}`,
      '{"first":2,"entries":[]}',
      `{"first":7,"previous":"${previousId}","entries":[]}`,
    ];
    for (const stray of strays) await publish(stray);
    await other.append(2);
    let number = 2;
    const commit = commitOf(4);
    const changed = (changes: object) => ({ ...commit, documents: [{ ...commit.documents[0], ...changes }] });
    for (const entry of [
      { kind: "remove", repo: "../shop" },
      { kind: "forget", repo: "shop" },
      { kind: "end" },
      { ...commit, actor: null },
      { ...commit, time: "yesterday" },
      changed({ repo: ".." }),
      changed({ lineage: {} }),
      changed({ edits: [{ scope: "__proto__", field: "port", value: 1 }] }),
      changed({ edits: [{ scope: "svc", field: "port", value: JSON.parse("[".repeat(62) + "]".repeat(62)) }] }),
      { kind: "scope", name: "../own", text: "{}" },
      { kind: "scope", name: "svc", text: "{}" },
      { kind: "scope", name: "own", text: 7 },
      { kind: "of a newer version" },
    ]) {
      const { last_seq: seq } = (await streams.info("test")).state;
      const id = (await streams.getMessage("test", { seq }))?.header.get("Nats-Msg-Id") ?? "";
      number += 1;
      await publish(JSON.stringify({ first: number, previous: previousId, entries: [entry] }), id);
      expect([one.log.newest, one.log.snapshots?.hasFailedEntries]).toEqual([number, true]);
    }
    await one.append(3);
    expect(one.committed.at(-1)).toEqual([number + 1, 3]);
    await until(() => known(other).length === 3, "all commits");
    await one.log.release(one.log.newest);
    await one.log.close();
    const again = await place.open();
    await again.append(4);
    const third = await place.openAt("third");
    expect(third.found).toEqual([1, 2, 3, 4]);
    expect(third.log.problem).toBeUndefined();
  });

  test.each([
    { first: 7, previous: previousId, entries: [removal] },
    // As on a server that was cut off from the others, which have another message in the previous place.
    { first: 2, previous: "another", entries: [removal] },
  ])("stops at a message that does not follow: %j", async content => {
    await using place = await makePlace();
    const one = await place.open();
    await one.append(1);
    const { connection, streams } = await place.administer();
    const id = (await streams.getMessage("test", { seq: 1 }))?.header.get("Nats-Msg-Id") ?? "";
    expect(id).not.toBe("");
    await connection.request("repoconf.test", JSON.stringify(content).replace(previousId, id));
    await until(() => one.log.problem?.includes("does not follow") === true, "the difference");
  });

  test.each([
    { what: "a message that does not follow", isLost: false, refusal: "does not follow" },
    { what: "a message that was received just before its server died", isLost: true, refusal: "cannot reach" },
  ])("refuses a change that waits for $what, instead of letting it wait for ever", async ({ isLost, refusal }) => {
    await using place = await makePlace();
    const { promise: isHeld, resolve: release } = Promise.withResolvers<void>();
    const one = await place.openAt("one", () => isHeld, { clock: fastClock });
    const other = await place.openOther();
    await other.append(1);
    const { connection, streams } = await place.administer();
    const first = await streams.getMessage("test", { seq: 1 });
    const content = { ...first?.json<object>(), first: 2, previous: "another" };
    await connection.request("repoconf.test", JSON.stringify(content));
    await until(() => other.log.problem !== undefined, "the message");
    if (isLost) await place.server.kill();
    let refused = await one.append(2).catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(ConflictError);
    if (isLost) await until(() => one.log.problem !== undefined, "the lost connection");
    release();
    while (refused instanceof ConflictError) {
      await refused.applied;
      refused = await one.append(3).catch((error: unknown) => error);
    }
    expect(String(refused)).toContain(refusal);
    await one.log.close();
  });

  test("notices without any further message that the stream has another message in the place of its last one, and goes on when it has the right one again", async () => {
    await using place = await makePlace();
    const [data, copy] = [join(place.server.folder, "data"), join(place.server.folder, "copy")];
    const one = await place.open();
    await one.append(1);
    await place.server.kill();
    await cp(data, copy, { recursive: true });
    await place.server.start();
    await isReachable(one);
    await one.append(2);
    await place.server.kill();
    await cp(data, `${copy}-2`, { recursive: true });
    await rm(data, { recursive: true });
    await cp(copy, data, { recursive: true });
    await place.server.start();
    await until(() => one.log.problem?.includes("lost changes") === true, "the difference");
    await expect(one.append(3)).rejects.toThrow("repoconf log rejoin");
    await place.server.kill();
    await rm(data, { recursive: true });
    await cp(`${copy}-2`, data, { recursive: true });
    await place.server.start();
    await isReachable(one);
    await one.append(3);
    expect(one.committed.map(([, timeout]) => timeout)).toEqual([1, 2, 3]);
  });

  test("leaves a consumer of a connection that has ended for half a minute at most, as servers allow only so many", async () => {
    await using place = await makePlace();
    await place.open();
    const { connection } = await place.administer();
    const { consumers } = await jetstreamManager(connection);
    const all = await consumers.list("test").next();
    expect(all.map(({ config }) => config.inactive_threshold)).toEqual([30_000_000_000]);
  });

  test("tells that the stream is nearly full, and why the server refused a change, until one is stored", async () => {
    await using place = await makePlace();
    const { streams } = await place.administer();
    await streams.add({ name: "test", subjects: ["repoconf.test"], max_bytes: 20_000, discard: DiscardPolicy.New });
    const { log, append } = await place.open();
    let refused: unknown;
    for (let timeout = 1; refused === undefined && timeout < 1_000; timeout++)
      refused = await append(timeout).catch((error: unknown) => error);
    await until(() => log.warnings?.length === 2, "both warnings");
    expect(log.warnings).toEqual([
      expect.stringMatching(/nearly full: [\d,]+ of 20,000 bytes/),
      expect.stringContaining("maximum bytes exceeded"),
    ]);
    await streams.update("test", { max_bytes: 100_000 });
    await append(99);
    await until(() => log.warnings?.length === 0, "no warning");
  });
});
