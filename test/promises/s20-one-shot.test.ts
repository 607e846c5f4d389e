import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, expect, test, vi } from "vitest";
import { compared } from "../helpers/counted-comparisons.ts";
import { startTestDaemon, type TestDaemon, until } from "../helpers/daemon.ts";
import { everything, names, operations } from "../helpers/every-operation.ts";
import { headOf, openRaw, post, requestOf, socketOf } from "../helpers/one-shot.ts";
import { amount, judge } from "../helpers/promise.ts";
import { rawRequest } from "../helpers/raw-http.ts";
import { guard } from "../helpers/switched-guard.ts";
import { TestClock } from "../helpers/test-clock.ts";

// A mock: the guard with a switch for these tests.
vi.mock("../../main/daemon/http/guard.ts", () => import("../helpers/switched-guard.ts"));
// A mock that only counts how often a key is compared.
vi.mock("node:crypto", async importOriginal =>
  (await import("../helpers/counted-comparisons.ts")).countingComparisons(await importOriginal()),
);
beforeEach(() => {
  guard.on = true;
});

const origins = [
  "http://localhost",
  "http://127.0.0.1:PORT",
  "null",
  "file://",
  "repoconf-screen://app",
  "",
  "https://evil.example",
];
const hosts = [
  "evil.example",
  "localhost:PORT",
  "LOCALHOST",
  "localhost.",
  "127.0.0.1",
  "127.0.0.1:PORT",
  "x.localhost",
  "",
];

/** Sends it, and returns the status of the first answer; 0 if there is none. */
async function statusOf(path: string, request: string): Promise<number> {
  using raw = await openRaw(path);
  raw.socket.write(request);
  await until(() => raw.received.includes("\r\n\r\n") || raw.socket.closed, "an answer");
  return Number(raw.received.split(" ")[1] ?? 0);
}

/** Every other key than a valid one, by what is wrong with it. */
async function badKeys(t: TestDaemon): Promise<{ readonly [what: string]: string }> {
  const { id, key } = (await t.owner.call("key/create", { name: "revoked", grants: everything })).result;
  await t.owner.call("key/revoke", { id });
  const session = (await t.owner.call("session/create", { label: "desktop" })).result;
  const wrong = `${t.ownerKey.slice(0, -43)}${"A".repeat(43)}`;
  return { none: "", wrong, revoked: key, session: session.secret, "of a session": `${session.id}.${session.secret}` };
}

test("S20 a one-shot request opens no second way in: Origin, Host and port, keys, slow and endless bodies, and what follows on a connection", async () => {
  // However slow this machine is, no body is late.
  const clock = new TestClock();
  await using t = await startTestDaemon({ clock, repositories: ["shop"] });
  const [path, { port }] = [await socketOf(t.homeFolder), new URL(t.url)];
  const wrong: string[] = [];
  let tried = 0;
  const good = requestOf(t.ownerKey, "key/self");
  const expectStatus = async (what: string, request: string, status: number) => {
    tried++;
    const given = await statusOf(path, request);
    if (given !== status) wrong.push(`${what}: ${given} instead of ${status}`);
  };

  // The guard's, each with the guard off once.
  const lines = [...origins.map(one => `Host: localhost\r\nOrigin: ${one}`), ...hosts.map(one => `Host: ${one}`), ""];
  for (const line of lines.map(one => one.replaceAll("PORT", port))) {
    const request = good.replace("Host: localhost\r\n", line === "" ? "" : `${line}\r\n`);
    guard.on = false;
    await expectStatus(`${line} with the guard off`, request, 200);
    guard.on = true;
    await expectStatus(line, request, 403);
  }

  // The port takes no key, also with the guard off, and does not even compare it.
  for (const name of names) {
    for (const isOn of [true, false]) {
      guard.on = isOn;
      const before = compared.times;
      const body = JSON.stringify(operations[name]);
      const headers = [`Host: 127.0.0.1:${port}`, `Authorization: Bearer ${t.ownerKey}`];
      const answer = await rawRequest(t.url, `/svc/${name}`, { method: "POST", headers, body });
      tried++;
      if (answer.status !== 404 || compared.times !== before || !answer.body.includes("Unix socket"))
        wrong.push(`${name} by the port: ${answer.status} ${answer.body}`);
    }
  }
  guard.on = true;

  // A key that is not valid decides before anything of the body arrives, which a valid one waits for.
  for (const [what, key] of Object.entries(await badKeys(t)))
    for (const body of ["Content-Length: 10", "Transfer-Encoding: chunked", "Content-Length: 99999999999"])
      await expectStatus(`the key ${what}, ${body}`, `${headOf(key, "key/self", body)}\r\n\r\n`, 401);
  using waiting = await openRaw(path);
  waiting.socket.write(`${headOf(t.ownerKey, "key/self", "Content-Length: 2")}\r\n\r\n`);

  // A body ends at a size, whether it was announced or not.
  await expectStatus("a long body", `${headOf(t.ownerKey, "key/self", "Content-Length: 4000001")}\r\n\r\n`, 413);
  const part = `100000\r\n${"x".repeat(0x100000)}\r\n`;
  const endless = headOf(t.ownerKey, "key/self", "Transfer-Encoding: chunked");
  await expectStatus("an endless body", `${endless}\r\n\r\n${part.repeat(amount(4, 64))}`, 413);
  expect(waiting.received).toBe("");
  waiting.socket.write("{}");
  await waiting.has(`"name":"owner"`);

  // What follows a refusal on the same connection is not run.
  const follow = requestOf(t.ownerKey, "repo/add", { name: "planted" });
  for (const first of [
    good.replace("Bearer", "Basic"),
    good.replace("POST", "GET"),
    good.replace("localhost", "evil"),
    "\r\nx",
  ]) {
    using raw = await openRaw(path);
    raw.socket.write(first + follow);
    const answers = (await raw.closed()).split("HTTP/1.1 ").length - 1;
    tried++;
    if (answers !== 1) wrong.push(`${answers} answers after ${JSON.stringify(first.slice(0, 40))}`);
  }
  const repositories = (await t.owner.call("repo/list")).result.map(({ id }) => id);
  if (repositories.join() !== "shop") wrong.push(`repositories ${repositories.join()}`);

  // All of it is audited, without the keys.
  const audit = await readFile(join(t.homeFolder, "audit.log"), "utf8");
  if (!audit.includes(`"connectionsRefused","key":"owner","count":1,"of":{"key":1}`)) wrong.push(audit);
  if (audit.includes("repoconf_")) wrong.push("a key is in audit.log");
  judge(
    "S20",
    tried,
    wrong,
    `${lines.length} headers with the guard on and off, ${names.length} operations by the port`,
  );
});

test("S20 a key sends thousands of one-shot requests in a row, and no more of them run than of its connections could", async () => {
  await using t = await startTestDaemon({ repositories: ["shop"] });
  const path = await socketOf(t.homeFolder);
  const { key } = (await t.owner.call("key/create", { name: "tool", grants: everything })).result;
  const count = amount(1_000, 20_000);
  using raw = await openRaw(path);
  raw.socket.write(requestOf(key, "config/explain", { repo: "shop", field: "svc.timeout" }).repeat(count));
  expect((await post(path, t.ownerKey, "key/self")).status).toBe(200);
  const statuses = () => [...raw.received.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status);
  await until(() => statuses().length === count || raw.socket.closed, "the answers");
  expect(new Set(statuses())).toEqual(new Set(["200", "429"]));
});
