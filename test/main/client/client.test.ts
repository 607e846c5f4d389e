import { unlink, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { join } from "node:path";
import { describe, expect, expectTypeOf, test, vi } from "vitest";
import { type ConfigChanged, RepoconfClient, type RepoconfError } from "../../../main/client/client.ts";
import { locateDaemon } from "../../../main/client/locate.ts";
import { startTestDaemon, until } from "../../helpers/daemon.ts";
import { patience } from "../../helpers/patience.ts";
import { connect } from "../../helpers/patient-client.ts";

describe("the typed client", () => {
  test("finds the daemon by its home, takes the owner's key, and reads and writes typed values", async () => {
    await using t = await startTestDaemon();
    const repo = await t.addRepository("shop");
    using client = await connect({ home: t.homeFolder });
    const changed = await client.set(repo, { "svc.timeout": 30, "svc.proxy_aliases": ["a.test"] });
    expect(changed).toMatchObject({ repo, revision: 2 });
    const timeout = await client.get(repo, "svc.timeout");
    expectTypeOf(timeout).toEqualTypeOf<number>();
    expect(timeout).toBe(30);
    const { svc } = await client.list(repo);
    expectTypeOf(svc.envvars).toEqualTypeOf<{ name: string; value: string }[]>();
    expect(svc.proxy_aliases).toEqual(["a.test"]);
    await client.unset(repo, ["svc.timeout"]);
    expect(await client.get(repo, "svc.timeout")).toBe(900);
  });

  test("a value of the wrong type or a field that does not exist does not compile", () => {
    type Set = RepoconfClient["set"];
    const call = (set: Set) => {
      void set("shop", { "svc.timeout": 30 });
      // @ts-expect-error: svc.timeout is a number
      void set("shop", { "svc.timeout": "30" });
      // @ts-expect-error: there is no such field
      void set("shop", { "svc.timeot": 30 });
    };
    expect(call).toBeTypeOf("function");
  });

  test("a refusal throws one error with its code, its field and the whole reply; what was not refused is done", async () => {
    await using t = await startTestDaemon();
    const repo = await t.addRepository("shop");
    using client = await connect({ home: t.homeFolder });
    const failure = client.set(repo, { "svc.timeout": -1, "svc.refresh_hour": 5 });
    await expect(failure).rejects.toMatchObject({
      code: 1103,
      field: "svc.timeout",
      reply: { result: [{ repo, revision: 2 }] },
    });
    expect(await client.get(repo, "svc.refresh_hour")).toBe(5);
  });

  test("without a daemon it throws 1200, and the message says how to start one", async () => {
    await using t = await startTestDaemon();
    const error: RepoconfError = await connect({ home: join(t.homeFolder, "elsewhere") }).catch(error => error);
    expect(error).toMatchObject({ code: 1200, message: expect.stringContaining("repoconf daemon") });
  });

  test("a key comes from the argument, the file, REPOCONF_API_KEY or the home, in this order; a wrong one gives 1100", async () => {
    await using t = await startTestDaemon();
    const { result } = await t.owner.call("key/create", { name: "tool", grants: [] });
    const keyFile = join(t.homeFolder, "tool.key");
    await writeFile(keyFile, `${result.key}\n`);
    const nameWith = async (options: { apiKey?: string; keyFile?: string }) => {
      using client = await connect({ home: t.homeFolder, ...options });
      return (await client.run("key/self", {})).name;
    };
    expect(await nameWith({})).toBe("owner");
    expect(await nameWith({ keyFile })).toBe("tool");
    expect(await nameWith({ keyFile, apiKey: t.ownerKey })).toBe("owner");
    vi.stubEnv("REPOCONF_API_KEY", result.key);
    try {
      expect(await nameWith({})).toBe("tool");
    } finally {
      vi.unstubAllEnvs();
    }
    await expect(nameWith({ apiKey: "repoconf_wrong" })).rejects.toMatchObject({ code: 1100 });
    await expect(nameWith({ keyFile: join(t.homeFolder, "none") })).rejects.toMatchObject({ code: 1100 });
  });

  test("a stranger on the daemon's port never gets a key", async () => {
    await using t = await startTestDaemon();
    const asked: string[] = [];
    const stranger = createServer((request, response) => {
      asked.push(`${request.url} ${JSON.stringify(request.headers)}`);
      response.end("0".repeat(64));
    });
    await new Promise<void>(resolve => stranger.listen(0, "127.0.0.1", resolve));
    try {
      const address = stranger.address();
      const port = typeof address === "object" && address !== null ? address.port : 0;
      const endpoint = {
        protocol: 1,
        version: "1",
        pid: 1,
        startedAt: "",
        instanceId: "",
        instanceSecret: "s",
        url: `http://127.0.0.1:${port}`,
      };
      await writeFile(join(t.homeFolder, "daemon.json"), JSON.stringify(endpoint));
      await expect(connect({ home: t.homeFolder })).rejects.toMatchObject({ code: 1200 });
      expect(asked).toHaveLength(1);
      expect(asked.join()).not.toContain(t.ownerKey);
    } finally {
      stranger.close();
    }
  });

  test("another protocol number is refused with a message that names repoconf restart", async () => {
    await using t = await startTestDaemon();
    const { endpoint } = await locateDaemon({ home: t.homeFolder });
    await writeFile(join(t.homeFolder, "daemon.json"), JSON.stringify({ ...endpoint, protocol: 2 }));
    await expect(connect({ home: t.homeFolder })).rejects.toMatchObject({
      code: 1200,
      message: expect.stringContaining("repoconf restart"),
    });
  });

  test("reconnects automatically after a restart on another port, and requests made meanwhile are answered", async () => {
    await using t = await startTestDaemon();
    const repo = await t.addRepository("shop");
    using client = await connect({ home: t.homeFolder });
    const before = t.url;
    const restarted = t.restart();
    await until(() => t.url !== before || t.log.some(line => line.includes("stopping")), "the restart");
    await restarted;
    expect(await client.get(repo, "svc.timeout")).toBe(900);
  });

  test("waits for a key's file that is missing while the connection is lost", async () => {
    await using t = await startTestDaemon();
    const repo = await t.addRepository("shop");
    const where = { home: t.homeFolder, keyFile: join(t.homeFolder, "tool.key") };
    await writeFile(where.keyFile, t.ownerKey);
    let tries = 0;
    using client = new RepoconfClient({
      timeout: patience,
      locate: () => {
        tries += 1;
        return locateDaemon(where);
      },
    });
    expect(await client.get(repo, "svc.timeout")).toBe(900);
    await unlink(where.keyFile);
    await t.restart();
    const asked = client.get(repo, "svc.timeout");
    await until(() => tries > 2, "it to look again");
    await writeFile(where.keyFile, t.ownerKey);
    expect(await asked).toBe(900);
  });

  test("gives up with 1100 once its key is revoked", async () => {
    await using t = await startTestDaemon();
    const { result } = await t.owner.call("key/create", {
      name: "tool",
      grants: [{ repos: "*", fields: ["*"], right: "read" }],
    });
    using client = await connect({ home: t.homeFolder, apiKey: result.key });
    await t.owner.call("key/revoke", { id: result.id });
    await until(
      async () =>
        (await client.run("key/self", {}).then(
          () => 0,
          (error: RepoconfError) => error.code,
        )) === 1100,
      "1100",
    );
  });
});

describe("client.watch", () => {
  test("yields each change in order, and resumes where it was after a restart of the daemon", async () => {
    await using t = await startTestDaemon();
    const repo = await t.addRepository("shop");
    using client = await connect({ home: t.homeFolder });
    const stop = new AbortController();
    const seen: ConfigChanged[] = [];
    const watching = (async () => {
      for await (const change of client.watch({ repo, signal: stop.signal })) seen.push(change);
    })();
    const set = async (hour: number) => {
      const reply = await t.owner.call("config/set", { repo, "svc.refresh_hour": hour });
      expect(reply.errors).toEqual([]);
    };
    const hours = () => seen.map(({ changes }) => changes["svc"]?.["refresh_hour"]?.value);
    await until(async () => {
      await set(20);
      await set(21);
      return seen.length > 0;
    }, "the watch to begin");
    const { revision } = await t.owner.call("config/list", { repo });
    await until(() => seen.at(-1)?.revision === revision, "the last of these changes");
    seen.length = 0;
    for (const hour of [1, 2, 3]) await set(hour);
    await until(() => seen.length === 3, "three changes");
    expect(hours()).toEqual([1, 2, 3]);

    await t.restart();
    // Whether or not the watch is back by now.
    await set(4);
    await until(() => seen.length === 4, "a change after the restart");
    expect(hours()).toEqual([1, 2, 3, 4]);
    stop.abort();
    await watching;
  });
});
