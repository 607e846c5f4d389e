import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { connectClient, type TestClient, until } from "../helpers/daemon.ts";
import { amount, judge } from "../helpers/promise.ts";
import { beginPolling, rawRequest } from "../helpers/raw-http.ts";
import { openRawWebSocket } from "../helpers/raw-websocket.ts";
import { type SpawnedDaemon, spawnDaemon } from "../helpers/spawned-daemon.ts";

/** The numbers of protocol page 10, written a second time, because programs rely on them. */
const transportBytes = 4_000_000;
const sockets = 1_000;
const fileBytes = 4 * 1024 * 1024;
/** How many bytes the daemon's process may grow after it is warm: a leak of what it rejects would be gigabytes. */
const allowance = 250_000_000;

type Arguments = { readonly [name: string]: unknown };

function ids(count: number): string[] {
  return Array.from({ length: count }, (_, index) => `r${index}`);
}

function fields(count: number): Arguments {
  return Object.fromEntries(Array.from({ length: count }, (_, index) => [`svc.f${index}`, 1]));
}

function nested(levels: number): unknown {
  let value: unknown = {};
  for (let level = 1; level < levels; level++) value = { a: value };
  return value;
}

/** Messages beyond a limit, with the words and the number that the rejection must contain. */
const messages: readonly (readonly [limit: string, words: RegExp, args: Arguments, operation?: "config/list"])[] = [
  ["1 MB a message", /message.*\b1000000\b/, { repo: "shop", padding: "x".repeat(1_000_000) }, "config/list"],
  ["nesting 32", /nested.*\b32\b/, { repo: "shop", "svc.services": nested(32) }],
  ["256 fields", /fields.*\b256\b/, { repo: "shop", ...fields(257) }],
  ["1,000 repositories", /repositories.*\b1000\b/, { repo: ids(1_001), "svc.timeout": 1 }],
  ["repositories x bytes 16 MB", /bytes.*\b16000000\b/, { repo: ids(100), "svc.padding": "x".repeat(160_000) }],
  ["fields x repositories 10,000", /fields.*\b10000\b/, { repo: ids(100), ...fields(101) }],
  ["256 KiB a value", /value.*\b262144\b/, { repo: "shop", "svc.domain": "x".repeat(262_144) }],
  ["4 MiB a file", /file.*\b4194304\b/, { repo: "large", "svc.timeout": 333 }],
];

/** A repository's file of exactly this size, most of it a comment. */
function fileOf(bytes: number): string {
  const text = (comment: string) =>
    `{\n  // ${comment}\n  "name": "large", "config": { "svc": { "timeout": 22 } }\n}\n`;
  return text("x".repeat(bytes - text("").length));
}

/** The memory of the daemon's process in bytes, according to its metrics. */
async function memory(daemon: SpawnedDaemon): Promise<number> {
  const answer = await fetch(`${daemon.url}/metrics`, { headers: { Authorization: `Bearer ${daemon.ownerKey}` } });
  return Number(/^process_resident_memory_bytes (\S+)$/m.exec(await answer.text())?.[1]);
}

/** Triggers every rejection of a message once; returns a line for each error. */
async function refuseMessages(owner: TestClient): Promise<string[]> {
  const wrong: string[] = [];
  for (const [limit, words, args, operation = "config/set"] of messages) {
    const { errors } = await owner.call(operation, args);
    const [error] = errors;
    if (errors.length !== 1 || error?.code !== 1107 || !words.test(error.message))
      wrong.push(`${limit}: ${JSON.stringify(errors).slice(0, 300)}`);
  }
  const binary = await owner.emit("svc", "config", "set", { repo: "shop", "svc.domain": Buffer.alloc(100_000) });
  if (binary.errors[0]?.code !== 1101) wrong.push(`binary: ${JSON.stringify(binary)}`);
  return wrong;
}

/** Sends what must end a connection, and only that connection: packets that are too large, or not Socket.IO. */
async function refuseConnections(daemon: SpawnedDaemon): Promise<string[]> {
  const wrong: string[] = [];
  const packets = [`42["svc","config","list",{"a":"${"x".repeat(transportBytes)}"}]`, "42[", "9", `451-["x"]`];
  for (const packet of packets) {
    using hostile = await openRawWebSocket(daemon.url, daemon.ownerKey);
    hostile.socket.send(packet);
    if (packet.startsWith("45")) hostile.socket.send("421[]");
    await until(() => hostile.closed, `the end of a connection that sent ${packet.slice(0, 20)}`);
  }
  const { target } = await beginPolling(daemon.url);
  const headers = [`Host: ${new URL(daemon.url).host}`, "Content-Type: text/plain;charset=UTF-8"];
  const body = `4${"x".repeat(transportBytes)}`;
  const { status } = await rawRequest(daemon.url, target, { method: "POST", headers, body });
  if (status !== 413) wrong.push(`a large packet by polling gets ${status}`);
  return wrong;
}

const megabytes = (bytes: number) => Math.round(bytes / 1_000_000);

test("limits: exceeding any of them is refused with its code and number, ends at most that connection, and leaves the daemon's memory flat", async () => {
  await using daemon = await spawnDaemon();
  const owner = await connectClient(daemon.url, daemon.ownerKey);
  for (const id of ["shop", "large"]) await owner.call("repo/add", { name: id, id });
  await writeFile(join(daemon.homeFolder, "repos/large.json"), fileOf(fileBytes));
  await until(async () => {
    const { result } = await owner.call("config/list", { repo: "large", field: "svc.timeout" });
    return result["svc"]?.["timeout"] === 22;
  }, "the large file to be taken");

  const wrong: string[] = [];
  let tried = 0;
  const round = async () => {
    wrong.push(...(await refuseMessages(owner)), ...(await refuseConnections(daemon)));
    tried += messages.length + 6;
  };
  for (let warm = amount(3, 20); warm > 0; warm--) await round();
  const before = await memory(daemon);
  for (let rounds = amount(5, 150); rounds > 0; rounds--) await round();
  const after = await memory(daemon);

  // As many connections as allowed, by polling, which costs this process little.
  const open: string[] = [];
  let opening = 0;
  const openSome = async () => {
    while (open.length + opening < sockets - 1) {
      opening++;
      const { sid, target } = await beginPolling(daemon.url);
      const body = `40${JSON.stringify({ apiKey: daemon.ownerKey })}`;
      await (await fetch(daemon.url + target, { method: "POST", body })).text();
      open.push(sid);
      opening--;
    }
  };
  await Promise.all(Array.from({ length: 20 }, openSome));
  const { result } = await owner.call("daemon/status");
  if (result.sockets !== sockets) wrong.push(`${result.sockets} sockets are open`);
  for (let more = amount(20, 500); more > 0; more--) {
    tried++;
    const refused = await connectClient(daemon.url, daemon.ownerKey).then(
      ({ socket }) => {
        socket.close();
        return "let in";
      },
      error => `${error.data?.code} ${error.message}`,
    );
    if (!/^1107 .*\b1000\b/.test(refused)) wrong.push(`one socket too many: ${refused}`);
  }
  const full = await memory(daemon);
  const answered = await owner.call("config/list", { repo: "shop", field: "svc.timeout" });
  if (answered.errors.length > 0) wrong.push("a neighbour is not answered");
  const note = `memory ${megabytes(before)} MB when warm, ${megabytes(after)} MB after all refusals, ${megabytes(full)} MB with ${sockets} sockets`;
  judge("limits", tried, wrong, note);
  expect(after - before).toBeLessThan(allowance);
  expect(full - before).toBeLessThan(allowance);
});
