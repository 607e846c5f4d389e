import { createHash } from "node:crypto";
import { io } from "socket.io-client";
import { expect, test } from "vitest";
import { startTestDaemon, type TestDaemon, until } from "../../helpers/daemon.ts";
import { codeOf, followLink, openSocket, proofOf, type TestSession } from "../../helpers/open-socket.ts";
import { frameOf, openUpgrade } from "../../helpers/raw-http.ts";

const refused = { message: "Unauthorized", data: { code: 1100 } };
const ownOrigin = (t: TestDaemon) => ({ origin: t.url });
/** What a client needs to prove this key. */
const provable = (key: string): TestSession => ({
  id: key.split("_")[1] ?? "",
  secret: createHash("sha256").update(key).digest("hex"),
});

test("a tool whose library sends the daemon's own address as Origin is served if it gives or proves a key", async () => {
  await using t = await startTestDaemon();
  const tool = (await t.owner.call("key/create", { name: "tool", grants: [] })).result.key;
  for (const key of [t.ownerKey, tool, provable(t.ownerKey), provable(tool)]) {
    const socket = await openSocket(t.url, key, undefined, ownOrigin(t));
    expect((await socket.emitWithAck("svc", "key", "self")).errors).toEqual([]);
    socket.close();
  }
  const wrong = provable(`${tool.slice(0, -1)}${tool.endsWith("A") ? "B" : "A"}`);
  for (const key of [undefined, "", "x", wrong])
    await expect(openSocket(t.url, key, undefined, ownOrigin(t))).rejects.toMatchObject(refused);
});

test("a session and a link's code are refused on such a connection, also with that Origin sent twice, and the code stays unused", async () => {
  await using t = await startTestDaemon();
  const session = (await t.owner.call("session/create", { label: "desktop" })).result;
  const link = (await t.owner.call("session/link")).result.url;
  // Not in the client's types: a header that is sent twice.
  const twice = { origin: [t.url, t.url] as unknown as string };
  (await openSocket(t.url, t.ownerKey, undefined, twice)).close();
  for (const headers of [ownOrigin(t), twice])
    for (const credentials of [session, codeOf(link)])
      await expect(openSocket(t.url, credentials, undefined, headers)).rejects.toMatchObject(refused);
  const names = (await t.owner.call("key/list")).result.map(({ name }) => name);
  expect(names).toEqual(["owner (desktop)"]);
  await t.connect(session);
  await followLink(link);
});

test("a session on polling is disconnected when it is upgraded with that Origin, before anything of the WebSocket is read; a key is not", async () => {
  await using t = await startTestDaemon();
  const session = (await t.owner.call("session/create", { label: "desktop" })).result;
  for (const [credentials, stays] of [
    [session, false],
    [provable(t.ownerKey), true],
  ] as const) {
    const socket = io(t.url, {
      transports: ["polling"],
      reconnection: false,
      forceNew: true,
      auth: send => {
        send(proofOf(credentials, { url: t.url, engineId: socket.io.engine.id, nonce: "0".repeat(64) }));
      },
    });
    await new Promise<void>(resolve => socket.once("connect", resolve));
    expect((await socket.emitWithAck("svc", "key", "self")).errors).toEqual([]);
    const add = `421["svc","repo","add",{"id":"planted","name":"x"}]`;
    const upgraded = await upgrade(t, socket.io.engine.id, "2probe", "5", add);
    await until(() => upgraded.isOver() || upgraded.text().includes("431["), "an answer, or the end");
    expect(upgraded.text().includes("431[")).toBe(stays);
    expect(upgraded.isOver()).toBe(!stays);
    const repositories = (await t.owner.call("repo/list")).result.map(({ id }) => id);
    expect(repositories).toEqual(stays ? ["planted"] : []);
    socket.close();
    upgraded.close();
  }
  expect((await t.owner.call("daemon/status")).result.refusals).toEqual({ key: 1 });
});

/** Upgrades a connection on polling with the daemon's own Origin, and sends these packets. */
async function upgrade(t: TestDaemon, sid: string, ...packets: readonly string[]) {
  const socket = await openUpgrade(t.url, [`Origin: ${t.url}`], `&sid=${sid}`);
  let text = "";
  socket.on("data", part => {
    text += part.toString("latin1");
  });
  for (const packet of packets) socket.write(frameOf(packet));
  return { text: () => text, isOver: () => socket.readableEnded || socket.destroyed, close: () => socket.destroy() };
}
