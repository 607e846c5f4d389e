import { beforeEach, expect, test, vi } from "vitest";
import { argumentSchemas } from "../../main/daemon/argument-schemas.ts";
import type { Grants } from "../../shared/grants.ts";
import type { OperationName } from "../../shared/protocol.ts";
import { startTestDaemon, type TestDaemon, until } from "../helpers/daemon.ts";
import { homeFiles } from "../helpers/home-files.ts";
import { reportPromise } from "../helpers/promise.ts";
import { pollingHandshake } from "../helpers/raw-http.ts";
import { openRawWebSocket } from "../helpers/raw-websocket.ts";

// A mock that looks on: the comparison in constant time is the real one, and counted.
const compared = vi.hoisted(() => ({ times: 0 }));
vi.mock("node:crypto", async importOriginal => {
  const crypto = await importOriginal<typeof import("node:crypto")>();
  return {
    ...crypto,
    timingSafeEqual: (one: NodeJS.ArrayBufferView, other: NodeJS.ArrayBufferView) => {
      compared.times++;
      return crypto.timingSafeEqual(one, other);
    },
  };
});
beforeEach(() => {
  compared.times = 0;
});

const everything: Grants = [{ repos: "*", fields: ["*"], right: "write" }];

/** Arguments with which the owner's key would succeed, or at least be heard. The compiler asks for a line per operation. */
const operations: { readonly [Name in OperationName]: { readonly [name: string]: unknown } } = {
  "config/list": { repo: "shop" },
  "config/set": { repo: "shop", "svc.timeout": 66 },
  "config/unset": { repo: "shop", fields: ["svc.timeout"] },
  "config/explain": { repo: "shop", field: "svc.timeout" },
  "config/search": { query: "shop" },
  "config/watch": {},
  "config/unwatch": {},
  "history/list": { repo: "shop" },
  "history/restore": { repo: "shop", to: 1 },
  "history/forget": { repo: "shop", field: "svc.timeout" },
  "scope/list": {},
  "repo/list": {},
  "repo/add": { name: "planted" },
  "repo/update": { repo: "shop", name: "taken over" },
  "repo/remove": { repo: "shop" },
  "repo/scan": { path: "/" },
  "file/read": { repo: "shop" },
  "file/write": { repo: "shop", text: "{}", expected: null },
  "file/restore": { repo: "shop" },
  "session/create": { label: "desktop" },
  "session/link": {},
  "key/self": {},
  "key/list": {},
  "key/create": { name: "planted", grants: everything },
  "key/revoke": { id: "owner" },
  "daemon/status": {},
  "daemon/stop": {},
};

/** Keys that must not do, by what is wrong with them. */
async function badKeys(t: TestDaemon): Promise<{ readonly [what: string]: string | undefined }> {
  const make = async (name: string, more: object = {}) =>
    (await t.owner.call("key/create", { name, grants: everything, ...more })).result;
  const revoked = await make("revoked");
  await t.owner.call("key/revoke", { id: revoked.id });
  const session = (await t.owner.call("session/create", { label: "desktop" })).result;
  await t.owner.call("key/revoke", { id: session.id });
  const expired = await make("expired", { expires: new Date(Date.now() + 300).toISOString() });
  const end = Date.now() + 300;
  await until(() => Date.now() > end + 50, "the key to expire");
  const [name = "", id = ""] = t.ownerKey.split("_");
  return {
    "no key": undefined,
    "an empty key": "",
    "a wrong key": "wrong",
    "the owner's id with another secret": `${name}_${id}_${"A".repeat(43)}`,
    "a revoked key": revoked.key,
    "a revoked session": session.key,
    "an expired key": expired.key,
  };
}

test("S4 nothing without a key: every operation is refused with no, wrong, expired and revoked keys, before and after the refusal", async () => {
  let stops = 0;
  await using t = await startTestDaemon({ onStop: () => void stops++ });
  await t.addRepository("shop");
  const keys = await badKeys(t);
  const before = await homeFiles(t.homeFolder);
  const names = Object.keys(argumentSchemas) as OperationName[];
  expect(names.sort()).toEqual(Object.keys(operations).sort());
  const wrong: string[] = [];
  let tried = 0;
  for (const [what, key] of Object.entries(keys)) {
    for (const name of names) {
      tried++;
      const message = JSON.stringify(["svc", ...name.split("/"), operations[name]]);
      using socket = await openRawWebSocket(t.url);
      // The message before the handshake is answered, and again after it.
      socket.socket.send(`40${key === undefined ? "" : JSON.stringify({ apiKey: key })}`);
      socket.socket.send(`421${message}`);
      await until(() => socket.closed || socket.received.some(packet => packet.startsWith("44")), "the refusal");
      socket.socket.send(`422${message}`);
      await until(() => socket.closed, "the end of the connection");
      // Only Engine.IO's greeting, the refusal, and perhaps a ping.
      const told = socket.received.slice(1).filter(packet => packet !== "2");
      if (!told.every(packet => packet.startsWith("44") && packet.includes("1100")))
        wrong.push(`${name} with ${what}: ${told.join(" ")}`);
    }
  }
  // By polling, where each message is a request of its own.
  for (const name of names) {
    tried++;
    const opened = await (await fetch(t.url + pollingHandshake)).text();
    const { sid }: { sid: string } = JSON.parse(opened.slice(1));
    const address = `${t.url}${pollingHandshake}&sid=${sid}`;
    const body = `421${JSON.stringify(["svc", ...name.split("/"), operations[name]])}`;
    const posted = await fetch(address, { method: "POST", body });
    const told = (await posted.text()) + (await (await fetch(address)).text());
    if (told.includes("43")) wrong.push(`${name} by polling: ${told}`);
  }
  // A handshake of each kind that names an id which exists compares the whole of the key.
  const times = compared.times;
  for (const key of [keys["the owner's id with another secret"], t.ownerKey]) {
    const { ok } = await fetch(`${t.url}/metrics`, { headers: { Authorization: `Bearer ${key}` } });
    if (ok !== (key === t.ownerKey)) wrong.push("/metrics");
  }
  if (compared.times !== times + 2) wrong.push("a key was not compared in constant time");
  reportPromise({
    row: "S4",
    tried,
    failed: wrong.length,
    note: `${names.length} operations, ${Object.keys(keys).length} ways of having no key, and polling`,
  });
  expect(wrong).toEqual([]);
  expect(stops).toBe(0);
  expect(await homeFiles(t.homeFolder)).toEqual(before);
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
});
