import type { ChildProcess } from "node:child_process";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, afterEach, expect, test } from "vitest";
import { keyRights } from "../../shared/grants.ts";
import { connectClient, type TestClient } from "../helpers/daemon.ts";
import { socketOf } from "../helpers/one-shot.ts";
import { amount, reportPromise, seed, torture } from "../helpers/promise.ts";
import {
  forkHelper,
  projectFolder,
  repoconfCommand,
  type SpawnedDaemon,
  spawnDaemon,
} from "../helpers/spawned-daemon.ts";
import type { Attack, Starving, StarvingReport } from "../helpers/starving-process.ts";

/** The owner's maximum waiting time and the daemon's maximum memory, only asserted in full: `npm test` asserts no times. */
const [mostMilliseconds, mostBytes] = [500, 512 * 1024 ** 2];
const attackTime = 60_000;
const attacks: readonly Attack[] = ["history", "search", "explain", "sockets", "watches", "sets", "one-shot requests"];

/** A home with repositories, one of them with a long history of large values, and a key for the fields of svc. */
async function prepare(daemon: SpawnedDaemon, owner: TestClient): Promise<Omit<Starving, "attack">> {
  const repositories = Array.from({ length: amount(10, 300) }, (_, index) => `r${String(index).padStart(3, "0")}`);
  for (const id of ["large", ...repositories]) await owner.call("repo/add", { id, name: id });
  const revisions = amount(12, 120);
  for (let count = 0; count < revisions; count++) {
    const services = { web: { ready: String(count), image: "x".repeat(250_000) } };
    const { errors } = await owner.call("config/set", { repo: "large", "svc.services": services });
    expect(errors).toEqual([]);
  }
  await owner.call("config/set", { repo: repositories, "svc.domain": "a.test" });
  const grants = [{ repos: "*", fields: ["svc.*"], right: "write" }];
  const { result } = await owner.call("key/create", { name: "worst", grants, rights: keyRights });
  return {
    url: daemon.url,
    path: await socketOf(daemon.homeFolder),
    key: result.key,
    sockets: amount(4, 64),
    atOnce: amount(10, 80),
    requests: amount(60, Number.MAX_SAFE_INTEGER),
    seed,
    large: "large",
    revisions,
    repositories,
  };
}

function start(order: Starving): { readonly child: ChildProcess; readonly report: Promise<StarvingReport> } {
  const child = forkHelper("starving-process.ts");
  const report = new Promise<StarvingReport>(resolve =>
    child.once("message", (message: StarvingReport) => resolve(message)),
  );
  child.send(order);
  return { child, report };
}

/** The resident memory of the process; 0 where the system does not report it. */
async function residentBytes({ pid }: ChildProcess): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, "utf8").catch(() => "");
  return 1024 * Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? 0);
}

async function startPrepared() {
  // In full, the daemon as shipped; otherwise from the current sources.
  const command = torture ? repoconfCommand : join(projectFolder, "main/cli/repoconf.ts");
  const daemon = await spawnDaemon(undefined, undefined, [], command);
  const owner = await connectClient(daemon.url, daemon.ownerKey);
  return { daemon, owner, order: await prepare(daemon, owner) };
}

/** In full, each attack has a daemon of its own; otherwise all are made on one, one after the other. */
let shared: Awaited<ReturnType<typeof startPrepared>> | undefined;
afterEach(async () => {
  if (torture) await end();
});
afterAll(() => end());
async function end(): Promise<void> {
  shared?.owner.socket.close();
  await shared?.daemon[Symbol.asyncDispose]();
  shared = undefined;
}

test.each(attacks)("S15 one key starves nobody: %s", async attack => {
  shared ??= await startPrepared();
  const { daemon, owner, order } = shared;
  const { child, report } = start({ ...order, attack });
  let isOver = false;
  void report.then(() => {
    isOver = true;
  });
  let [asked, slowest, resident, lockedOut] = [0, 0, 0, 0];
  const askAsOwner = async () => {
    const began = performance.now();
    expect((await owner.call("key/self")).errors).toEqual([]);
    asked += 1;
    slowest = Math.max(slowest, performance.now() - began);
    resident = Math.max(resident, await residentBytes(daemon.process));
    if (asked % 20 === 1) {
      // New connections must be accepted too.
      const another = await connectClient(daemon.url, daemon.ownerKey).catch(() => undefined);
      if ((await another?.call("key/list"))?.errors.length !== 0) lockedOut += 1;
      another?.socket.close();
    }
    await delay(amount(5, 50));
  };
  try {
    const end = performance.now() + attackTime;
    while (!isOver && (!torture || performance.now() < end)) await askAsOwner();
    if (!isOver) child.send("end");
    const received = await report;
    // What it sent before it ended is still processed, connection by connection, and must not starve anybody either.
    while (((await owner.call("daemon/status")).result.sockets ?? 0) > 1) await askAsOwner();
    const { errors } = await owner.call("config/set", { repo: "large", "svc.timeout": 77 });
    const unexpected = Object.keys(received.errors).filter(
      code => !["1007", "1103", "1107", "1109", "1110"].includes(code),
    );
    const isSlow = torture && slowest > mostMilliseconds;
    const isLarge = torture && resident > mostBytes;
    const note =
      `${attack}: ${received.answered} answers, ${received.opened} connections; the owner's key/self took at most ${Math.round(slowest)} ms, ` +
      `at most ${Math.round(resident / 1024 ** 2)} MiB resident`;
    reportPromise({ row: "S15", tried: asked, failed: Number(isSlow) + Number(isLarge) + lockedOut, note });
    expect({ lockedOut, unexpected, errors }, note).toEqual({ lockedOut: 0, unexpected: [], errors: [] });
    expect(asked).toBeGreaterThan(1);
    expect(received.answered).toBeGreaterThan(0);
    expect({ isSlow, isLarge }, note).toEqual({ isSlow: false, isLarge: false });
  } finally {
    child.kill("SIGKILL");
  }
});
