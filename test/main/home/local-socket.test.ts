import { chmod, lstat, mkdir, readdir, readFile, rm, stat, symlink, unlink, writeFile } from "node:fs/promises";
import { Agent, get, request } from "node:http";
import { connect as connectSocket } from "node:net";
import { join } from "node:path";
import { io } from "socket.io-client";
import { describe, expect, test, vi } from "vitest";
import { locateDaemon } from "../../../main/client/locate.ts";
import { KeyBudget } from "../../../main/daemon/socket/fairness/key-budget.ts";
import { longestSocketPath } from "../../../main/home/local-socket.ts";
import { startTestDaemon, type TestDaemon } from "../../helpers/daemon.ts";
import { connect } from "../../helpers/patient-client.ts";
import { temporaryFolder } from "../../helpers/temporary-folder.ts";

const endpointOf = async (t: TestDaemon): Promise<{ readonly socket?: string }> =>
  JSON.parse(await readFile(join(t.homeFolder, "daemon.json"), "utf8"));

async function socketOf(t: TestDaemon): Promise<string> {
  const { socket } = await endpointOf(t);
  if (socket === undefined) throw new Error("no Unix socket");
  return socket;
}

describe.skipIf(process.platform === "win32")("the Unix socket", () => {
  test("is in a folder that only the owner can enter, has a new name at each start, and is removed with the daemon", async () => {
    await using t = await startTestDaemon();
    const first = await socketOf(t);
    expect((await lstat(first)).isSocket()).toBe(true);
    expect((await stat(join(t.homeFolder, "socket"))).mode & 0o777).toBe(0o700);
    await t.restart();
    expect(await socketOf(t)).not.toBe(first);
    expect(await readdir(join(t.homeFolder, "socket"))).toHaveLength(1);
    await t.daemon.close();
    expect(await readdir(join(t.homeFolder, "socket"))).toEqual([]);
  });

  test("is the client's first choice; if it is missing, the client uses the port", async () => {
    await using t = await startTestDaemon({ repositories: ["shop"] });
    const located = await locateDaemon({ home: t.homeFolder });
    expect(located).toMatchObject({ url: "http://localhost", agent: expect.any(Agent) });
    using client = await connect({ home: t.homeFolder });
    await client.set("shop", { "svc.timeout": 31 });
    await unlink(await socketOf(t));
    using another = await connect({ home: t.homeFolder });
    expect(await another.get("shop", "svc.timeout")).toBe(31);
  });

  test("also serves a plain client, over polling and websocket, and has its own connection budget", async () => {
    const admit = vi.spyOn(KeyBudget.prototype, "admit");
    try {
      await using t = await startTestDaemon();
      const path = await socketOf(t);
      const agent = Object.assign(new Agent(), { createConnection: () => connectSocket(path) });
      for (const transport of ["websocket", "polling"])
        for (const url of ["http://localhost", t.url]) {
          const options = url === t.url ? {} : { agent: agent as unknown as string };
          const auth = { apiKey: t.ownerKey };
          const socket = io(url, { ...options, transports: [transport], auth, forceNew: true });
          const { result } = await socket.emitWithAck("svc", "key", "self", {});
          expect(result).toMatchObject({ name: "owner" });
          socket.close();
        }
      // The first is the test's own client.
      expect(admit.mock.calls.map(([, channel]) => channel)).toEqual(["port", "socket", "port", "socket", "port"]);
    } finally {
      admit.mockRestore();
    }
  });

  test("refuses and counts requests and upgrades with an Origin", async () => {
    await using t = await startTestDaemon();
    const socketPath = await socketOf(t);
    const headers = { Origin: "http://localhost" };
    const status = await new Promise(resolve =>
      get({ socketPath, path: "/livez", headers }, response => resolve(response.resume().statusCode)),
    );
    expect(status).toBe(403);
    const upgrade = { Connection: "Upgrade", Upgrade: "websocket", "Sec-WebSocket-Key": "x".repeat(22), ...headers };
    const refused = await new Promise(resolve =>
      request({ socketPath, path: "/socket.io/?EIO=4&transport=websocket", headers: upgrade })
        .on("response", response => resolve(response.resume().statusCode))
        .on("upgrade", () => resolve("let in"))
        .end(),
    );
    expect(refused).toBe(403);
    expect((await t.owner.call("daemon/status")).result.refusals).toEqual({ origin: 2 });
  });

  test("replaces what earlier daemons left behind", async () => {
    await using home = await temporaryFolder();
    await mkdir(join(home.path, "socket"), { mode: 0o755 });
    await writeFile(join(home.path, "socket/old"), "");
    await chmod(join(home.path, "socket"), 0o755);
    await using t = await startTestDaemon({ home: home.path });
    const path = await socketOf(t);
    expect(await readdir(join(home.path, "socket"))).toEqual([path.split("/").at(-1)]);
    expect((await stat(join(home.path, "socket"))).mode & 0o777).toBe(0o700);
  });

  test("is not created if its folder is a link: the port serves, and the log says so", async () => {
    await using home = await temporaryFolder();
    await using other = await temporaryFolder();
    await writeFile(join(other.path, "kept"), "");
    await symlink(other.path, join(home.path, "socket"));
    await using t = await startTestDaemon({ home: home.path });
    expect((await endpointOf(t)).socket).toBeUndefined();
    expect(t.log.join("\n")).toContain("no Unix socket");
    expect(await readdir(other.path)).toEqual(["kept"]);
    using client = await connect({ home: home.path });
    expect(await client.repositories()).toEqual([]);
    await rm(join(home.path, "socket"));
  });

  test("is not created if its path would be too long: the port serves", async () => {
    await using folder = await temporaryFolder();
    const home = join(folder.path, "h".repeat(longestSocketPath - folder.path.length));
    await using t = await startTestDaemon({ home });
    expect((await endpointOf(t)).socket).toBeUndefined();
    using client = await connect({ home });
    expect(await client.repositories()).toEqual([]);
  });
});
