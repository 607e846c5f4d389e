import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startTestDaemon, type TestClient, type TestDaemon } from "../../helpers/daemon.ts";

let t: TestDaemon;
beforeAll(async () => {
  t = await startTestDaemon();
});
afterAll(() => t[Symbol.asyncDispose]());

const args = { repo: "the repository", "svc.timeout": 1 };

test.each<[string, unknown[]]>([
  ["another operation", ["svc", "config", "lst", args]],
  ["another namespace", ["svcs", "config", "list", args]],
  ["capital letters", ["SVC", "Config", "List", args]],
  ["an empty namespace", ["", "config", "list", args]],
  ["no operation", ["svc", "config"]],
  ["arguments in place of the operation", ["svc", "config", args]],
  ["both in one, and an empty operation", ["svc", "config/list", "", args]],
  ["a set as the namespace", ["config/set", "config", "set", args]],
  ["a long name", ["svc", "config", `list${"t".repeat(1000)}`, args]],
  ["arrays as names", ["svc", ["config"], ["list"], args]],
  ["binary data as a name", ["svc", Buffer.from("config"), "list", args]],
  ["names that every object inherits", ["svc", "toString", "constructor", args]],
  ["__proto__", ["svc", "__proto__", "__proto__", args]],
  ["the event `error`, for which Node would throw", ["error", "config", "list", args]],
  ["the event `message`", ["message", args]],
])("a message that names no operation gets 1109: %s", async (_, message) => {
  const repo = await t.addRepository();
  const sent = message.map(part => (part === args ? { ...args, repo } : part));
  const reply = await t.owner.emit(...sent);
  expect(reply).toEqual({
    result: null,
    errors: [expect.objectContaining({ code: 1109, name: "Unknown Operation", message: expect.any(String) })],
  });
  // The error quotes the message, but only a part of limited length.
  expect(JSON.stringify(reply).length).toBeLessThan(500);
  expect((await t.owner.call("config/list", { repo, stored: true })).result).toEqual({});
});

test("arguments behind the first one are ignored, and unknown members of it, except in set", async () => {
  const repo = await t.addRepository();
  const list = { repo, field: "svc.timeout", other: [1] };
  expect(await t.owner.emit("svc", "config", "list", list, { repo: "other" }, [], "x")).toMatchObject({
    result: { svc: { timeout: 900 } },
    errors: [],
  });
  const unset = { repo, fields: ["svc.timeout"], other: 1, "svc.domain": "e" };
  expect((await t.owner.call("config/unset", unset)).errors).toEqual([]);
  const { errors } = await t.owner.call("config/set", { repo, "svc.timeout": 900, dryRun: true, other: [1] });
  expect(errors).toMatchObject([{ code: 1007, field: "other" }]);
});

/** Counts the acknowledgements that the client receives from now on. */
function countReplies({ socket }: TestClient): () => number {
  let replies = 0;
  socket.io.engine.on("packet", ({ data }) => {
    if (typeof data === "string" && /^[36]/.test(data)) replies++;
  });
  return () => replies;
}

describe("without a callback", () => {
  test("an operation that succeeds is silent", async () => {
    const id = await t.addRepository();
    const client = await t.connect();
    const watching = await t.connect();
    await watching.call("config/watch", { repo: id });
    const replies = countReplies(client);
    client.socket.emit("svc", "config", "set", { repo: id, "svc.timeout": 5 });
    expect((await watching.nextChange()).changes).toMatchObject({ svc: { timeout: { value: 5 } } });
    await client.call("key/self");
    expect(replies()).toBe(1);
  });

  test.each<[string, unknown[]]>([
    ["an unknown operation", ["svc", "config", "lst", {}]],
    ["an unknown event", ["other"]],
    ["arguments of the wrong type", ["svc", "config", "list", []]],
    ["a missing argument", ["svc", "config", "set", {}]],
    ["binary data", ["svc", "config", "list", { repo: Buffer.from("x") }]],
    ["a callback in place of the resource, which arrives as null", ["svc", () => {}, "config", "list", {}]],
    ["a callback in place of the arguments", ["svc", "config", "list", () => {}, {}]],
    ["a callback inside the arguments", ["svc", "config", "list", { repo: "x", callback: () => {} }]],
  ])("a failure is silent: %s", async (_, message) => {
    const client = await t.connect();
    const replies = countReplies(client);
    client.socket.emit(String(message[0]), ...message.slice(1));
    await client.call("key/self");
    await client.call("key/self");
    expect(replies()).toBe(2);
    expect(client.socket.connected).toBe(true);
  });
});
