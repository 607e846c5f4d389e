import { execFile } from "node:child_process";
import { once } from "node:events";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { connect, createServer, type Server } from "node:net";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { pino } from "pino";
import { describe, expect, test } from "vitest";
import { createDaemon } from "../../main/daemon/daemon.ts";
import { takeLock } from "../../main/home/lock.ts";
import { startTestDaemon } from "../helpers/daemon.ts";
import { timeoutOf } from "../helpers/revision-notes.ts";
import { temporaryFolder } from "../helpers/temporary-folder.ts";

describe("a failed start releases everything", () => {
  const obstacles: {
    readonly [what: string]: (home: string, port: number) => Promise<() => Promise<unknown>>;
  } = {
    "daemon.json is a folder": async home => {
      await mkdir(join(home, "daemon.json"), { recursive: true });
      return () => rm(join(home, "daemon.json"), { recursive: true });
    },
    "the port is taken": async (_home, port) => {
      const server = await listen(port);
      return () => new Promise(closed => server.close(closed));
    },
  };
  test.each(Object.entries(obstacles))(
    "%s: the port does not answer, and the next start works",
    async (_what, obstruct) => {
      await using home = await temporaryFolder();
      const server = await listen(0);
      const port = portOf(server);
      await new Promise(closed => server.close(closed));
      const takeAway = await obstruct(home.path, port);
      const options = { home: home.path, version: "0.0.0-test", port, logger: pino({ level: "silent" }) };
      await expect(createDaemon(options)).rejects.toThrow();
      await takeAway();
      for (const host of ["127.0.0.1", "::1"]) {
        const socket = connect(port, host);
        await expect(once(socket, "connect")).rejects.toThrow();
        socket.destroy();
      }
      await using t = await startTestDaemon({ home: home.path, port });
      await t.addRepository("shop");
    },
  );
});

describe("the home's lock", () => {
  const takeElsewhere = async (path: string): Promise<string> => {
    const code = `
      import { takeLock } from ${JSON.stringify(resolve(import.meta.dirname, "../../main/home/lock.ts"))};
      console.log(takeLock(process.argv[1]) === undefined ? "busy" : "taken");`;
    const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "-e", code, path]);
    return stdout.trim();
  };

  test("stays with its process after a second attempt in the same process", async () => {
    await using folder = await temporaryFolder();
    const path = join(folder.path, "lock");
    const lock = takeLock(path);
    expect(lock).toBeDefined();
    expect(await takeElsewhere(path)).toBe("busy");
    expect(takeLock(path)).toBeUndefined();
    expect(await takeElsewhere(path)).toBe("busy");
    lock?.release();
    expect(await takeElsewhere(path)).toBe("taken");
  });

  test("stays with the first daemon when a second one in the same process is refused", async () => {
    await using t = await startTestDaemon();
    await expect(startTestDaemon({ home: t.homeFolder })).rejects.toThrow("in use");
    expect(await takeElsewhere(join(t.homeFolder, "lock"))).toBe("busy");
  });
});

describe("a damaged index is rebuilt from the files", () => {
  const damages: { readonly [what: string]: (entry: Record<string, unknown>) => void } = {
    "a path that is a number": entry => Object.assign(entry, { path: 5, inTree: true }),
    "a path that is not absolute": entry => Object.assign(entry, { path: "work", inTree: true }),
    "an invalid id": entry => Object.assign(entry, { id: "../a" }),
    "a name that is a number": entry => Object.assign(entry, { name: 5 }),
    "a revision that is a string": entry => Object.assign(entry, { revision: "3" }),
    "an invalid health entry": entry => Object.assign(entry, { health: [null] }),
    "an invalid stamp": entry => Object.assign(entry, { stamps: { home: null } }),
  };
  test.each(Object.entries(damages))("%s", async (_what, damage) => {
    await using home = await temporaryFolder();
    const first = await startTestDaemon({ home: home.path });
    await first.addRepository("a");
    await first.owner.call("config/set", { repo: "a", "svc.timeout": 31 });
    const { revision: before = 0 } = await first.owner.call("config/list", { repo: "a" });
    await first[Symbol.asyncDispose]();
    const indexFile = join(home.path, "index.json");
    const index = JSON.parse(await readFile(indexFile, "utf8"));
    damage(index.repositories.a);
    await writeFile(
      indexFile,
      JSON.stringify({ ...index, repositories: { [index.repositories.a.id]: index.repositories.a } }),
    );

    await using t = await startTestDaemon({ home: home.path });
    expect(await timeoutOf(t, "a")).toBe(31);
    expect((await t.owner.call("repo/list")).result).toMatchObject([{ id: "a", inTree: false, health: [] }]);
    expect((await t.owner.call("config/list", { repo: "a" })).revision).toBeGreaterThanOrEqual(before);
    expect(t.log.filter(line => line.includes("cannot compare"))).toEqual([]);
    await t.restart();
    expect(await timeoutOf(t, "a")).toBe(31);
  });
});

async function listen(port: number): Promise<Server> {
  const server = createServer().listen(port, "127.0.0.1");
  await once(server, "listening");
  return server;
}

function portOf(server: Server): number {
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no port");
  return address.port;
}
