import { beforeAll, expect, test } from "vitest";
import { defaultRetention } from "../../main/home/settings.ts";
import { startTestDaemon, type TestClient } from "../helpers/daemon.ts";
import { checkHistory, type Violation } from "../helpers/history-checker.ts";
import { amount, judge, reportPromise, seed } from "../helpers/promise.ts";
import { type RecordedRun, recordRun } from "../helpers/recorded-run.ts";

let run: RecordedRun;
let violations: readonly Violation[];

beforeAll(async () => {
  run = await recordRun({
    seed,
    clients: 8,
    // About a quarter become revisions: fewer than are kept, so that the history still contains all of them at the end.
    requests: amount(2_000, 30_000),
    watchers: 3,
    kills: amount(3, 30),
  });
  violations = checkHistory(run.history);
});

const broken = (promise: Violation["promise"]) =>
  violations.filter(one => one.promise === promise).map(({ problem }) => problem);

test("R7 compare-and-set is never wrong, whatever happens to daemon and connections", () => {
  const wrong = broken("compare and set");
  const note = `${run.refused} refused; ${run.unanswered} sets without an answer`;
  judge("R7", run.compared, wrong, note);
  expect(run.refused).toBeGreaterThan(10);
  expect(run.compared - run.refused).toBeGreaterThan(10);
});

test("R8 reads are linearizable", () => {
  const wrong = broken("linearizable");
  const { reads, sets } = run.history;
  const note = `8 clients: ${reads.length} reads, ${sets.length} sets`;
  judge("R8", reads.length + sets.length, wrong, note);
  expect(reads.length).toBeGreaterThan(100);
});

test("R9 a watch is ordered, unique, complete, atomic and resumable", () => {
  const wrong = broken("watch");
  const events = run.history.watchers.flatMap(({ sessions }) => sessions.flatMap(session => session.events)).length;
  judge("R9", events, wrong, `resumed ${run.resumed} times`);
  expect(run.resumed).toBeGreaterThan(3);
});

test("R7, R8, R9 with clients that know nothing of the local values that some fields have", async () => {
  const layered = await recordRun({
    ...{ seed, clients: 6, requests: amount(800, 8_000), watchers: 2, kills: amount(2, 8) },
    local: ["a", "b", "c"],
  });
  expect(checkHistory(layered.history)).toEqual([]);
  const changed = new Set(layered.history.revisions.flatMap(({ changes }) => Object.keys(changes)));
  expect([...changed].sort()).toEqual(["a", "b", "c", "d", "e", "f"]);
});

test("R9 a watch misses nothing that happens while it receives past changes", async () => {
  await using t = await startTestDaemon();
  const repo = await t.addRepository("shop");
  // More than the system buffers for a client that does not read, so that the daemon has to hold the rest.
  const past = 40;
  for (let next = 2; next <= past; next++) {
    const services = { web: { ready: `${next}`, image: "x".repeat(200_000) } };
    expect((await t.owner.call("config/set", { repo, "svc.services": services })).errors).toEqual([]);
  }
  const client = await t.connect();
  expect((await client.call("config/watch", { repo, since: 1 })).errors).toEqual([]);
  const reading = transportOf(client);
  reading.pause();
  const sets = [1, 2, 3];
  for (const timeout of sets) await t.owner.call("config/set", { repo, "svc.timeout": timeout });
  reading.resume();
  const seen: number[] = [];
  while (seen.at(-1) !== past) seen.push((await client.nextChange()).revision);
  // Whether it comes from the past or directly, it follows everything that may have been lost.
  const { result } = await t.owner.call("config/set", { repo, "svc.timeout": 99 });
  const last = result[0]?.revision;
  while (seen.at(-1) !== last) seen.push((await client.nextChange()).revision);
  const expected = Array.from({ length: past + sets.length }, (_, index) => index + 2);
  const wrong = expected.filter((revision, index) => seen[index] !== revision);
  const note = `past changes, and ${sets.length} made while they were being sent`;
  reportPromise({ row: "R9", tried: expected.length, failed: wrong.length, note });
  expect(seen).toEqual(expected);
});

/** The transport of the client's connection. */
function transportOf({ socket }: TestClient): { pause(): void; resume(): void } {
  // Not part of engine.io's types.
  return Reflect.get(socket.io.engine.transport, "ws");
}

test("R9 a watch resumes from any revision that is kept, and gets 1110 for others", async () => {
  expect(defaultRetention).toEqual({ revisions: 10_000, bytes: 64 * 1024 * 1024 });
  const kept = amount(500, defaultRetention.revisions);
  await using t = await startTestDaemon({ files: { "settings.json": { history: { revisions: kept } } } });
  const repo = await t.addRepository("shop");
  // Beyond what is kept by more than a segment, so that whole segments are dropped.
  const last = Math.floor(kept * 1.3) + 1;
  for (let next = 2; next <= last; next += 100) {
    const sets = Array.from({ length: Math.min(100, last - next + 1) }, (_, index) =>
      t.owner.call("config/set", { repo, "svc.timeout": next + index }),
    );
    for (const { errors } of await Promise.all(sets)) expect(errors).toEqual([]);
  }
  for (const since of [1, last - kept - 1]) {
    const { errors } = await t.owner.call("config/watch", { repo, since });
    expect(errors, `since ${since}`).toMatchObject([{ code: 1110, details: { current: last } }]);
  }
  const client = await t.connect();
  expect((await client.call("config/watch", { repo, since: last - kept })).errors).toEqual([]);
  const seen: number[] = [];
  while (seen.length < kept) seen.push((await client.nextChange()).revision);
  const expected = Array.from({ length: kept }, (_, index) => last - kept + 1 + index);
  const wrong = expected.filter((revision, index) => seen[index] !== revision);
  const note = `a history of ${kept} revisions, and error 1110 before it`;
  reportPromise({ row: "R9", tried: kept, failed: wrong.length, note });
  expect(seen).toEqual(expected);
});
