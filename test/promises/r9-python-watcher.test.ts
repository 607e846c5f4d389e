import { open, readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { expect, test } from "vitest";
import type { ConfigChanged } from "../../shared/protocol.ts";
import { type TestClient, until } from "../helpers/daemon.ts";
import { amount, reportPromise } from "../helpers/promise.ts";
import { python, withoutWebSocket } from "../helpers/python.ts";
import { type RunningProcess, startProcess } from "../helpers/spawned-daemon.ts";
import { type Stage, startStage } from "../helpers/stage.ts";
import { temporaryFolder } from "../helpers/temporary-folder.ts";

const repo = "shop";
/** More than two payloads over polling can hold. */
const whileAway = 61;

/** Sets one field to a new value each time. */
function makeSetter() {
  /** The value at each acknowledged revision. */
  const values = new Map<number, number>();
  let newest = 0;
  let next = 0;
  let isOver = false;

  /** Makes this many sets at once; those that the daemon's death leaves without an answer do not count. */
  const set = async (client: TestClient, count: number): Promise<boolean> => {
    const sets = Array.from({ length: count }, async () => {
      const value = next++;
      const { result, errors } = await client.call("config/set", { repo, "svc.timeout": value });
      if (errors.length > 0) throw new Error(JSON.stringify(errors));
      for (const { revision } of result) {
        values.set(revision, value);
        newest = Math.max(newest, revision);
      }
    });
    return (await Promise.allSettled(sets)).every(({ status }) => status === "fulfilled");
  };

  return {
    values,
    newest: () => newest,
    set,
    run: async (stage: Stage) => {
      let client = await stage.connect();
      while (!isOver) {
        // A client that is not connected would keep its requests until they time out.
        if (!client.socket.connected || !(await set(client, 20))) {
          client.socket.close();
          client = await stage.connect();
        }
        await delay(50);
      }
    },
    stop: () => {
      isOver = true;
    },
  };
}

/** The tool of the guide, examples/watch.py, which writes to this file. */
function makeWatcher(home: string, file: string, environment: { readonly [name: string]: string }) {
  let running: RunningProcess | undefined;
  /** What it has printed for people, in its lives before this one. */
  let before = "";
  const printed = () => before + (running?.errorOutput() ?? "");
  const kill = async () => {
    running?.process.kill("SIGKILL");
    await running?.ended;
    before = printed();
    running = undefined;
  };
  return {
    printed,
    start: () => {
      running = startProcess(python ?? "", ["examples/watch.py", home, repo, file], { environment });
    },
    kill,
    /** Waits until it has written this revision, or a later one. */
    reach: async (revision: number) => {
      const isThere = async () => {
        if (running?.process.exitCode !== null) throw new Error(`the watcher ended: ${printed()}`);
        return (await lastRevision(file)) >= revision;
      };
      await until(isThere, `revision ${revision}`).catch(async error => {
        throw new Error(`${error.message}; it is at ${await lastRevision(file)} and printed: ${printed()}`);
      });
    },
    [Symbol.asyncDispose]: kill,
  };
}

/** The revision of the last complete line; 0 if there is none. */
async function lastRevision(file: string): Promise<number> {
  await using handle = await open(file).catch(() => undefined);
  if (handle === undefined) return 0;
  const { size } = await handle.stat();
  const { buffer, bytesRead } = await handle.read({
    position: Math.max(0, size - 10_000),
    buffer: Buffer.alloc(10_000),
  });
  const lines = buffer.toString("utf8", 0, bytesRead).split("\n");
  return Number(/^\{"repo": "shop", "revision": (\d+)/.exec(lines.at(-2) ?? "")?.[1] ?? 0);
}

for (const transport of ["polling", "websocket"] as const) {
  test(`R9 the usual Python client over ${transport} sees each revision once and in order, while it and the daemon are killed`, async context => {
    context.skip(python === undefined, "no python3-socketio");
    await using folder = await temporaryFolder();
    await using home = await temporaryFolder();
    await using stage = await startStage(home.path);
    const owner = await stage.connect();
    expect((await owner.call("repo/add", { id: repo, name: repo })).errors).toEqual([]);
    const file = join(folder.path, "changes.jsonl");
    const environment = transport === "polling" ? await withoutWebSocket(folder.path) : {};
    await using watcher = makeWatcher(home.path, file, environment);
    watcher.start();
    await watcher.reach(1);
    const setter = makeSetter();
    const setting = setter.run(stage);
    const restarts = amount(1, 8);
    try {
      for (let restart = 0; restart < restarts; restart++) {
        await until(() => setter.newest() > 0, "the first sets");
        await watcher.reach(setter.newest());
        await stage.restart();
        const client = await stage.connect();
        expect(await setter.set(client, 1)).toBe(true);
        await watcher.reach(setter.newest());
        await watcher.kill();
        expect(await setter.set(client, whileAway)).toBe(true);
        watcher.start();
        await watcher.reach(setter.newest());
      }
    } finally {
      setter.stop();
      await setting;
    }
    // Nothing follows that could bring it if it is missed.
    expect(await setter.set(await stage.connect(), 1)).toBe(true);
    await watcher.reach(setter.newest());
    await watcher.kill();

    const [first, ...rest] = (await readFile(file, "utf8")).trimEnd().split("\n");
    const { revision: start }: { revision: number } = JSON.parse(first ?? "");
    const seen = rest.map((line): Partial<ConfigChanged> => JSON.parse(line));
    const made = Array.from({ length: setter.newest() - start }, (_, index) => start + 1 + index);
    const wrong = made.filter((revision, index) => {
      const change = seen[index];
      const acknowledged = setter.values.get(revision);
      const value = change?.changes?.["svc"]?.["timeout"]?.value;
      return change?.revision !== revision || (acknowledged !== undefined && value !== acknowledged);
    });
    const failed = wrong.length + Math.abs(seen.length - made.length);
    const figures = `${seen.length} revisions seen of ${made.length} made`;
    const note = `python-socketio over ${transport}: ${figures}, it and the daemon killed ${restarts} times each`;
    reportPromise({ row: "R9", tried: made.length, failed, note });
    process.stdout.write(`${note}\n`);
    expect(wrong).toEqual([]);
    expect(seen.length).toBe(made.length);
    // Each life of either began a connection, and all used this transport.
    const connections = watcher.printed().match(/^connected by \w+$/gm) ?? [];
    expect(connections.length).toBeGreaterThan(2 * restarts);
    expect(new Set(connections)).toEqual(new Set([`connected by ${transport}`]));
  });
}
