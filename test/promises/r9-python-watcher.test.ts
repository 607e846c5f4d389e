import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { open, readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { expect, test } from "vitest";
import type { ConfigChanged } from "../../shared/protocol.ts";
import { bundle } from "../helpers/bundled.ts";
import { type TestClient, until } from "../helpers/daemon.ts";
import { amount, reportPromise } from "../helpers/promise.ts";
import { python, withoutWebSocket } from "../helpers/python.ts";
import { Stage } from "../helpers/recorded-run.ts";
import { projectFolder } from "../helpers/spawned-daemon.ts";
import { temporaryFolder } from "../helpers/temporary-folder.ts";

const repo = "shop";
/** More than two payloads over polling can hold. */
const whileAway = 61;

/** Sets one field to a new value each time. */
class Setter {
  /** The value at each acknowledged revision. */
  readonly values = new Map<number, number>();
  newest = 0;
  #next = 0;
  #isOver = false;

  /** Makes this many sets at once; those that the daemon's death leaves without an answer do not count. */
  async set(client: TestClient, count: number): Promise<boolean> {
    const sets = Array.from({ length: count }, async () => {
      const value = this.#next++;
      const { result, errors } = await client.call("config/set", { repo, "svc.timeout": value });
      if (errors.length > 0) throw new Error(JSON.stringify(errors));
      for (const { revision } of result) {
        this.values.set(revision, value);
        this.newest = Math.max(this.newest, revision);
      }
    });
    return (await Promise.allSettled(sets)).every(({ status }) => status === "fulfilled");
  }

  async run(stage: Stage): Promise<void> {
    let client = await stage.connect();
    while (!this.#isOver) {
      // A client that is not connected would keep its requests until they time out.
      if (!client.socket.connected || !(await this.set(client, 20))) {
        client.socket.close();
        client = await stage.connect();
      }
      await delay(50);
    }
  }

  stop(): void {
    this.#isOver = true;
  }
}

/** The tool of the guide, examples/watch.py. */
class Watcher {
  readonly #arguments: readonly string[];
  readonly #environment: NodeJS.ProcessEnv;
  readonly #file: string;
  #child: ChildProcess | undefined;
  /** What it has printed for people, in all its lives. */
  printed = "";

  constructor(home: string, file: string, environment: { readonly [name: string]: string }) {
    const { REPOCONF_API_KEY: _, ...inherited } = process.env;
    this.#arguments = ["examples/watch.py", home, repo, file];
    this.#environment = { ...inherited, ...environment };
    this.#file = file;
  }

  start(): void {
    const child = spawn(python ?? "", this.#arguments, { cwd: projectFolder, env: this.#environment });
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      this.printed += text;
    });
    this.#child = child;
  }

  async kill(): Promise<void> {
    const child = this.#child;
    this.#child = undefined;
    if (child?.kill("SIGKILL") === true) await once(child, "exit");
  }

  /** Waits until it has written this revision, or a later one. */
  async reach(revision: number): Promise<void> {
    const isThere = async () => {
      if (this.#child?.exitCode !== null) throw new Error(`the watcher ended: ${this.printed}`);
      return (await lastRevision(this.#file)) >= revision;
    };
    await until(isThere, `revision ${revision}`).catch(async error => {
      throw new Error(`${error.message}; it is at ${await lastRevision(this.#file)} and printed: ${this.printed}`);
    });
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.kill();
  }
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
  test.skipIf(python === undefined)(
    python === undefined
      ? "skipped: no python3-socketio"
      : `R9 the usual Python client over ${transport} sees each revision once and in order, while it and the daemon are killed`,
    async () => {
      await using folder = await temporaryFolder();
      await using home = await temporaryFolder();
      await using stage = new Stage(home.path, await bundle("dying-daemon.ts", folder.path));
      await stage.start();
      const owner = await stage.connect();
      expect((await owner.call("repo/add", { id: repo, name: repo })).errors).toEqual([]);
      const file = join(folder.path, "changes.jsonl");
      await using watcher = new Watcher(
        home.path,
        file,
        transport === "polling" ? await withoutWebSocket(folder.path) : {},
      );
      watcher.start();
      await watcher.reach(1);
      const setter = new Setter();
      const setting = setter.run(stage);
      const restarts = amount(1, 8);
      try {
        for (let restart = 0; restart < restarts; restart++) {
          await until(() => setter.newest > 0, "the first sets");
          await watcher.reach(setter.newest);
          await stage.restart();
          const client = await stage.connect();
          expect(await setter.set(client, 1)).toBe(true);
          await watcher.reach(setter.newest);
          await watcher.kill();
          expect(await setter.set(client, whileAway)).toBe(true);
          watcher.start();
          await watcher.reach(setter.newest);
        }
      } finally {
        setter.stop();
        await setting;
      }
      // Nothing follows that could bring it if it is missed.
      expect(await setter.set(await stage.connect(), 1)).toBe(true);
      await watcher.reach(setter.newest);
      await watcher.kill();

      const [first, ...rest] = (await readFile(file, "utf8")).trimEnd().split("\n");
      const { revision: start }: { revision: number } = JSON.parse(first ?? "");
      const seen = rest.map((line): Partial<ConfigChanged> => JSON.parse(line));
      const made = Array.from({ length: setter.newest - start }, (_, index) => start + 1 + index);
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
      const connections = watcher.printed.match(/^connected by \w+$/gm) ?? [];
      expect(connections.length).toBeGreaterThan(2 * restarts);
      expect(new Set(connections)).toEqual(new Set([`connected by ${transport}`]));
    },
  );
}
