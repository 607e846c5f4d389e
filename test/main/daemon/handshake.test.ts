import { readFile } from "node:fs/promises";
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
    const lower = { extraHeaders: { authorization: `bearer ${t.ownerKey}` } };
    for (const transport of ["websocket", "polling"])
      for (const handshake of [{ auth: { apiKey: t.ownerKey } }, bearer(t.ownerKey), lower])
        expect(await refusalOf(t.url, handshake, transport)).toBeUndefined();
  });

  test("refuses anything else in place of the key with 1100, such as its stored hash, and a wrong key in auth even with a valid one in the header", async () => {
    await using t = await startTestDaemon();
    const readHome = async (name: string) => JSON.parse(await readFile(join(t.homeFolder, name), "utf8"));
    const { instanceSecret } = await readHome("daemon.json");
    const { result } = await t.owner.call("key/create", { name: "tool", grants: [] });
    const { hash }: { hash: string } = (await readHome("keys.json")).keys[0];
    const { ownerKey } = t;
    const keys = [
      ...["", null, 5, true, [ownerKey], { key: ownerKey }],
      ...[instanceSecret, hash, hash.slice(0, 43), `repoconf_${result.id}_${hash}`],
      ...[`${ownerKey}A`, ownerKey.slice(0, -1), ` ${ownerKey}`, `${ownerKey}\n`, ownerKey.toUpperCase()],
    ];
    const headers = [ownerKey, `Basic ${ownerKey}`, `Bearer ${ownerKey} x`, "Bearer "];
    const wrong: readonly object[] = [
      ...[{}, { auth: {} }, { auth: { apiKey: "wrong" }, ...bearer(ownerKey) }],
      ...keys.map(apiKey => ({ auth: { apiKey } })),
      ...[{ auth: { APIKEY: ownerKey } }, { auth: { token: ownerKey } }, { query: { apiKey: ownerKey } }],
      ...headers.map(Authorization => ({ extraHeaders: { Authorization } })),
      ...[{ "X-Api-Key": ownerKey }, { Cookie: `apiKey=${ownerKey}` }].map(extraHeaders => ({ extraHeaders })),
    ];
    for (const handshake of wrong) {
      const title = JSON.stringify(handshake).replaceAll(t.ownerKey, "KEY");
      expect(await refusalOf(t.url, handshake), title).toEqual(refused);
    }
  });
});

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
  expect(await asking.call("key/self")).toMatchObject({ result: null, errors: [{ code: 1100 }] });
  await until(() => !asking.socket.connected, "the connection that got 1100 to end");
  await t.owner.call("config/set", { repo, "svc.timeout": 5 });
  await until(() => !watching.socket.connected, "the watching connection to end");
  expect(watching.events).toEqual([]);
  expect(await refusalOf(t.url, { auth: { apiKey: result.key } })).toEqual(refused);
});
