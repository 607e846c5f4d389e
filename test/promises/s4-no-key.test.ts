import { beforeEach, expect, test, vi } from "vitest";
import { argumentSchemas } from "../../main/daemon/socket/argument-schemas.ts";
import type { OperationName } from "../../shared/protocol.ts";
import { compared } from "../helpers/counted-comparisons.ts";
import { startTestDaemon, type TestDaemon, until } from "../helpers/daemon.ts";
import { everything, files, names, operations } from "../helpers/every-operation.ts";
import { homeFiles } from "../helpers/home-files.ts";
import { post, socketOf } from "../helpers/one-shot.ts";
import { codeOf, followLink, proofOf, type TestKey, type TestSession } from "../helpers/open-socket.ts";
import { judge } from "../helpers/promise.ts";
import { beginPolling } from "../helpers/raw-http.ts";
import { openRawWebSocket } from "../helpers/raw-websocket.ts";
import { TestClock } from "../helpers/test-clock.ts";

// A mock that only counts: the constant-time comparison is the real one.
vi.mock("node:crypto", async importOriginal =>
  (await import("../helpers/counted-comparisons.ts")).countingComparisons(await importOriginal()),
);
beforeEach(() => {
  compared.times = 0;
});

/** Sends an operation in one of the ways as a client of the key does, and resolves with all received packets. */
type Way = (t: TestDaemon, key: TestKey, name: OperationName) => Promise<readonly string[]>;

const authOf = (url: string, engineId: string, key: string | TestSession) =>
  typeof key === "string" ? { apiKey: key } : proofOf(key, { url, engineId, nonce: "0".repeat(64) });
const messageOf = (name: OperationName) => `421${JSON.stringify(["svc", ...name.split("/"), operations[name]])}`;
/** Excludes the daemon's own proof for a session. */
const isNoProof = (packet: string) => !packet.startsWith('42["svc","session"');
/** Whether the arguments of an acknowledgement are a reply without errors. */
const hasNoErrors = (acknowledged: string) => {
  const [reply]: { readonly errors: readonly unknown[] }[] = JSON.parse(acknowledged);
  return reply?.errors.length === 0;
};
/** A Socket.IO packet, not one of those with which Engine.IO maintains its connection. */
const isMessage = (packet: string) => packet.startsWith("4");

const ways: { readonly [way: string]: Way } = {
  // With the key in the handshake's `auth`. Anything sent after a refusal ends the connection.
  websocket: async ({ url }, key, name) => {
    using raw = await openRawWebSocket(url);
    const { socket, received } = raw;
    const has = (start: string) => raw.closed || received.some(packet => packet.startsWith(start));
    await until(() => has("0"), "the connection's id");
    const { sid }: { sid: string } = JSON.parse(received[0]?.slice(1) ?? "{}");
    socket.send(`40${key === undefined ? "" : JSON.stringify(authOf(url, sid, key))}`);
    await until(() => has("40") || has("44"), "the answer to the handshake");
    socket.send(messageOf(name));
    await until(() => has("43"), "the answer, or the end of the connection");
    return received.filter(isMessage);
  },
  // With the key in a header; each message is a separate request.
  polling: async ({ url }, key, name) => {
    const headers: Record<string, string> = typeof key === "string" ? { Authorization: `Bearer ${key}` } : {};
    const { sid, target } = await beginPolling(url, { headers });
    const address = url + target;
    const packets: string[] = [];
    // A poll of an ended connection is answered with 400 and a sentence.
    const read = async () => {
      const answer = await fetch(address);
      const text = await answer.text();
      if (answer.ok) packets.push(...text.split("\x1e"));
      return answer.ok;
    };
    const auth = typeof key === "object" ? JSON.stringify(authOf(url, sid, key)) : "";
    await (await fetch(address, { method: "POST", body: `40${auth}` })).text();
    while (!packets.some(packet => /^4[04]/.test(packet)) && (await read()));
    await (await fetch(address, { method: "POST", body: messageOf(name) })).text();
    while (!packets.some(packet => packet.startsWith("43")) && (await read()));
    return packets.filter(isMessage);
  },
  // Without a connection; its answers are written as the packets of the others. It takes no sessions.
  "one-shot requests": async (t, key, name) => {
    const text = typeof key === "object" ? key.secret : key;
    const { status, reply } = await post(await socketOf(t.homeFolder), text, name, operations[name]);
    const packet = JSON.stringify([reply]);
    return status === 401 ? [`44${packet}`] : ["40", `431${packet}`];
  },
};
const isOfEvents = (way: string, name: string) => way === "one-shot requests" && /watch$/.test(name);

/** Keys that must be refused, by what is wrong with them. */
async function badKeys(t: TestDaemon, clock: TestClock): Promise<{ readonly [what: string]: TestKey }> {
  const make = async (name: string, more: object = {}) =>
    (await t.owner.call("key/create", { name, grants: everything, ...more })).result;
  const revoked = await make("revoked");
  await t.owner.call("key/revoke", { id: revoked.id });
  const newSession = async () => (await t.owner.call("session/create", { label: "desktop" })).result;
  const lapsed = await newSession();
  clock.advance(12 * 60 * 60_000);
  const session = await newSession();
  await t.owner.call("key/revoke", { id: session.id });
  const link = t.daemon.createLink(60_000);
  const { id } = await followLink(link);
  await t.owner.call("key/revoke", { id });
  const expired = await make("expired", { expires: new Date(clock.now() + 60_000).toISOString() });
  clock.advance(60_000);
  const other = await make("other");
  const withAnotherSecret = (key: string) => `${key.slice(0, -43)}${"A".repeat(43)}`;
  return {
    "no key": undefined,
    "an empty key": "",
    "a wrong key": "wrong",
    "the owner's id with another secret": withAnotherSecret(t.ownerKey),
    "a tool's id with another secret": withAnotherSecret(other.key),
    "a revoked key": revoked.key,
    "a revoked session": session,
    "a session that nobody used": lapsed,
    "a code that was used": codeOf(link),
    "a session's id with another secret": { id: (await newSession()).id, secret: "0".repeat(64) },
    "an expired key": expired.key,
  };
}

test("S4 nothing without a key: every operation is refused with no, wrong, expired and revoked keys, and answered with the owner's", async () => {
  let stops = 0;
  const clock = new TestClock({ timers: "run" });
  await using t = await startTestDaemon({ files, clock, onStop: () => void stops++ });
  const keys = await badKeys(t, clock);
  const before = await homeFiles(t.homeFolder);
  expect([...names].sort()).toEqual(Object.keys(argumentSchemas).sort());
  const wrong: string[] = [];
  let tried = 0;
  const tryOne = async (way: string, send: Way, what: string, key: TestKey, name: OperationName) => {
    tried++;
    const packets = await send(t, key, name);
    // Only the refusal, and nothing else.
    if (packets.length !== 1 || !packets[0]?.startsWith("44") || !packets[0].includes("1100"))
      wrong.push(`${name} by ${way} with ${what}: ${packets.join(" ")}`);
  };
  for (const [way, send] of Object.entries(ways))
    for (const [what, key] of Object.entries(keys))
      await Promise.all(names.map(name => tryOne(way, send, what, key, name)));
  if (stops > 0) wrong.push("the daemon was told to stop");
  const after = await homeFiles(t.homeFolder);
  stops = 0;

  // With the owner's key each way succeeds, on a home of its own; otherwise a refusal would prove nothing.
  for (const [way, send] of Object.entries(ways)) {
    await using control = await startTestDaemon({ files, onStop: () => void stops++ });
    const session = (await control.owner.call("session/create", { label: "desktop" })).result;
    for (const name of names) {
      const key = name === "key/self" && way !== "one-shot requests" ? session : control.ownerKey;
      const [handshake = "", answer = ""] = (await send(control, key, name)).filter(isNoProof);
      if (isOfEvents(way, name)) expect(answer).toContain('"code":1109');
      else if (!handshake.startsWith("40") || !answer.startsWith("431[") || !hasNoErrors(answer.slice(3)))
        wrong.push(`${name} by ${way} with the owner's key, or a session: ${handshake} ${answer}`);
    }
  }
  if (stops !== Object.keys(ways).length) wrong.push(`the owner's key stopped ${stops} daemons`);
  const note = `${names.length} operations, ${Object.keys(keys).length} ways of having no valid key, over ${Object.keys(ways).join(" and ")}`;
  judge("S4", tried, wrong, note);
  expect(after).toEqual(before);
});

test("S4 a message sent before the handshake is answered is ignored, even with the owner's key", async () => {
  await using t = await startTestDaemon();
  for (const key of [undefined, "wrong", t.ownerKey]) {
    using raw = await openRawWebSocket(t.url);
    raw.socket.send(`40${JSON.stringify({ apiKey: key })}`);
    raw.socket.send(messageOf("repo/add"));
    await until(() => raw.closed, "the end of the connection");
    expect(raw.received.filter(packet => packet.startsWith("43"))).toEqual([]);
  }
  expect((await t.owner.call("repo/list")).result).toEqual([]);
});

test("S4 keys are compared in constant time, whatever part of one is wrong", async () => {
  await using t = await startTestDaemon();
  const { key } = (await t.owner.call("key/create", { name: "tool", grants: everything })).result;
  for (const good of [t.ownerKey, key]) {
    for (const at of [good.length - 43, good.length - 20, good.length - 1]) {
      const bad = good.slice(0, at) + (good[at] === "A" ? "B" : "A") + good.slice(at + 1);
      const before = compared.times;
      await expect(t.connect(bad)).rejects.toMatchObject({ data: { code: 1100 } });
      expect(compared.times).toBe(before + 1);
    }
  }
  // Also in a plain HTTP request.
  for (const key of [`${t.ownerKey.slice(0, -43)}${"A".repeat(43)}`, t.ownerKey]) {
    const before = compared.times;
    const { status } = await fetch(`${t.url}/metrics`, { headers: { Authorization: `Bearer ${key}` } });
    expect([status, compared.times]).toEqual([key === t.ownerKey ? 200 : 401, before + 1]);
  }
});
