import { lstat, readFile, writeFile } from "node:fs/promises";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { pino } from "pino";
import { expect, test } from "vitest";
import { createDaemon, type Daemon, type DaemonOptions } from "../../../main/daemon/daemon.ts";
import { preferredPort } from "../../../main/home/settings.ts";
import { temporaryFolder } from "../../helpers/temporary-folder.ts";

/** Starts a daemon without the port option that the shared fixture always sets. */
async function start(home: string, options: Partial<DaemonOptions> = {}) {
  const daemon = await createDaemon({ home, version: "1.2.3-test", logger: pino({ level: "silent" }), ...options });
  return Object.assign(daemon, { [Symbol.asyncDispose]: () => daemon.close() });
}

/** Occupies a port (0: any free one), unless another program already has it. */
async function occupy(port: number) {
  const server = createServer();
  const isListening = await new Promise<boolean>(resolve => {
    server.once("error", () => resolve(false));
    server.listen(port, "127.0.0.1", () => resolve(true));
  });
  const taken = isListening ? (server.address() as AddressInfo).port : port;
  return { port: taken, [Symbol.dispose]: () => void server.close() };
}

const portOf = ({ url }: Daemon) => Number(new URL(url).port);
const endpointOf = async (home: string): Promise<Record<string, unknown>> =>
  JSON.parse(await readFile(join(home, "daemon.json"), "utf8"));

test("daemon.json says where the daemon is and which instance it is, and nothing else; it is removed when the daemon closes, and the next daemon is another instance", async () => {
  await using home = await temporaryFolder();
  const first = await start(home.path, { port: 0 });
  const endpoint = await endpointOf(home.path);
  expect(endpoint).toEqual({
    protocol: 1,
    version: "1.2.3-test",
    pid: process.pid,
    startedAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
    url: first.url,
    home: expect.stringMatching(/^\d+:\d+$/),
    instanceId: expect.stringMatching(/^\S{16,}$/),
    instanceSecret: expect.stringMatching(/^\S{43,}$/),
    ...(process.platform !== "win32" && { socket: expect.stringContaining(join(home.path, "socket")) }),
  });
  expect(endpoint["url"]).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
  expect((await fetch(`${first.url}/readyz`)).status).toBe(200);
  await first.close();
  await expect(lstat(join(home.path, "daemon.json"))).rejects.toMatchObject({ code: "ENOENT" });
  await expect(fetch(`${first.url}/livez`)).rejects.toThrow();
  await using _second = await start(home.path, { port: 0 });
  const after = await endpointOf(home.path);
  for (const name of ["instanceId", "instanceSecret"]) expect(after[name]).not.toBe(endpoint[name]);
});

test("the port is the preferred one or the one in the settings, or a free one if that is taken, which the daemon reports", async () => {
  await using home = await temporaryFolder();
  const startWith = async (wanted: number, isTaken: boolean) => {
    await using daemon = await start(home.path);
    expect([portOf(daemon) !== wanted, daemon.otherPort]).toEqual([isTaken, isTaken]);
    expect(await endpointOf(home.path)).toMatchObject({ url: daemon.url });
    return portOf(daemon);
  };
  using _preferred = await occupy(preferredPort);
  await startWith(preferredPort, true);
  using wanted = await occupy(0);
  await writeFile(join(home.path, "settings.json"), JSON.stringify({ port: wanted.port }));
  const free = await startWith(wanted.port, true);
  await writeFile(join(home.path, "settings.json"), JSON.stringify({ port: free }));
  await startWith(free, false);
});
