import { lstat, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pino } from "pino";
import { describe, expect, onTestFinished, test } from "vitest";
import { createDaemon, type Daemon, type DaemonOptions, preferredPort } from "../../../main/daemon/daemon.ts";

async function newHome(): Promise<string> {
  const home = await mkdtemp(join(tmpdir(), "repoconf-test-"));
  onTestFinished(() => rm(home, { recursive: true, force: true }));
  return home;
}

/** Starts a daemon without the port option that the shared fixture always sets. */
async function start(home: string, options: Partial<DaemonOptions> = {}): Promise<Daemon> {
  const daemon = await createDaemon({ home, version: "1.2.3-test", logger: pino({ level: "silent" }), ...options });
  onTestFinished(() => daemon.close());
  return daemon;
}

/** Occupies a port (0: any free one) and returns it, even if another program already has it. */
async function occupy(port: number): Promise<number> {
  const server = createServer();
  const listening = await new Promise<boolean>(resolve => {
    server.once("error", () => resolve(false));
    server.listen(port, "127.0.0.1", () => resolve(true));
  });
  if (!listening) return port;
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
}

function portOf({ url }: Daemon): number {
  return Number(new URL(url).port);
}

async function endpointOf(home: string): Promise<Record<string, unknown>> {
  return JSON.parse(await readFile(join(home, "daemon.json"), "utf8"));
}

describe("daemon.json", () => {
  test("says where the daemon is and which instance it is, and nothing else", async () => {
    const home = await newHome();
    const daemon = await start(home, { port: 0 });
    const endpoint = await endpointOf(home);
    expect(endpoint).toEqual({
      protocol: 1,
      version: "1.2.3-test",
      pid: process.pid,
      startedAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      url: daemon.url,
      instanceId: expect.stringMatching(/^\S{16,}$/),
      instanceSecret: expect.stringMatching(/^\S{43,}$/),
      ...(process.platform !== "win32" && { socket: expect.stringContaining(join(home, "socket")) }),
    });
    expect(endpoint["url"]).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
    expect((await fetch(`${daemon.url}/readyz`)).status).toBe(200);
  });

  test("is removed when the daemon closes, and the next daemon is another instance", async () => {
    const home = await newHome();
    const first = await start(home, { port: 0 });
    const before = await endpointOf(home);
    await first.close();
    await expect(lstat(join(home, "daemon.json"))).rejects.toMatchObject({ code: "ENOENT" });
    await expect(fetch(`${first.url}/livez`)).rejects.toThrow();
    await start(home, { port: 0 });
    const after = await endpointOf(home);
    expect(after["instanceId"]).not.toBe(before["instanceId"]);
    expect(after["instanceSecret"]).not.toBe(before["instanceSecret"]);
  });
});

describe("the port", () => {
  test("is a free one if the preferred one is taken, which the daemon reports", async () => {
    await occupy(preferredPort);
    const home = await newHome();
    const daemon = await start(home);
    expect(portOf(daemon)).not.toBe(preferredPort);
    expect(daemon.otherPort).toBe(true);
    expect(await endpointOf(home)).toMatchObject({ url: daemon.url });
    expect((await fetch(`${daemon.url}/readyz`)).status).toBe(200);
  });

  test("is the one in the settings, or a free one if that is taken", async () => {
    const home = await newHome();
    const wanted = await occupy(0);
    await writeFile(join(home, "settings.json"), JSON.stringify({ port: wanted }));
    const daemon = await start(home);
    expect(portOf(daemon)).not.toBe(wanted);
    expect(daemon.otherPort).toBe(true);
    const free = portOf(daemon);
    await daemon.close();
    await writeFile(join(home, "settings.json"), JSON.stringify({ port: free }));
    const again = await start(home);
    expect(portOf(again)).toBe(free);
    expect(again.otherPort).toBe(false);
  });
});
