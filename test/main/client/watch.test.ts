import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { copyFile, rename, writeFile } from "node:fs/promises";
import type { Socket } from "node:net";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { Watch } from "../../../shared/client/watch.ts";
import { limits } from "../../../shared/limits.ts";
import type { EventMessage } from "../../../shared/protocol.ts";
import { collectWatch } from "../../helpers/collect-watch.ts";
import { startTestDaemon, until } from "../../helpers/daemon.ts";
import { watchConnections } from "../../helpers/daemon-connections.ts";
import { holdCalls, isReplaced, watchFileSystem } from "../../helpers/file-system.ts";
import { patience } from "../../helpers/patience.ts";
import { connect } from "../../helpers/patient-client.ts";
import { temporaryFolder } from "../../helpers/temporary-folder.ts";

const repo = "shop";

test("a watch says when it begins: changes made from then on arrive", async () => {
  await using t = await startTestDaemon({ repositories: [repo] });
  using client = await connect({ home: t.homeFolder });
  for (const watched of [undefined, repo]) {
    const begun = Promise.withResolvers<void>();
    const stop = new AbortController();
    const options = { signal: stop.signal, onBegin: begun.resolve };
    const messages = watched === undefined ? client.watchEverything(options) : client.watch({ repo, ...options });
    const { seen, ended } = collectWatch<unknown>(messages);
    await begun.promise;
    await t.owner.call("config/set", { repo, "svc.timeout": watched === undefined ? 4 : 5 });
    await until(() => seen.length > 0, "the change");
    stop.abort();
    await ended;
  }
});

describe("client.watch ends", () => {
  test("with the signal, even one that was aborted before, and when the client is closed", async () => {
    await using t = await startTestDaemon();
    const client = await connect({ home: t.homeFolder });
    const stop = new AbortController();
    const [stopped, closed] = [{ signal: stop.signal }, {}].map(options =>
      collectWatch(client.watchEverything(options)),
    );
    stop.abort();
    expect(await stopped?.ended).toBeUndefined();
    expect(await collectWatch(client.watchEverything({ signal: AbortSignal.abort() })).ended).toBeUndefined();
    await client.run("daemon/status", {});
    client.close();
    expect(await closed?.ended).toBeUndefined();
  });

  test("with 1100 when the key is revoked, as every request then does", async () => {
    await using t = await startTestDaemon();
    const grants = [{ repos: "*", fields: ["*"], right: "read" }];
    const { result } = await t.owner.call("key/create", { name: "tool", grants });
    using client = await connect({ home: t.homeFolder, apiKey: result.key });
    const { ended } = collectWatch(client.watchEverything());
    await client.run("daemon/status", {});
    await t.owner.call("key/revoke", { id: result.id });
    expect(await ended).toMatchObject({ code: 1100 });
    await expect(client.run("key/self", {})).rejects.toMatchObject({ code: 1100 });
  });

  test("with 1102 when its repository does not exist, even if it was removed while the connection was lost", async () => {
    await using t = await startTestDaemon({ repositories: [repo] });
    using client = await connect({ home: t.homeFolder });
    expect(await collectWatch(client.watch({ repo: "nowhere" })).ended).toMatchObject({ code: 1102 });
    const { ended } = collectWatch(client.watch({ repo }));
    await client.run("daemon/status", {});
    await t.owner.call("repo/remove", { repo });
    await t.restart();
    expect(await ended).toMatchObject({ code: 1102 });
  });
});

test("after a lost connection a watch of everything reports what was changed, added and removed meanwhile", async () => {
  await using folder = await temporaryFolder();
  const file = (id: string) => join(folder.path, "repos", `${id}.json`);
  const first = await startTestDaemon({ home: folder.path });
  for (const id of ["edited", "goes", "stays"]) await first.addRepository(id);
  using client = await connect({ home: folder.path });
  const { seen } = collectWatch(client.watchEverything());
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

test("a watch requested from a stopping daemon begins with the next one, and a running watch continues with the next one", async () => {
  const fileSystem = watchFileSystem();
  await using t = await startTestDaemon({ fileSystem, repositories: [repo] });
  using client = await connect({ home: t.homeFolder });
  using other = await connect({ home: t.homeFolder });
  const stop = new AbortController();
  const everything = collectWatch(client.watchEverything({ signal: stop.signal }));
  const goingOn = collectWatch(client.watch({ repo, since: 1 }));
  await t.owner.call("config/set", { repo, "svc.timeout": 4 });
  await until(() => goingOn.seen.length > 0 && everything.seen.length > 0, "both watches");
  const write = holdCalls(fileSystem, isReplaced(repo));
  const set = other.request("config/set", { repo, flush: true, "svc.timeout": 5 });
  await write.begun;
  const closing = t.daemon.close();
  expect(await t.owner.call("key/self")).toMatchObject({ errors: [{ code: 1113 }] });
  const asked = collectWatch(other.watch({ repo, since: 1 }));
  // The daemon forgets all watches of the connection, so the other one is requested again.
  stop.abort();
  await everything.ended;
  write.release();
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
  await using t = await startTestDaemon({ repositories: [repo] });
  const image = (count: number) => `${count}`.padEnd(200_000, "x");
  for (let count = 0; count < 40; count += 1)
    await t.owner.call("config/set", { repo, "svc.services": { big: { ready: "", image: image(count) } } });
  using client = await connect({ home: t.homeFolder });
  const first = collectWatch(client.watch({ repo, since: 1 }));
  await until(() => first.seen.length > 2, "the first changes");
  const second = collectWatch(client.watch({ repo }));
  await client.run("daemon/status", {});
  await t.owner.call("config/set", { repo, "svc.timeout": 5 });
  await until(() => first.seen.at(-1)?.revision === 42, "the last change");
  client.close();
  await Promise.all([first.ended, second.ended]);
  expect(first.seen.map(({ revision }) => revision)).toEqual(Array.from({ length: 41 }, (_, index) => index + 2));
});

test("a watch that was away for longer than history is kept ends with 1110; a watch of everything reports what it lost", async () => {
  await using t = await startTestDaemon({ repositories: [repo] });
  const other = await t.addRepository("other");
  await writeFile(join(t.homeFolder, "settings.json"), `{ "history": { "revisions": 5 } }`);
  await t.restart();
  using connections = watchConnections();
  using client = await connect({ home: t.homeFolder });
  using everything = await connect({ home: t.homeFolder });
  const { seen, ended } = collectWatch(client.watch({ repo }));
  const { seen: messages } = collectWatch(everything.watchEverything());
  let timeout = 0;
  await until(async () => {
    await t.owner.call("config/set", { repo, "svc.timeout": ++timeout });
    return seen.length > 0 && messages.length > 0;
  }, "both watches to begin");
  // Without the endpoint's file no client can reconnect.
  const endpoint = join(t.homeFolder, "daemon.json");
  await rename(endpoint, `${endpoint}.away`);
  connections.cut();
  const begin = messages.length;
  for (let more = 0; more < 30; more++) await t.owner.call("config/set", { repo, "svc.timeout": ++timeout });
  await t.owner.call("config/set", { repo: other, "svc.timeout": 7 });
  await rename(`${endpoint}.away`, endpoint);
  expect(await ended).toMatchObject({ code: 1110 });
  const rest = () =>
    messages.slice(begin).filter(([resource, , payload]) => resource !== "config" || payload.repo === other);
  await until(() => rest().length === 3, "what was not lost");
  expect(rest()).toMatchObject([
    ["connection", "lost", {}],
    ["connection", "resumed", { lost: [repo] }],
    ["config", "changed", { repo: other, revision: 2, changes: { svc: { timeout: { value: 7 } } } }],
  ]);
});

test("a watch whose connection is lost before its first reply begins with the next connection", async () => {
  await using t = await startTestDaemon({ repositories: [repo] });
  using connections = watchConnections();
  using client = await connect({ home: t.homeFolder });
  const next = client.watch({ repo, since: 1 }).next();
  connections.cut();
  await t.owner.call("config/set", { repo, "svc.timeout": 5 });
  expect(await next).toMatchObject({ value: { revision: 2, changes: { svc: { timeout: { value: 5 } } } } });
});

const changed = (repo: string, revision: number): EventMessage => [
  "config",
  "changed",
  { repo, revision, time: "", actor: "owner", source: "set", changes: {} },
];

test("changes that arrive before the lost repositories are known follow the message that the connection is resumed", async () => {
  const watch = new Watch(undefined);
  watch.begin({ revisions: { shop: 1, tree: 1 }, position: "one" });
  watch.lose();
  watch.hold();
  watch.take(changed("shop", 2));
  // The connection is lost again: the daemon sends the same once more.
  watch.lose();
  watch.hold();
  watch.take(changed("shop", 2));
  watch.resume({ revisions: { shop: 2, tree: 9 } }, new Set(["tree"]));
  watch.take(changed("tree", 9));
  watch.take(changed("tree", 10));
  watch.end();
  const messages: unknown[] = [];
  for await (const message of watch.messages()) messages.push(message);
  expect(messages).toEqual([
    ["connection", "lost", {}],
    ["connection", "resumed", { lost: ["tree"] }],
    changed("shop", 2),
    changed("tree", 10),
  ]);
});

describe("a connection that is cut again and again while past changes are sent", () => {
  /** Repositories with one large change each since a position. */
  async function makePast(count: number) {
    const stack = new AsyncDisposableStack();
    const text = { type: "string", title: "Text", description: "A text.", default: "" };
    const scope = { type: "object", title: "Own", description: "A scope.", properties: { text } };
    const files = { "scopes/own.schema.json": scope };
    const repositories = Array.from({ length: count }, (_, index) => `shop-${index}`);
    const t = stack.use(await startTestDaemon({ files, repositories }));
    const { position = "" } = (await t.owner.call("config/watch")).result;
    for (const id of repositories) await t.owner.call("config/set", { repo: id, "own.text": "x".repeat(100_000) });
    const sockets = new Set<Socket>();
    const note = (message: unknown) => void sockets.add((message as { readonly socket: Socket }).socket);
    subscribe("net.client.socket", note);
    stack.defer(() => void unsubscribe("net.client.socket", note));
    const client = stack.use(await connect({ home: t.homeFolder }));
    const stop = new AbortController();
    const watched = collectWatch(client.watchEverything({ position, signal: stop.signal }));
    stack.defer(() => stop.abort());
    const changed = () => watched.seen.flatMap(message => (message[0] === "config" ? [message[2].repo] : []));
    const dispose = () => stack.disposeAsync();
    /** Cuts every connection over which a megabyte has arrived, until the condition holds. */
    const cutUntil = async (condition: () => boolean, what: string) => {
      const end = Date.now() + patience;
      for (; !condition(); await new Promise(setImmediate)) {
        if (Date.now() > end) throw new Error(`waited in vain for ${what}`);
        for (const socket of sockets) if (socket.bytesRead > 1_000_000) socket.destroy();
      }
    };
    return { t, repositories, watched, changed, cutUntil, [Symbol.asyncDispose]: dispose };
  }

  test("goes on where each one ended, and every change arrives once", async () => {
    await using past = await makePast(40);
    await past.cutUntil(() => new Set(past.changed()).size === 40, "all changes");
    expect(past.changed().sort()).toEqual([...past.repositories].sort());
  });

  test("is told to list again if the daemon cannot be told how far it is", async () => {
    await using past = await makePast(60);
    const lost = () =>
      past.watched.seen.flatMap(([resource, event, payload]) =>
        resource === "connection" && event === "resumed" ? payload.lost : [],
      );
    const { messageBytes } = limits;
    // Not even twenty ids.
    Object.assign(limits, { messageBytes: 1_500 });
    try {
      await past.cutUntil(() => lost().length > 0, "the lost repositories");
    } finally {
      Object.assign(limits, { messageBytes });
    }
    expect(lost().sort()).toEqual([...past.repositories].sort());
    const before = past.changed().length;
    await past.t.owner.call("config/set", { repo: "shop-7", "svc.timeout": 7 });
    await until(() => past.changed().length > before, "the next change");
    expect(past.changed().at(-1)).toBe("shop-7");
  });
});
