import { createHash } from "node:crypto";
import { once } from "node:events";
import { unlink, writeFile } from "node:fs/promises";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import type { Duplex } from "node:stream";
import { describe, expect, expectTypeOf, test, vi } from "vitest";
import { RepoconfClient } from "../../../main/client/client.ts";
import { locateDaemon } from "../../../main/client/locate.ts";
import { keyCredentials } from "../../../main/home/credentials.ts";
import { startTestDaemon, until } from "../../helpers/daemon.ts";
import { patience } from "../../helpers/patience.ts";
import { connect } from "../../helpers/patient-client.ts";

const repo = "shop";

describe("the typed client", () => {
  test("finds the daemon by its home, takes the owner's key, and reads and writes typed values", async () => {
    await using t = await startTestDaemon({ repositories: [repo] });
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
    await using t = await startTestDaemon({ repositories: [repo] });
    using client = await connect({ home: t.homeFolder });
    const failure = client.set(repo, { "svc.timeout": -1, "svc.refresh_hour": 5 });
    await expect(failure).rejects.toMatchObject({
      code: 1103,
      field: "svc.timeout",
      reply: { result: [{ repo, revision: 2 }] },
    });
    expect(await client.get(repo, "svc.refresh_hour")).toBe(5);
  });

  test("a message that the daemon would not read is refused with the reason and not sent, and the connection goes on", async () => {
    await using t = await startTestDaemon({ repositories: [repo] });
    using client = await connect({ home: t.homeFolder });
    const given = 4_000_000;
    const argument = { repo, "svc.domain": "" };
    argument["svc.domain"] = "x".repeat(given - JSON.stringify(argument).length);
    const failure = { code: 1107, details: { given, limit: 1_000_000 } };
    await expect(client.request("config/set", argument)).rejects.toMatchObject(failure);
    argument["svc.domain"] = argument["svc.domain"].slice(100);
    const { errors } = await client.request("config/set", argument);
    expect(errors).toMatchObject([{ ...failure, details: { given: given - 100 } }]);
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

  test("without a daemon, or with one of another protocol number, it throws 1200 and says which command helps", async () => {
    await using t = await startTestDaemon();
    const { endpoint } = await locateDaemon({ home: t.homeFolder });
    await writeFile(join(t.homeFolder, "daemon.json"), JSON.stringify({ ...endpoint, protocol: 2 }));
    for (const [home, command] of [
      [join(t.homeFolder, "elsewhere"), "repoconf daemon"],
      [t.homeFolder, "repoconf restart"],
    ] as const)
      await expect(connect({ home })).rejects.toMatchObject({ code: 1200, message: expect.stringContaining(command) });
  });

  test("reconnects automatically after a restart on another port, and requests made meanwhile are answered", async () => {
    await using t = await startTestDaemon({ repositories: [repo] });
    using client = await connect({ home: t.homeFolder });
    const before = t.url;
    const restarted = t.restart();
    await until(() => t.url !== before || t.log.some(line => line.includes("stopping")), "the restart");
    await restarted;
    expect(await client.get(repo, "svc.timeout")).toBe(900);
  });

  test("waits for a key's file that is missing while the connection is lost", async () => {
    await using t = await startTestDaemon({ repositories: [repo] });
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
});

/** Accepts websockets and closes them before Engine.IO's first packet, like a daemon killed at that moment. */
async function startDyingServer() {
  let connections = 0;
  const server = createServer();
  server.on("upgrade", (request: IncomingMessage, socket: Duplex) => {
    connections++;
    const accept = createHash("sha1")
      .update(`${request.headers["sec-websocket-key"]}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`)
      .digest("base64");
    const head = `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accept}`;
    socket.end(`${head}\r\n\r\n`);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    get connections() {
      return connections;
    },
    [Symbol.dispose]: () => void server.close(),
  };
}

// Longer than a test may take, so no test can pass by waiting for it.
const timeout = 3_600_000;

const anybody = { keyId: "", sign: () => "" };

test("a first connection lost during the handshake fails immediately", async () => {
  using dying = await startDyingServer();
  using client = new RepoconfClient({ timeout, locate: async () => ({ url: dying.url, credentials: anybody }) });
  await expect(client.connect()).rejects.toMatchObject({ code: 1200 });
});

test("a reconnection lost during the handshake is retried immediately", async () => {
  await using t = await startTestDaemon();
  using dying = await startDyingServer();
  const repo = await t.addRepository();
  const urls = [t.url, dying.url, dying.url];
  const locate = async () => ({ url: urls.shift() ?? t.url, credentials: keyCredentials(t.ownerKey) });
  using client = new RepoconfClient({ timeout, locate });
  await client.connect();
  await t.restart();
  await client.get(repo, "svc.timeout");
  expect(dying.connections).toBe(2);
});
