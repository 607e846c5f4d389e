import { Server } from "socket.io";
import { afterEach, expect, test, vi } from "vitest";
import { RepoconfClient } from "../../../main/client/client.ts";
import { until } from "../../helpers/daemon.ts";

afterEach(() => void vi.useRealTimers());

/** A client of a server that proves the key and then sends what the test wants. The test controls its timer from now on. */
async function connectToSlowDaemon(options: { readonly timeout?: number } = {}) {
  const server = new Server(0);
  const credentials = { keyId: "", sign: () => "proven" };
  const asked = Promise.withResolvers<(reply: object) => void>();
  server.on("connection", socket => {
    socket.emit("svc", "session", "proven");
    socket.onAny((...message: unknown[]) => asked.resolve(message.at(-1) as (reply: object) => void));
  });
  const address = server.httpServer.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  const reported: unknown[] = [];
  const client = new RepoconfClient({
    ...options,
    locate: async () => ({ url: `http://127.0.0.1:${port}`, credentials }),
    onIndexing: progress => void reported.push(progress),
  });
  await client.connect();
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  const say = async (progress: object) => {
    const before = reported.length;
    server.emit("svc", "daemon", "indexing", progress);
    await until(() => reported.length > before, "the client to hear of it");
  };
  const close = async () => {
    client.close();
    await server.close();
  };
  return { client, asked: asked.promise, reported, say, [Symbol.asyncDispose]: close };
}

test("a request waits as long as the daemon reports that its indexing continues", async () => {
  await using t = await connectToSlowDaemon();
  const list = t.client.run("repo/list", {});
  const reply = await t.asked;
  for (let done = 1; done <= 5; done++) {
    vi.advanceTimersByTime(9_000);
    await t.say({ done, total: 5 });
  }
  vi.advanceTimersByTime(9_000);
  reply({ result: [], errors: [] });
  expect(await list).toEqual([]);
  expect(t.reported.slice(-2)).toEqual([{ done: 5, total: 5 }, undefined]);
});

test.each([
  ["ten seconds", "repo/list", {}, 10_000],
  ["the `timeout` of the client", "repo/list", { timeout: 40_000 }, 40_000],
  ["a minute, if it may have to read all values", "config/search", {}, 60_000],
  ["a minute, if it may have to read all values", "config/matrix", {}, 60_000],
] as const)("a request fails with 1201 when nothing has arrived for %s: %s", async (_title, name, options, timeout) => {
  await using t = await connectToSlowDaemon(options);
  const request = name === "repo/list" ? t.client.run(name, {}) : t.client.run(name, { query: "timeout" });
  const refused = expect(request).rejects.toMatchObject({ code: 1201, message: expect.stringContaining("not known") });
  await t.asked;
  vi.advanceTimersByTime(timeout - 1);
  // Nothing has failed yet: the time starts again.
  await t.say({});
  vi.advanceTimersByTime(timeout - 1);
  await t.say({});
  vi.advanceTimersByTime(timeout);
  await refused;
  expect(t.reported.at(-1)).toBeUndefined();
});

test("a request that waits when the connection is lost immediately fails with 1201", async () => {
  await using t = await connectToSlowDaemon();
  const list = t.client.run("repo/list", {});
  const refused = expect(list).rejects.toMatchObject({ code: 1201 });
  await t.asked;
  t.client.close();
  await refused;
});
