import { access, readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type * as BrowserClient from "../../main/client/browser.ts";
import { connectClient } from "../helpers/daemon.ts";
import { python } from "../helpers/python.ts";
import { sendBytes } from "../helpers/raw-http.ts";
import { projectFolder, runProcess, runRepoconf, spawnDaemon } from "../helpers/spawned-daemon.ts";
import { temporaryFolder } from "../helpers/temporary-folder.ts";

describe("repoconf daemon, as a user runs it", () => {
  test("prints the URL, the home and what to try; a second start exits with code 1 and names pid and URL of the first", async () => {
    await using daemon = await spawnDaemon();
    expect(daemon.output()).toContain(daemon.homeFolder);
    expect(daemon.output()).toContain("Try it");
    const { code, errorOutput } = await runRepoconf(["daemon", "--home", daemon.homeFolder, "--port", "0"]);
    expect(code).toBe(1);
    expect(errorOutput).toContain(`pid ${daemon.process.pid}`);
    expect(errorOutput).toContain(daemon.url);
    const client = await connectClient(daemon.url, daemon.ownerKey);
    const ended = new Promise(resolve => daemon.process.once("exit", resolve));
    expect(await client.call("daemon/stop")).toEqual({ result: {}, errors: [] });
    expect(await ended).toBe(0);
    expect(daemon.errorOutput()).toBe("");
  });

  test.each(["SIGINT", "SIGTERM"] as const)(
    "%s finishes the writes, removes daemon.json and exits with code 0",
    async signal => {
      await using daemon = await spawnDaemon();
      const client = await connectClient(daemon.url, daemon.ownerKey);
      await client.call("repo/add", { name: "shop", id: "shop" });
      const hours = Array.from({ length: 20 }, (_, hour) => hour);
      const sets = hours.map(hour => client.call("config/set", { repo: "shop", "svc.refresh_hour": hour }));
      const settled = Promise.allSettled(sets);
      await sets[0];
      expect(await daemon.end(signal)).toBe(0);
      await expect(access(join(daemon.homeFolder, "daemon.json"))).rejects.toThrow("ENOENT");
      const outcomes = await settled;
      const acknowledged = hours.filter(hour => {
        const outcome = outcomes[hour];
        return outcome?.status === "fulfilled" && outcome.value.errors.length === 0;
      });
      const text = await readFile(join(daemon.homeFolder, "repos/shop.json"), "utf8");
      const stored = Number(/"refresh_hour": (\d+)/.exec(text)?.[1]);
      expect(stored).toBeGreaterThanOrEqual(acknowledged.at(-1) ?? 0);
    },
  );

  test("requests that arrive during startup are answered and do not end the daemon, as one at the wrong moment once did", async () => {
    await using home = await temporaryFolder();
    const first = await spawnDaemon(["--port", "0"], home.path);
    const { host, port } = new URL(first.url);
    await first.end("SIGTERM");
    let isOver = false;
    let answered = 0;
    const ask = async () => {
      // The daemon may not be listening yet, or no longer.
      const request = `GET /livez HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`;
      while (!isOver) if ((await sendBytes(first.url, request)).includes("alive")) answered++;
    };
    const asking = Array.from({ length: 8 }, ask);
    for (let start = 0; start < 5; start++) {
      await using daemon = await spawnDaemon(["--port", port], home.path);
      expect(await daemon.end("SIGTERM")).toBe(0);
    }
    isOver = true;
    await Promise.all(asking);
    expect(answered).toBeGreaterThan(0);
  });

  test("an older Node gets an error of one line", async () => {
    const pretend = `data:text/javascript,Object.defineProperty(process.versions,"node",{value:"20.20.2"})`;
    const errorOutput = "repoconf needs Node 22.13 or newer, but this is Node 20.20.2.\n";
    const nodeArguments = ["--import", pretend];
    expect(await runRepoconf(["daemon"], { nodeArguments })).toEqual({ code: 1, output: "", errorOutput });
    const tool = await runProcess(process.execPath, [...nodeArguments, "examples/first-tool.mjs"]);
    expect(tool.errorOutput).toContain(`Error: ${errorOutput}`);
  });
});

test("the client built for web pages needs nothing from Node, and connects with URL and key", async () => {
  await using daemon = await spawnDaemon();
  const owner = await connectClient(daemon.url, daemon.ownerKey);
  await owner.call("repo/add", { name: "shop", id: "shop" });
  const built: string = join(projectFolder, "dist/browser/client.js");
  const { connect, RepoconfError }: typeof BrowserClient = await import(built);
  using client = await connect({ url: daemon.url, apiKey: daemon.ownerKey });
  await client.set("shop", { "svc.timeout": 12 });
  expect(await client.get("shop", "svc.timeout")).toBe(12);
  const refused = await connect({ url: daemon.url, apiKey: "wrong" }).catch((error: unknown) => error);
  expect(refused).toBeInstanceOf(RepoconfError);
  expect(refused).toMatchObject({ code: 1100 });
});

describe("the examples", () => {
  test("the TypeScript tool lists and sets", async () => {
    await using daemon = await spawnDaemon();
    const { code, output, errorOutput } = await runProcess(process.execPath, ["examples/tool.ts", daemon.homeFolder]);
    expect(errorOutput).toBe("");
    expect(code).toBe(0);
    expect(output).toContain(`"timeout":{"value":30`);
    expect(output).toContain("1103 Invalid Configuration Value");
    expect(output).toContain("1011 Unknown Configuration Field");
  });

  test("the Python tool lists, sets several fields, and gets 1006, 1007, 1008 and 1011", async ({ skip }) => {
    skip(python === undefined, "no python3-socketio");
    await using daemon = await spawnDaemon();
    const { code, output, errorOutput } = await runProcess(python ?? "", ["examples/tool.py", daemon.homeFolder]);
    expect(errorOutput).toBe("");
    expect(code).toBe(0);
    expect(output).toContain(`"timeout": {"value": 45`);
    for (const error of [
      "1006 No Repository ID Provided",
      "1007 No Configuration Fields Found",
      "1008 No Configuration Field Provided",
      "1011 Unknown Configuration Field",
    ]) {
      expect(output).toContain(error);
    }
  });
});

/** Sends 64 requests before it waits for a reply; prints the transport, and how many were answered. */
const program = `
import sys, threading
import socketio

url, key, transports = sys.argv[1:]
client = socketio.Client(reconnection=False)
client.connect(url, auth={"apiKey": key}, transports=transports.split(","), wait_timeout=60)
replies = threading.Semaphore(0)
for _ in range(64):
    client.emit("svc", ("scope", "list", {}), callback=lambda reply: replies.release())
answered = 0
while answered < 64 and replies.acquire(timeout=60):
    answered += 1
print(client.transport(), answered)
client.disconnect()
`;

test.for([
  ["polling", "polling"],
  ["websocket", "websocket"],
  ["polling,websocket", "websocket"],
] as const)(
  "64 requests at once of the usual Python client with the transports %s are all answered, over %s",
  async ([transports, used], { skip }) => {
    skip(python === undefined, "no python3-socketio");
    await using daemon = await spawnDaemon();
    const args = ["-c", program, daemon.url, daemon.ownerKey, transports];
    const { output, errorOutput } = await runProcess(python ?? "", args);
    expect(errorOutput).toBe("");
    expect(output).toBe(`${used} 64\n`);
  },
);
