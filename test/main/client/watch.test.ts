import { copyFile, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { connect, RepoconfClient, type WatchMessage } from "../../../main/client/client.ts";
import { startTestDaemon, until } from "../../helpers/daemon.ts";
import { temporaryFolder } from "../../helpers/temporary-folder.ts";

/** Takes what a watch yields until it ends; `ended` gives what it threw, if anything. */
function collect(watch: AsyncIterable<WatchMessage>): {
  readonly seen: WatchMessage[];
  readonly ended: Promise<unknown>;
} {
  const seen: WatchMessage[] = [];
  const take = async () => {
    for await (const message of watch) seen.push(message);
  };
  return {
    seen,
    ended: take().then(
      () => undefined,
      (error: unknown) => error,
    ),
  };
}

describe("client.watch ends", () => {
  test("when the client is closed", async () => {
    await using t = await startTestDaemon();
    const client = await connect({ home: t.homeFolder });
    const { ended } = collect(client.watch());
    await client.run("daemon/status", {});
    client.close();
    expect(await ended).toBeUndefined();
  });

  test("with the signal, and with one that was aborted before", async () => {
    await using t = await startTestDaemon();
    using client = await connect({ home: t.homeFolder });
    const stop = new AbortController();
    const { ended } = collect(client.watch(undefined, stop.signal));
    stop.abort();
    expect(await ended).toBeUndefined();
    expect(await collect(client.watch(undefined, AbortSignal.abort())).ended).toBeUndefined();
  });

  test("with 1100 when the key is revoked", async () => {
    await using t = await startTestDaemon();
    const { result } = await t.owner.call("key/create", {
      name: "tool",
      grants: [{ repos: "*", fields: ["*"], right: "read" }],
    });
    using client = await connect({ home: t.homeFolder, apiKey: result.key });
    const { ended } = collect(client.watch());
    await client.run("daemon/status", {});
    await t.owner.call("key/revoke", { id: result.id });
    expect(await ended).toMatchObject({ code: 1100 });
  });

  test("with 1102 when its repository is not there, also when it went while the connection was lost", async () => {
    await using t = await startTestDaemon();
    const repo = await t.addRepository();
    using client = await connect({ home: t.homeFolder });
    expect(await collect(client.watch("nowhere")).ended).toMatchObject({ code: 1102 });
    const { ended } = collect(client.watch(repo));
    await client.run("daemon/status", {});
    await t.owner.call("repo/remove", { repo });
    await t.restart();
    expect(await ended).toMatchObject({ code: 1102 });
  });
});

test("one watch that ends does not end another of the same client", async () => {
  await using t = await startTestDaemon();
  const repo = await t.addRepository();
  using client = await connect({ home: t.homeFolder });
  const stop = new AbortController();
  const all = collect(client.watch(undefined, stop.signal));
  const one = collect(client.watch(repo));
  await client.run("daemon/status", {});
  stop.abort();
  await all.ended;
  // The daemon answers in order, so the watch was begun anew before this.
  await client.run("daemon/status", {});
  await t.owner.call("config/set", { repo, "svc.timeout": 5 });
  await until(() => one.seen.length === 1, "the change");
});

test("after a lost connection a watch of everything tells what came and changed meanwhile, and nothing else", async () => {
  await using folder = await temporaryFolder();
  const file = (id: string) => join(folder.path, "repos", `${id}.json`);
  const first = await startTestDaemon({ home: folder.path });
  for (const id of ["edited", "stays"]) await first.addRepository(id);
  using client = await connect({ home: folder.path });
  const { seen } = collect(client.watch());
  await client.run("daemon/status", {});
  await first.addRepository("seen");
  await until(() => seen.length === 1, "the event");
  await first[Symbol.asyncDispose]();

  await writeFile(file("edited"), `{ "config": { "svc": { "timeout": 5 } } }`);
  await copyFile(file("stays"), file("new"));
  await using _second = await startTestDaemon({ home: folder.path });
  await until(() => seen.some(([resource]) => resource === "connection"), "the connection to come back");
  const resumed = seen.find(([resource]) => resource === "connection");
  expect(resumed?.[2]).toEqual({ changed: expect.arrayContaining(["edited", "new"]) });
  expect(resumed?.[2]).not.toEqual({ changed: expect.arrayContaining(["stays"]) });
  expect(resumed?.[2]).not.toEqual({ changed: expect.arrayContaining(["seen"]) });
});

test("a server that ends the connection before the handshake is done is 1200, and nothing hangs", async () => {
  const server = createServer(socket => socket.once("data", () => socket.destroy()));
  await new Promise<void>(resolve => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  const url = `http://127.0.0.1:${typeof address === "object" && address !== null ? address.port : 0}`;
  using client = new RepoconfClient({ locate: async () => ({ url, apiKey: "" }), timeout: 2_000 });
  await expect(client.connect()).rejects.toMatchObject({ code: 1200 });
  server.close();
});
