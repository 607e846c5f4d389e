import { copyFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { realFileSystem } from "../../../main/files/file-system.ts";
import { startTestDaemon, until } from "../../helpers/daemon.ts";
import { connect } from "../../helpers/patient-client.ts";
import { temporaryFolder } from "../../helpers/temporary-folder.ts";

/** Collects what a watch yields until it ends; `ended` resolves to what it threw, if anything. */
function collect<Message>(watch: AsyncIterable<Message>): {
  readonly seen: Message[];
  readonly ended: Promise<unknown>;
} {
  const seen: Message[] = [];
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

test("a watch says when it begins: changes made from then on arrive", async () => {
  await using t = await startTestDaemon();
  const repo = await t.addRepository();
  using client = await connect({ home: t.homeFolder });
  for (const watched of [undefined, repo]) {
    const begun = Promise.withResolvers<void>();
    const stop = new AbortController();
    const options = { signal: stop.signal, onBegin: begun.resolve };
    const messages = watched === undefined ? client.watchEverything(options) : client.watch({ repo, ...options });
    const { seen, ended } = collect<unknown>(messages);
    await begun.promise;
    await t.owner.call("config/set", { repo, "svc.timeout": watched === undefined ? 4 : 5 });
    await until(() => seen.length > 0, "the change");
    stop.abort();
    await ended;
  }
});

describe("client.watch ends", () => {
  test("when the client is closed", async () => {
    await using t = await startTestDaemon();
    const client = await connect({ home: t.homeFolder });
    const { ended } = collect(client.watchEverything());
    await client.run("daemon/status", {});
    client.close();
    expect(await ended).toBeUndefined();
  });

  test("with the signal, even one that was aborted before", async () => {
    await using t = await startTestDaemon();
    using client = await connect({ home: t.homeFolder });
    const stop = new AbortController();
    const { ended } = collect(client.watchEverything({ signal: stop.signal }));
    stop.abort();
    expect(await ended).toBeUndefined();
    expect(await collect(client.watchEverything({ signal: AbortSignal.abort() })).ended).toBeUndefined();
  });

  test("with 1100 when the key is revoked, as every request then does", async () => {
    await using t = await startTestDaemon();
    const { result } = await t.owner.call("key/create", {
      name: "tool",
      grants: [{ repos: "*", fields: ["*"], right: "read" }],
    });
    using client = await connect({ home: t.homeFolder, apiKey: result.key });
    const { ended } = collect(client.watchEverything());
    await client.run("daemon/status", {});
    await t.owner.call("key/revoke", { id: result.id });
    expect(await ended).toMatchObject({ code: 1100 });
    await expect(client.run("key/self", {})).rejects.toMatchObject({ code: 1100 });
  });

  test("with 1102 when its repository does not exist, even if it was removed while the connection was lost", async () => {
    await using t = await startTestDaemon();
    const repo = await t.addRepository();
    using client = await connect({ home: t.homeFolder });
    expect(await collect(client.watch({ repo: "nowhere" })).ended).toMatchObject({ code: 1102 });
    const { ended } = collect(client.watch({ repo }));
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
  const all = collect(client.watchEverything({ signal: stop.signal }));
  const one = collect(client.watch({ repo }));
  await client.run("daemon/status", {});
  stop.abort();
  await all.ended;
  // The daemon answers in order, so the watch was started again before this.
  await client.run("daemon/status", {});
  await t.owner.call("config/set", { repo, "svc.timeout": 5 });
  await until(() => one.seen.length === 1, "the change");
});

test("after a lost connection a watch of everything reports what was changed, added and removed meanwhile", async () => {
  await using folder = await temporaryFolder();
  const file = (id: string) => join(folder.path, "repos", `${id}.json`);
  const first = await startTestDaemon({ home: folder.path });
  for (const id of ["edited", "goes", "stays"]) await first.addRepository(id);
  using client = await connect({ home: folder.path });
  const { seen } = collect(client.watchEverything());
  await client.run("daemon/status", {});
  await first.addRepository("seen");
  await until(() => seen.length === 1, "the event");
  await first.owner.call("config/watch");
  await first[Symbol.asyncDispose]();

  await writeFile(file("edited"), `{ "config": { "svc": { "timeout": 5 } } }`);
  await copyFile(file("stays"), file("new"));
  await using second = await startTestDaemon({ home: folder.path });
  await until(() => seen.some(([resource]) => resource === "config"), "the change");
  await second.owner.call("config/set", { repo: "stays", "svc.timeout": 6 });
  await until(() => seen.length === 5, "the next change");
  expect(seen.slice(1)).toMatchObject([
    ["connection", "lost", {}],
    ["connection", "resumed", { lost: ["new"] }],
    ["config", "changed", { repo: "edited", revision: 2, source: "file", changes: { svc: { timeout: { value: 5 } } } }],
    ["config", "changed", { repo: "stays", revision: 2, source: "set" }],
  ]);
});

test("a watch since a revision first yields what came after it, and each of two watches gets each change once", async () => {
  await using t = await startTestDaemon();
  const repo = await t.addRepository("shop");
  const other = await t.addRepository("other");
  for (const timeout of [1, 2, 3]) await t.owner.call("config/set", { repo, "svc.timeout": timeout });
  using client = await connect({ home: t.homeFolder });
  const early = collect(client.watch({ repo, since: 1 }));
  await until(() => early.seen.length === 3, "the past");
  const late = collect(client.watch({ repo: [repo, other], since: { [repo]: 2, [other]: 1 } }));
  await until(() => late.seen.length === 2, "the past of the second");
  await t.owner.call("config/set", { repo: [repo, other], "svc.timeout": 4 });
  await until(() => early.seen.length === 4 && late.seen.length === 4, "the change");
  expect(early.seen.map(({ revision }) => revision)).toEqual([2, 3, 4, 5]);
  const revisions = (id: string) => late.seen.filter(change => change.repo === id).map(({ revision }) => revision);
  expect([revisions(repo), revisions(other)]).toEqual([[3, 4, 5], [2]]);
});

test("a watch requested from a stopping daemon begins with the next one, and a running watch continues with the next one", async () => {
  const gate = Promise.withResolvers<void>();
  let held: "no" | "next" | "yes" = "no";
  await using t = await startTestDaemon({
    fileSystem: {
      ...realFileSystem,
      replace: async (...args) => {
        if (held === "next") {
          held = "yes";
          await gate.promise;
        }
        return realFileSystem.replace(...args);
      },
    },
  });
  const repo = await t.addRepository("shop");
  using client = await connect({ home: t.homeFolder });
  using other = await connect({ home: t.homeFolder });
  const stop = new AbortController();
  const everything = collect(client.watchEverything({ signal: stop.signal }));
  const goingOn = collect(client.watch({ repo, since: 1 }));
  await t.owner.call("config/set", { repo, "svc.timeout": 4 });
  await until(() => goingOn.seen.length > 0 && everything.seen.length > 0, "both watches");
  held = "next";
  const set = other.request("config/set", { repo, flush: true, "svc.timeout": 5 });
  await until(() => held === "yes", "the write to begin");
  const closing = t.daemon.close();
  expect(await t.owner.call("key/self")).toMatchObject({ errors: [{ code: 1113 }] });
  const asked = collect(other.watch({ repo, since: 1 }));
  // The daemon forgets all watches of the connection, so the other one is requested again.
  stop.abort();
  await everything.ended;
  gate.resolve();
  // The client's earlier request is still answered.
  expect(await set).toMatchObject({ result: [{ revision: 3 }], errors: [] });
  await closing;
  await t.restart();
  for (const { seen, ended } of [asked, goingOn]) {
    await until(() => seen.length > 1, "the change");
    expect(seen.map(({ revision }) => revision)).toEqual([2, 3]);
    expect(await Promise.race([ended, "goes on"])).toBe("goes on");
  }
});

test("a second watch of the same repository does not interrupt the first one's catch-up", async () => {
  await using t = await startTestDaemon();
  const repo = await t.addRepository("shop");
  const image = (count: number) => `${count}`.padEnd(200_000, "x");
  for (let count = 0; count < 40; count += 1)
    await t.owner.call("config/set", { repo, "svc.services": { big: { ready: "", image: image(count) } } });
  using client = await connect({ home: t.homeFolder });
  const seen: number[] = [];
  const first = (async () => {
    for await (const { revision } of client.watch({ repo, since: 1 })) {
      seen.push(revision);
      if (revision === 42) return;
    }
  })();
  await until(() => seen.length > 2, "the first changes");
  const stop = new AbortController();
  const second = (async () => {
    for await (const _change of client.watch({ repo, signal: stop.signal }));
  })();
  await client.run("daemon/status", {});
  await t.owner.call("config/set", { repo, "svc.timeout": 5 });
  await first;
  stop.abort();
  await second;
  expect(seen).toEqual(Array.from({ length: 41 }, (_, index) => index + 2));
});
