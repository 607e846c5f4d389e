import type { ChildProcess } from "node:child_process";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { expect, test } from "vitest";
import type { Crowd, CrowdReport } from "../helpers/crowd-process.ts";
import { connectClient, until } from "../helpers/daemon.ts";
import { openKeptMemory } from "../helpers/kept-memory.ts";
import { amount, reportPromise, torture } from "../helpers/promise.ts";
import { forkHelper, projectFolder, repoconfCommand, spawnDaemon } from "../helpers/spawned-daemon.ts";

function startCrowd(crowd: Crowd): ChildProcess {
  const child = forkHelper("crowd-process.ts");
  child.send(crowd);
  return child;
}

const reported = (child: ChildProcess) =>
  new Promise<CrowdReport>(resolve => child.once("message", (report: CrowdReport) => resolve(report)));

/**
 * Limit of the daemon's JavaScript heap; it needs two thirds of it while most waits for the slow client. V8 keeps what it has
 * once allocated, so this shortens the warm-up.
 */
const heapMebibytes = 96;
/** The size of the values that the crowd watches. */
const valueBytes = 20_000;
/** The maximum kept per event after all garbage is collected. */
const mostKept = valueBytes / 4;
/** The maximum kept of a dropped client, a quarter of what was queued for it. */
const mostKeptOfDropped = 4 * 1024 ** 2;
const mebibytes = (bytes: number) => Math.round(bytes / 1024 ** 2);
const middle = (numbers: readonly number[]) => numbers.toSorted((one, other) => one - other)[numbers.length >> 1] ?? 0;

// Memory and handles are read from Linux's /proc.
test("R16 memory, handles and the queue of a slow client stay bounded while many clients watch and one never reads", async context => {
  context.skip(process.platform !== "linux", "not Linux");
  const clients = amount(100, 500);
  const rounds = amount(12, 360);
  // Without these options V8 lets much more garbage accumulate, which would look like a leak for minutes.
  const nodeArguments = [`--max-old-space-size=${heapMebibytes}`, "--max-semi-space-size=4", "--inspect=0"];
  // In full, the daemon as shipped; otherwise from the current sources.
  const command = torture ? repoconfCommand : join(projectFolder, "main/cli/repoconf.ts");
  await using daemon = await spawnDaemon(undefined, undefined, nodeArguments, command);
  using kept = await openKeptMemory(daemon.errorOutput);
  const { pid } = daemon.process;
  // Writes in progress and those of the last two seconds are kept on purpose and soon released; a leak is not.
  const keptBelow = async (bound: number, mostTries: number) => {
    let bytes = await kept.read();
    for (let tries = 0; bytes >= bound && tries < mostTries; tries++) {
      await delay(200);
      bytes = await kept.read();
    }
    return bytes;
  };
  const resident = async () => {
    const status = await readFile(`/proc/${pid}/status`, "utf8");
    return 1024 * Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]);
  };
  const handles = async () => (await readdir(`/proc/${pid}/fd`)).length;
  const owner = await connectClient(daemon.url, daemon.ownerKey);
  for (const id of ["shop", "flood"]) await owner.call("repo/add", { id, name: id });
  const address = { url: daemon.url, key: daemon.ownerKey };
  const crowd = startCrowd({ ...address, count: clients - 2, repo: "shop" });
  const slow = startCrowd({ ...address, count: 1 });
  try {
    await Promise.all([reported(crowd), reported(slow)]);
    const sockets = async () => (await owner.call("daemon/status")).result.sockets;
    expect(await sockets()).toBe(clients);
    // It keeps its connection open but reads nothing from it.
    slow.kill("SIGSTOP");

    const keptAtFirst = await kept.read();
    let sets = 0;
    const set = async (repo: string, bytes: number) => {
      const services = { big: { ready: `${++sets}`, image: "x".repeat(bytes) } };
      const { errors } = await owner.call("config/set", { repo, "svc.services": services });
      expect(errors).toEqual([]);
    };
    // Only the slow one watches this: it is dropped because of its queue, long before it misses a heartbeat.
    while ((await sockets()) === clients && sets < 1_000) await set("flood", 200_000);
    expect(await sockets()).toBe(clients - 1);
    expect((await owner.call("daemon/status")).result.refusals).toMatchObject({ limit: 1 });
    const log = await readFile(join(daemon.homeFolder, "daemon.log"), "utf8").catch(() => daemon.errorOutput());
    expect(log).toContain("bytes of unread events");
    const dropped = sets;
    await owner.call("repo/remove", { repo: "flood" });
    // Soon even on a slow machine: closing it in the regular way would keep the memory for half a minute.
    const keptOfDropped = (await keptBelow(keptAtFirst + mostKeptOfDropped, 10)) - keptAtFirst;
    sets = 0;
    const report = () => {
      const next = reported(crowd);
      crowd.send("report");
      return next;
    };
    // Events that a crowd on the same machine has no time to read are not a leak of the daemon.
    const allRead = () =>
      until(async () => (await report()).events >= sets * (clients - 2), "the last event of the others");

    const memory: number[] = [];
    const open: number[] = [];
    // The first third is the warm-up.
    const third = rounds / 3;
    let [keptBefore, setsBefore] = [0, 0];
    for (let round = 0; round < rounds; round++) {
      if (round === third) [keptBefore, setsBefore] = [await kept.read(), sets];
      for (let count = 0; count < 5; count++) await set("shop", valueBytes);
      await allRead();
      memory.push(await resident());
      open.push(await handles());
    }
    const setsMeasured = sets - setsBefore;
    const keptOfSet = ((await keptBelow(keptBefore + mostKept * setsMeasured, 50)) - keptBefore) / setsMeasured;
    const [early, late] = [memory.slice(third, 2 * third), memory.slice(2 * third)];
    const [before, after] = [middle(early), middle(late)];
    const grown = after - before;
    const note =
      `${clients} clients, a heap of at most ${heapMebibytes} MiB, ${sets} sets of 20 kB; ${Math.round(keptOfSet)} bytes of each stay in memory; ` +
      `resident ${mebibytes(before)} MiB, then ${mebibytes(after)} MiB; ` +
      `at most ${Math.max(...open)} handles; the slow client is disconnected after ${dropped} sets of 200 kB, of which ${mebibytes(keptOfDropped)} MiB stay in memory`;
    // The system's figures only settle after a while: in a few seconds, warm-up and growth cannot be distinguished.
    const isFlat = keptOfSet < mostKept && (!torture || grown < Math.max(16 * 1024 ** 2, before * 0.1));
    const isOpenBounded = Math.max(...open) < clients + 60;
    const isDroppedFreed = keptOfDropped < mostKeptOfDropped;
    const held = { isFlat, isOpenBounded, isDroppedFreed };
    const failed = Object.values(held).filter(isHeld => !isHeld).length;
    reportPromise({ row: "R16", tried: sets, failed, note });
    expect(held, note).toEqual({ isFlat: true, isOpenBounded: true, isDroppedFreed: true });

    expect(await report()).toEqual({ events: sets * (clients - 2), lost: 0 });
  } finally {
    slow.kill("SIGKILL");
    crowd.kill("SIGKILL");
    owner.socket.close();
  }
});
