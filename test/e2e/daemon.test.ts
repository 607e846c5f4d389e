import { access, readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { connectClient } from "../helpers/daemon.ts";
import { python } from "../helpers/python.ts";
import { runProcess, runRepoconf, spawnDaemon } from "../helpers/spawned-daemon.ts";

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
    client.socket.close();
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
      client.socket.close();
    },
  );

  test("an unknown option exits with code 2", async () => {
    const { code, errorOutput } = await runRepoconf(["daemon", "--prot", "1"]);
    expect(code).toBe(2);
    expect(errorOutput).toContain("--port");
  });

  test("an older Node gets an error of one line", async () => {
    const pretend = `data:text/javascript,Object.defineProperty(process.versions,"node",{value:"20.20.2"})`;
    const { code, errorOutput } = await runRepoconf(["daemon"], { nodeArguments: ["--import", pretend] });
    expect(code).toBe(1);
    expect(errorOutput).toBe("repoconf needs Node 24 or newer, but this is Node 20.20.2.\n");
  });
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

  test.skipIf(python === undefined)(
    python === undefined
      ? "skipped: no python3-socketio: the Python tool"
      : "the Python tool lists, sets several fields, and gets 1006, 1007, 1008 and 1011",
    async () => {
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
    },
  );
});
