import { execFile } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdir, readdir, rm, stat, writeFile } from "node:fs/promises";
import { connect, createServer, type Server } from "node:net";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { pino } from "pino";
import { describe, expect, test } from "vitest";
import { createDaemon } from "../../../main/daemon/daemon.ts";
import { takeLock } from "../../../main/home/lock.ts";
import { startTestDaemon } from "../../helpers/daemon.ts";
import { systemError, watchFileSystem } from "../../helpers/file-system.ts";
import { timeoutOf } from "../../helpers/shared-world.ts";
import { temporaryFolder } from "../../helpers/temporary-folder.ts";

test("a daemon starts on a full disk and serves, using the space reserved by an earlier one; without it the start fails and names the full disk", async () => {
  const fileSystem = watchFileSystem();
  await using t = await startTestDaemon({ fileSystem });
  const reserve = join(t.homeFolder, "reserve");
  const isReserved = async (path: string) => (await stat(path).catch(() => ({ blocks: 0 }))).blocks > 0;
  await t.addRepository("shop");
  await t.owner.call("config/set", { repo: "shop", "svc.timeout": 31 });
  expect(await isReserved(reserve)).toBe(true);

  fileSystem.before = async ({ operation, path }) => {
    if (/^write/.test(operation) && (!path.endsWith("/tmp/daemon.json") || (await isReserved(reserve))))
      throw systemError("ENOSPC");
  };
  await t.restart();
  expect(await isReserved(reserve)).toBe(false);
  expect(await timeoutOf(t, "shop")).toBe(31);
  expect((await t.owner.call("config/set", { repo: "shop", "svc.timeout": 32 })).errors).toMatchObject([
    { code: 1108 },
  ]);

  fileSystem.before = () => {};
  await t.restart();
  expect(await isReserved(reserve)).toBe(true);

  fileSystem.before = ({ operation }) => {
    if (/^write/.test(operation)) throw systemError("ENOSPC");
  };
  await expect(t.restart()).rejects.toThrow(`The disk of ${t.homeFolder} is full. Free some space and retry.`);
  fileSystem.before = () => {};
  await t.restart();
});

test("a daemon starts even if the schema for editors cannot be written", async () => {
  await using t = await startTestDaemon();
  const path = join(t.homeFolder, "repository.schema.json");
  await rm(path);
  await mkdir(path);
  await t.restart();
  expect((await t.owner.call("daemon/status")).errors).toEqual([]);
  expect(t.log.filter(line => line.includes("repository.schema.json"))).toHaveLength(1);
});

test.each(["daemon.json is a folder", "the port is taken"])(
  "a failed start releases everything: if %s, the port does not answer, and the next start works",
  async what => {
    await using home = await temporaryFolder();
    const server = await listen(0);
    const port = portOf(server);
    if (what.startsWith("daemon.json")) {
      server.close();
      await mkdir(join(home.path, "daemon.json"), { recursive: true });
    }
    const options = { home: home.path, version: "0.0.0-test", port, logger: pino({ level: "silent" }) };
    await expect(createDaemon(options)).rejects.toThrow();
    if (what.startsWith("daemon.json")) await rm(join(home.path, "daemon.json"), { recursive: true });
    else await new Promise(closed => server.close(closed));
    for (const host of ["127.0.0.1", "::1"]) {
      const socket = connect(port, host);
      await expect(once(socket, "connect")).rejects.toThrow();
      socket.destroy();
    }
    await using t = await startTestDaemon({ home: home.path, port });
    await t.addRepository("shop");
  },
);

describe("the home's lock", () => {
  const takeElsewhere = async (path: string): Promise<string> => {
    const code = `
      import { takeLock } from ${JSON.stringify(resolve(import.meta.dirname, "../../../main/home/lock.ts"))};
      console.log(takeLock(process.argv[1]) === undefined ? "busy" : "taken");`;
    const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "-e", code, path]);
    return stdout.trim();
  };

  test("is taken without writing anything, so a full disk cannot prevent it, and stays after a second attempt in the same process", async () => {
    await using folder = await temporaryFolder();
    const path = join(folder.path, "lock");
    const lock = takeLock(path);
    expect(lock).toBeDefined();
    expect(await readdir(folder.path)).toEqual(["lock"]);
    expect((await stat(path)).size).toBe(0);
    expect(await takeElsewhere(path)).toBe("busy");
    expect(takeLock(path)).toBeUndefined();
    expect(await takeElsewhere(path)).toBe("busy");
    lock?.release();
    expect(await takeElsewhere(path)).toBe("taken");
  });

  test("is not taken on a file that the user may only read: everybody would get it", async () => {
    await using folder = await temporaryFolder();
    const path = join(folder.path, "lock");
    await writeFile(path, "", { mode: 0o444 });
    await chmod(folder.path, 0o755);
    const code = `
      import { takeLock } from ${JSON.stringify(resolve(import.meta.dirname, "../../../main/home/lock.ts"))};
      if (process.getuid?.() === 0) process.setuid(65534);
      try { takeLock(process.argv[1], false); console.log("taken"); } catch ({ code }) { console.log(code); }`;
    const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "-e", code, path]);
    expect([stdout.trim(), (await stat(path)).mode & 0o777]).toEqual(["EACCES", 0o444]);
  });

  test("stays with the first daemon when a second one in the same process is refused", async () => {
    await using t = await startTestDaemon();
    await expect(startTestDaemon({ home: t.homeFolder })).rejects.toThrow("in use");
    expect(await takeElsewhere(join(t.homeFolder, "lock"))).toBe("busy");
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
