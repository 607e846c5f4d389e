import { spawn } from "node:child_process";
import { cp, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { expect, test } from "vitest";
import { startTestDaemon, type TestDaemon } from "../helpers/daemon.ts";
import { describeWithNats, startNatsServer } from "../helpers/nats-server.ts";
import { amount, reportPromise, seed, torture } from "../helpers/promise.ts";
import { randomNumbers } from "../helpers/random.ts";
import { repoconfCommand } from "../helpers/spawned-daemon.ts";
import { temporaryFolder } from "../helpers/temporary-folder.ts";

const repos = ["shop", "site", "till"];
const sets = 150;

/** What tools and people see of all repositories, without the machine, which only a shared log has. */
async function contentOf(daemon: TestDaemon) {
  const content = [];
  for (const repo of repos) {
    const history = (await daemon.owner.call("history/list", { repo, limit: 1_000 })).result;
    const values = (await daemon.owner.call("config/list", { repo, stored: true })).result;
    const file = JSON.parse(await daemon.readRepository(repo)).config;
    content.push({ repo, history: history.map(({ machine: _, ...entry }) => entry), values, file });
  }
  return content;
}

/** A home with its own log, a server, and the real command to copy between them. */
async function makeWorld() {
  const stack = new AsyncDisposableStack();
  const server = stack.use(await startNatsServer());
  const folder = stack.use(await temporaryFolder());
  const original = join(folder.path, "original");
  let content: unknown;
  {
    await using daemon = await startTestDaemon({ home: await made(original) });
    for (const id of repos) await daemon.addRepository(id);
    for (let timeout = 1; timeout <= sets; timeout++)
      for (const repo of repos) await daemon.owner.call("config/set", { repo, "svc.timeout": timeout });
    content = await contentOf(daemon);
  }
  return {
    content,
    folder: folder.path,
    address: (name: string) => `${server.url}/${name}`,
    /** A copy of the home, whose log has not been copied yet. */
    home: async (name: string) => {
      const home = join(folder.path, name);
      await cp(original, home, { recursive: true });
      return home;
    },
    start: async (home: string, address?: string) => {
      const log = address === undefined ? {} : { log: { address, machine: "laptop" } };
      await writeFile(join(home, "settings.json"), JSON.stringify(log));
      const daemon = await startTestDaemon({ home });
      await rm(join(home, "settings.json"));
      return daemon;
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

async function made(home: string): Promise<string> {
  await mkdir(home, { mode: 0o700 });
  return home;
}

/** Runs `repoconf log copy` and kills it after some milliseconds; the exit code is null if it was killed before it ended. */
async function copy(home: string, direction: "--to" | "--from", address: string, milliseconds?: number) {
  const child = spawn(process.execPath, [
    repoconfCommand,
    "log",
    "copy",
    "--no-start",
    "--home",
    home,
    direction,
    address,
  ]);
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", data => (output += String(data)));
  const ended = new Promise<number | null>(resolve => child.once("close", resolve));
  if (milliseconds !== undefined) void Promise.race([delay(milliseconds), ended]).then(() => child.kill("SIGKILL"));
  return { code: await ended, output };
}

describeWithNats("R18 `repoconf log copy`, killed at random moments and run again", () => {
  test("completes with everything once in home and stream; a daemon can use the home in between", async () => {
    await using world = await makeWorld();
    const random = randomNumbers(seed);
    const { content } = world;
    const timed = async (task: () => Promise<{ code: number | null; output: string }>) => {
      const began = performance.now();
      const done = await task();
      expect(done).toMatchObject({ code: 0 });
      return performance.now() - began;
    };
    // How long it takes without a kill.
    const whole = await world.home("whole");
    const there = await timed(() => copy(whole, "--to", world.address("whole")));
    const back = await timed(() => copy(whole, "--from", world.address("whole")));
    const kills = amount(2, 12);
    const ends = { killed: 0, late: 0 };
    for (let round = 0; round < kills; round++) {
      const home = await world.home(`home${round}`);
      const address = world.address(`log${round}`);
      const isBound = () =>
        readFile(join(home, "log/stream.json")).then(
          () => true,
          () => false,
        );
      for (const [direction, time] of [
        ["--to", there],
        ["--from", back],
      ] as const) {
        const done = direction === "--to";
        // A fraction of the time after the program has started.
        const first = await copy(home, direction, address, time * (0.3 + random(700) / 1_000));
        ends[first.code === null ? "killed" : "late"] += 1;
        // Until the last step, nothing has changed.
        if ((await isBound()) !== done) {
          await using daemon = await world.start(home, done ? undefined : address);
          expect(await contentOf(daemon)).toEqual(content);
          await daemon.daemon.close();
          expect(await copy(home, direction, address)).toMatchObject({ code: 0 });
        }
        expect(await isBound()).toBe(done);
        await using daemon = await world.start(home, done ? address : undefined);
        expect(await contentOf(daemon)).toEqual(content);
        if (!done) continue;
        await using other = await world.start(await made(join(world.folder, `other${round}`)), address);
        expect(await contentOf(other)).toEqual(content);
      }
    }
    const note = `kills of repoconf log copy: ${ends.killed} before its end, ${ends.late} after it`;
    reportPromise({ row: "R18", tried: 2 * kills, failed: 0, note });
    // With few kills, all may be too late, as when the machine was busy while the copy was timed.
    if (torture) expect(ends.killed).toBeGreaterThan(kills / 2);
  });
});
