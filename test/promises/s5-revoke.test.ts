import { expect, test } from "vitest";
import type { Grants } from "../../shared/grants.ts";
import { startTestDaemon, type TestDaemon, until } from "../helpers/daemon.ts";
import { headOf, openRaw, post, socketOf } from "../helpers/one-shot.ts";
import { proofOf, type TestSession } from "../helpers/open-socket.ts";
import { amount, judge } from "../helpers/promise.ts";
import { beginPolling } from "../helpers/raw-http.ts";

const everything: Grants = [{ repos: "*", fields: ["*"], right: "write" }];

interface Made {
  readonly id: string;
  readonly key: string | TestSession;
}

async function newSession(t: TestDaemon): Promise<Made> {
  const { result } = await t.owner.call("session/create", { label: "desktop" });
  return { id: result.id, key: result };
}

async function newKey(t: TestDaemon, name: string): Promise<Made> {
  return (await t.owner.call("key/create", { name, grants: everything })).result;
}

test("S5 a revoke takes effect immediately: later requests are not processed, the sockets close, and the key is no longer accepted", async () => {
  await using t = await startTestDaemon();
  const repo = await t.addRepository("shop");
  const path = await socketOf(t.homeFolder);
  const rounds = amount(6, 300);
  const wrong: string[] = [];
  const sockets = async () => (await t.owner.call("daemon/status")).result.sockets;
  let value = 0;
  for (let round = 0; round < rounds; round++) {
    const session = round % 2 === 1;
    const { id, key } = session ? await newSession(t) : await newKey(t, `tool ${round}`);
    const what = `${session ? "session" : "key"} ${round}`;
    // An idle connection is closed only by the revoke.
    const [asking, watching, idle] = [await t.connect(key), await t.connect(key), await t.connect(key)];
    await watching.call("config/watch");
    // Another connection that only polls, because the daemon holds back packets for it.
    const { sid, target } = await beginPolling(t.url);
    const address = t.url + target;
    const auth =
      typeof key === "string" ? { apiKey: key } : proofOf(key, { url: t.url, engineId: sid, nonce: "0".repeat(64) });
    await (await fetch(address, { method: "POST", body: `40${JSON.stringify(auth)}` })).text();
    await until(async () => (await sockets()) === 5, "all of them to be let in");
    // A one-shot request that the daemon waits for.
    using half = await openRaw(path);
    const body = JSON.stringify({ repo, "svc.timeout": 2_000 });
    const length = `Content-Length: ${body.length}`;
    if (typeof key === "string")
      half.socket.write(`${headOf(key, "config/set", length, "Expect: 100-continue")}\r\n\r\n`);
    if (typeof key === "string") await half.has("100 Continue");

    const replies: unknown[] = [];
    expect((await t.owner.call("key/revoke", { id })).errors).toEqual([]);
    // The daemon drops the connections before it reports that the key is revoked. When their clients notice depends on the
    // system.
    const left = await sockets();
    if (left !== 1) wrong.push(`${what}: ${left} connections are left, with the owner's`);
    // Anything set from here on must never take effect.
    const forbidden = 1_000 + ++value;
    asking.socket.emit("svc", "config", "set", { repo, "svc.timeout": forbidden }, (reply: unknown) =>
      replies.push(reply),
    );
    const heard = watching.events.length;
    await t.owner.call("config/set", { repo, "svc.timeout": value });
    await until(() => ![asking, watching, idle].some(({ socket }) => socket.connected), "its sockets to close");
    if (replies.some(reply => !JSON.stringify(reply).includes("1100"))) wrong.push(`${what}: was answered`);
    if (watching.events.length > heard) wrong.push(`${what}: received a change`);
    const posted = await fetch(address, { method: "POST", body: `421["svc","config","list",{"repo":"shop"}]` });
    const polled = (await posted.text()) + (await (await fetch(address)).text());
    if (polled.includes("431[")) wrong.push(`${what}: was answered by polling`);
    if (typeof key === "string") {
      half.socket.write(body);
      await half.has("401 Unauthorized");
      const { status } = await post(path, key, "config/list", { repo });
      if (status !== 401) wrong.push(`${what}: was answered without a connection (${status})`);
    }
    const again = await t.connect(key).then(
      () => "let in",
      error => error.data?.code,
    );
    if (again !== 1100) wrong.push(`${what}: came back (${again})`);
    const { result } = await t.owner.call("config/list", { repo, field: "svc.timeout" });
    if (result["svc"]?.["timeout"] !== value) wrong.push(`${what}: its set took effect`);
  }
  judge("S5", rounds, wrong, "revocations of keys with four connections each");
  await t.restart();
  expect((await t.owner.call("key/list")).result).toEqual([]);
});
