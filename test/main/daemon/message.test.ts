import { afterAll, describe, expect, test } from "vitest";
import type { Reply } from "../../../shared/protocol.ts";
import { startTestDaemon } from "../../helpers/daemon.ts";
import { holdCalls, isReplaced, watchFileSystem } from "../../helpers/file-system.ts";

describe("a message and its reply (spec 4; docs/protocol.md, message and reply)", async () => {
  const t = await startTestDaemon();
  afterAll(() => t[Symbol.asyncDispose]());

  test("the callback is called once, with one argument of result and errors", async () => {
    const calls: unknown[][] = [];
    t.owner.socket.emit("svc", "key", "self", {}, (...args: unknown[]) => void calls.push(args));
    await t.owner.call("daemon/status");
    await t.owner.call("daemon/status");
    expect(calls).toHaveLength(1);
    expect(calls[0]).toHaveLength(1);
    expect(Object.keys(calls[0]?.[0] as Reply).sort()).toEqual(["errors", "result"]);
  });

  test("omitted or null arguments count as {}", async () => {
    expect(await t.owner.emit("svc", "key", "self")).toMatchObject({ result: { name: "owner" }, errors: [] });
    expect(await t.owner.emit("svc", "key", "self", null)).toMatchObject({ result: { name: "owner" }, errors: [] });
    expect(await t.owner.emit("svc", "config", "list")).toMatchObject({ result: {}, errors: [{ code: 1006 }] });
    expect(await t.owner.emit("svc", "config", "set")).toMatchObject({ result: [], errors: [{ code: 1006 }] });
  });

  test("an error carries only its code, its name, its subject and a message that says what to do", async () => {
    const { errors } = await t.owner.call("repo/update", { repo: "nowhere", name: "x" });
    expect(errors).toEqual([
      { code: 1102, name: "Unknown Repository", message: expect.stringContaining("repo/list"), repo: "nowhere" },
    ]);
  });
});

test("daemon/status shows the owner the state of the daemon, and counts refusals", async () => {
  await using t = await startTestDaemon();
  await t.addRepository();
  await expect(t.connect("wrong")).rejects.toThrow("Unauthorized");
  const { result, errors } = await t.owner.call("daemon/status");
  expect(errors).toEqual([]);
  expect(result).toEqual({
    version: "0.0.0-test",
    protocol: 1,
    startedAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
    home: t.homeFolder,
    url: t.url,
    pid: process.pid,
    repositories: 1,
    sockets: 1,
    refusals: { key: 1 },
    problems: [],
    findings: [],
    variables: Object.keys(process.env).sort(),
  });
});

test("while the daemon stops, a write in progress is finished and answered, and a new request gets 1113", async () => {
  const fileSystem = watchFileSystem();
  await using t = await startTestDaemon({ fileSystem, repositories: ["shop"] });
  const write = holdCalls(fileSystem, isReplaced("shop"));
  const set = t.owner.call("config/set", { repo: "shop", flush: true, "svc.timeout": 5 });
  await write.begun;
  const closing = t.daemon.close();
  expect(await t.owner.call("key/self")).toMatchObject({ result: null, errors: [{ code: 1113 }] });
  write.release();
  expect(await set).toMatchObject({ result: [{ repo: "shop", revision: 2 }], errors: [] });
  await closing;
  expect(JSON.parse(await t.readRepository("shop"))).toMatchObject({ config: { svc: { timeout: 5 } } });
});
