import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { io } from "socket.io-client";
import { describe, expect, test } from "vitest";
import { startTestDaemon, until } from "../../helpers/daemon.ts";
import { TestClock } from "../../helpers/test-clock.ts";

/** The error with which the daemon refuses this handshake; undefined if it accepts it. */
async function refusalOf(url: string, handshake: object, transport = "websocket"): Promise<unknown> {
  const socket = io(url, { forceNew: true, reconnection: false, transports: [transport], ...handshake });
  try {
    return await new Promise(resolve => {
      socket.once("connect", () => resolve(undefined));
      socket.once("connect_error", error => resolve({ message: error.message, data: "data" in error && error.data }));
    });
  } finally {
    socket.close();
  }
}

const refused = { message: "Unauthorized", data: { code: 1100, name: "Unauthorized" } };
const bearer = (key: string) => ({ extraHeaders: { Authorization: `Bearer ${key}` } });

describe("the handshake", () => {
  test("accepts a key in auth and in the Authorization header, over both transports", async () => {
    await using t = await startTestDaemon();
    for (const transport of ["websocket", "polling"]) {
      expect(await refusalOf(t.url, { auth: { apiKey: t.ownerKey } }, transport)).toBeUndefined();
      expect(await refusalOf(t.url, bearer(t.ownerKey), transport)).toBeUndefined();
      expect(
        await refusalOf(t.url, { extraHeaders: { authorization: `bearer ${t.ownerKey}` } }, transport),
      ).toBeUndefined();
    }
  });

  test("gives every wrong key the same answer, 1100, in auth and in the header", async () => {
    await using t = await startTestDaemon();
    const { result } = await t.owner.call("key/create", { name: "tool", grants: [] });
    const { key, id } = result;
    const other = await t.owner.call("key/create", { name: "other tool", grants: [] });
    const wrong: readonly [title: string, key: string][] = [
      ["a text that is not a key", "x"],
      ["an id alone", id],
      ["its prefix and id", `repoconf_${id}_`],
      ["an unknown id", key.replace(id, "000000000000")],
      ["another key's secret", key.replace(id, other.result.id)],
      ["a named key's secret under the owner's id", key.replace(id, t.ownerKey.split("_")[1] ?? "")],
      ["one character changed", key.slice(0, -1) + (key.endsWith("A") ? "B" : "A")],
      ["one character fewer", key.slice(0, -1)],
      ["one character more", `${key}A`],
      ["upper case", key.toUpperCase()],
      ["a line break after it", `${key}\n`],
      ["a space before it", ` ${key}`],
      ["the owner's caller id", "owner"],
      ["what every object inherits", "constructor"],
      ["a long one", "x".repeat(5000)],
    ];
    for (const [title, text] of wrong) {
      expect(await refusalOf(t.url, { auth: { apiKey: text } }), title).toEqual(refused);
      if (/^[!-~]+$/.test(text)) expect(await refusalOf(t.url, bearer(text)), `${title}, by header`).toEqual(refused);
    }
    expect(await refusalOf(t.url, { auth: { apiKey: key } })).toBeUndefined();
  });

  test("refuses anything else in place of the key with 1100, such as its stored hash, and a wrong key in auth even with a valid one in the header", async () => {
    await using t = await startTestDaemon();
    const readHome = async (name: string) => JSON.parse(await readFile(join(t.homeFolder, name), "utf8"));
    const { instanceSecret } = await readHome("daemon.json");
    const { result } = await t.owner.call("key/create", { name: "tool", grants: [] });
    const { hash }: { hash: string } = (await readHome("keys.json")).keys[0];
    const wrong: readonly object[] = [
      {},
      { auth: {} },
      { auth: { apiKey: "wrong" }, ...bearer(t.ownerKey) },
      { auth: { apiKey: "" } },
      { auth: { apiKey: null } },
      { auth: { apiKey: 5 } },
      { auth: { apiKey: true } },
      { auth: { apiKey: [t.ownerKey] } },
      { auth: { apiKey: { key: t.ownerKey } } },
      ...[instanceSecret, hash, hash.slice(0, 43), `repoconf_${result.id}_${hash}`].map(apiKey => ({
        auth: { apiKey },
      })),
      { auth: { APIKEY: t.ownerKey } },
      { auth: { token: t.ownerKey } },
      { query: { apiKey: t.ownerKey } },
      { extraHeaders: { Authorization: t.ownerKey } },
      { extraHeaders: { Authorization: `Basic ${t.ownerKey}` } },
      { extraHeaders: { Authorization: `Bearer ${t.ownerKey} x` } },
      { extraHeaders: { Authorization: "Bearer " } },
      { extraHeaders: { "X-Api-Key": t.ownerKey } },
      { extraHeaders: { Cookie: `apiKey=${t.ownerKey}` } },
    ];
    for (const handshake of wrong) {
      const title = JSON.stringify(handshake).replaceAll(t.ownerKey, "KEY");
      expect(await refusalOf(t.url, handshake), title).toEqual(refused);
    }
  });
});

describe("the end of a key", () => {
  test("once a key has expired, its next request gets 1100, it receives no more events, and it cannot connect again", async () => {
    const clock = new TestClock();
    await using t = await startTestDaemon({ clock });
    const repo = await t.addRepository();
    const { result } = await t.owner.call("key/create", {
      name: "soon over",
      grants: [{ repos: "*", fields: ["*"], right: "read" }],
      expires: new Date(clock.now() + 700).toISOString(),
    });
    const [asking, watching] = [await t.connect(result.key), await t.connect(result.key)];
    await watching.call("config/watch");
    clock.advance(699);
    expect((await asking.call("key/self")).errors).toEqual([]);
    clock.advance(1);
    expect(await asking.call("key/self")).toMatchObject({
      result: null,
      errors: [{ code: 1100, name: "Unauthorized" }],
    });
    await until(() => !asking.socket.connected, "the connection that got 1100 to end");
    await t.owner.call("config/set", { repo, "svc.timeout": 5 });
    await until(() => !watching.socket.connected, "the watching connection to end");
    expect(watching.events).toEqual([]);
    expect(await refusalOf(t.url, { auth: { apiKey: result.key } })).toEqual(refused);
  });

  test("if the owner's key file is deleted, the next start creates a new key and the old one no longer works", async () => {
    await using t = await startTestDaemon();
    const old = t.ownerKey;
    await rm(join(t.homeFolder, "owner.key"));
    await t.restart();
    expect(t.ownerKey).not.toBe(old);
    expect(await refusalOf(t.url, { auth: { apiKey: old } })).toEqual(refused);
  });
});
