import { readdir } from "node:fs/promises";
import { connect as connectTcp } from "node:net";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { expect, test } from "vitest";
import { argumentSchemas } from "../../main/daemon/socket/argument-schemas.ts";
import type { OperationName } from "../../shared/protocol.ts";
import { startTestDaemon, type TestDaemon, until } from "../helpers/daemon.ts";
import { openRaw, requestOf, socketOf } from "../helpers/one-shot.ts";
import { amount, reportPromise, seed } from "../helpers/promise.ts";
import { protocolCodes } from "../helpers/protocol-table.ts";
import { type Random, randomNumbers } from "../helpers/random.ts";
import { beginPolling, pollingHandshake, sendBytes } from "../helpers/raw-http.ts";
import { openRawWebSocket } from "../helpers/raw-websocket.ts";

const operations = Object.keys(argumentSchemas).filter(
  // These would correctly end what the test needs, or search the whole disk.
  name => !["daemon/stop", "key/revoke", "repo/scan"].includes(name),
);

function oneOf<Value>(random: Random, values: readonly [Value, ...Value[]]): Value {
  return values[random(values.length)] ?? values[0];
}

function text(random: Random, length: number): string {
  const letters = `{}[]",:\\/0123456789-_.eE+ \n\t\0\u2028éabcsvconfiglist`;
  return Array.from({ length: random(length) }, () => letters[random(letters.length)]).join("");
}

/** Any value; values that often cause bugs appear more often than by chance. */
function value(random: Random, depth: number): unknown {
  switch (random(depth > 4 ? 8 : 11)) {
    case 0:
      return null;
    case 1:
      return random(2) === 0;
    case 2:
      return oneOf(random, [0, -1, 1e308, -0, 2 ** 53, 0.1, 1e-320]);
    case 3:
      return text(random, 40);
    case 4:
      return "x".repeat(random(5_000));
    case 5:
      return oneOf(random, ["shop", "svc.timeout", "svc", "__proto__", "constructor", "*", "", "..", "\0"]);
    case 6:
      return random(1_000);
    case 7:
      return { _placeholder: true, num: oneOf(random, [0, -1, 9, "0"]) };
    case 8:
      return Array.from({ length: random(6) }, () => value(random, depth + 1));
    case 9:
      return nested(random(60));
    default:
      return Object.fromEntries(Array.from({ length: random(6) }, () => [name(random), value(random, depth + 1)]));
  }
}

function nested(levels: number): unknown {
  let inner: unknown = 1;
  for (let level = 0; level < levels; level++) inner = level % 2 === 0 ? [inner] : { a: inner };
  return inner;
}

function name(random: Random): string {
  const known = ["repo", "field", "fields", "scope", "svc.timeout", "svc.services", "revision", "to", "name", "id"];
  return random(3) === 0
    ? text(random, 10)
    : oneOf(random, ["limit", "after", "query", "grants", "since", "text", "expected", "path", "__proto__", ...known]);
}

/** What an operation accepts, or most of it. Of paths and work trees there is nothing: no test may write outside the home. */
const likely: { readonly [name: string]: unknown } = {
  ...{
    repo: "shop",
    scope: "svc",
    field: "svc.timeout",
    fields: ["svc.timeout"],
    revision: 1,
    to: 1,
    since: 1,
    limit: 2,
  },
  ...{ id: "shop", name: "n", query: "x", text: "{}", label: "x", drafts: [{ repo: "shop", field: "svc.timeout" }] },
  ...{ edits: [{ field: "svc.proxy_aliases", op: "add", value: "a" }], grants: [], dryRun: false, "svc.timeout": 30 },
};

/** Arguments of an operation, most of which are right. */
function nearlyRight(random: Random, operation: string): object {
  const known = Object.keys(argumentSchemas[operation as OperationName].properties);
  const names = ["svc.timeout", ...known].filter(one => one !== "path" && one !== "inTree" && random(4) > 0);
  return Object.fromEntries(names.map(one => [one, random(8) > 0 && one in likely ? likely[one] : value(random, 2)]));
}

/** A packet: well formed with hostile arguments, or (unless `formed`) damaged, or something else, which ends the connection. */
function packet(random: Random, formed = false): string | Uint8Array<ArrayBuffer> {
  const operation = operations[random(operations.length)] ?? "config/list";
  // Mostly an existing operation, otherwise anything in its place.
  const names = () => (random(8) > 0 ? operation.split("/") : [value(random, 3), value(random, 3)].slice(random(3)));
  const event = () =>
    JSON.stringify(
      random(2) === 0
        ? ["svc", ...operation.split("/"), nearlyRight(random, operation)]
        : ["svc", ...names(), value(random, 0)],
    );
  switch (random(formed ? 5 : 12)) {
    case 0:
    case 1:
    case 2:
    case 3:
      return `42${random(1_000)}${event()}`;
    case 4:
      return `42${event()}`;
    case 5:
      return `4${random(10)}${oneOf(random, ["", "/", "/admin,", "5-", "99999999-", "-1-"])}${event()}`;
    case 6: {
      const whole = `42${random(1_000)}${event()}`;
      return whole.slice(0, random(whole.length));
    }
    case 7: {
      const whole = [...`42${random(1_000)}${event()}`];
      for (let flips = 1 + random(4); flips > 0; flips--) whole[random(whole.length)] = text(random, 3);
      return whole.join("");
    }
    case 8:
      return `${random(10)}${text(random, 200)}`;
    case 9:
      return Uint8Array.from({ length: random(300) }, () => random(256));
    case 10:
      return `45${1 + random(3)}-${random(100)}${JSON.stringify(["svc", "config", "list", { _placeholder: true, num: random(3) }])}`;
    default:
      return oneOf(random, ["", "0", "1", "2probe", "3", "5", "6", "40", "41", "43", "44", "4", "2", "40{}", "451-"]);
  }
}

/** How many packets were sent, how many of them requested an answer, and how many answers arrived. */
interface Attack {
  readonly sent: number;
  readonly asked: number;
  readonly answered: number;
  /** The replies that are not as the protocol says. */
  readonly wrong?: readonly string[];
}

/** What is wrong with a reply: its members, or the code, name, message or subject of an error. */
function malformed(packet: string): string[] {
  const reply = JSON.parse(packet.replace(/^43\d+/, ""))[0];
  const isKnown = (names: string, one: object) => Object.keys(one).every(name => names.split(" ").includes(name));
  const isError = ({ code, name, message, repo = "", field = "", details = {}, ...more }: Record<string, unknown>) =>
    code !== 1500 &&
    protocolCodes[Number(code)] === name &&
    /\S/.test(String(message)) &&
    [typeof repo, typeof field, typeof details].join() === "string,string,object" &&
    isKnown("", more);
  const isReply =
    "result" in reply &&
    isKnown("result errors revision next repo waits schemas linked layers masked typed", reply) &&
    reply.errors.every(isError);
  return isReply ? [] : [packet.slice(0, 500)];
}

const answersIn = (packets: readonly string[]) => packets.filter(one => /^43\d+\[/.test(one)).length;

/** Sends random packets on a separate connection until it is cut off or has sent enough. */
async function attackByWebSocket(t: TestDaemon, random: Random, packets: number): Promise<Attack> {
  const hasKey = random(6) > 0;
  // The daemon reads nothing before it has answered the handshake.
  using raw = await openRawWebSocket(t.url, hasKey ? t.ownerKey : undefined);
  const formed = random(2) === 0;
  let sent = 0;
  let asked = 0;
  while (sent < packets && raw.socket.readyState === WebSocket.OPEN) {
    const one = packet(random, formed);
    raw.socket.send(one);
    sent++;
    if (hasKey && formed && /^42\d/.test(String(one))) asked++;
    if (random(8) === 0) await delay(1);
  }
  if (asked > 0) await until(() => raw.closed || answersIn(raw.received) >= asked, "the answers");
  const wrong = raw.received.filter(one => /^43\d+\[/.test(one)).flatMap(malformed);
  return { sent, asked, answered: asked > 0 ? answersIn(raw.received) : 0, wrong };
}

async function attackByPolling(t: TestDaemon, random: Random): Promise<Attack> {
  const { target } = await beginPolling(t.url);
  const ask = (address: string, options?: RequestInit) =>
    fetch(address, options)
      .then(answer => answer.text())
      .catch(() => "");
  const own = t.url + target;
  await ask(own, { method: "POST", body: `40${JSON.stringify({ apiKey: t.ownerKey })}` });
  await ask(own);
  const address = random(5) === 0 ? `${t.url}${pollingHandshake}&sid=${text(random, 20)}` : own;
  const parts = Array.from({ length: 5 }, () => packet(random));
  const body = parts.map(part => (typeof part === "string" ? part : `b${Buffer.from(part).toString("base64")}`));
  const method = oneOf(random, ["POST", "POST", "POST", "PUT", "DELETE", "OPTIONS"]);
  await ask(address, { method, body: body.join(oneOf(random, ["\x1e", "\x1e", "\n", ""])) });
  await ask(address, { method: "POST", body: "1" });
  return { sent: parts.length, asked: 0, answered: 0 };
}

/** One-shot requests, most with right headers; resolves with what was answered before the daemon closed the connection. */
async function attackByPost(t: TestDaemon, path: string, random: Random): Promise<Attack> {
  const formed = random(2) === 0;
  const hasKey = random(6) > 0;
  let asked = 0;
  const requests = Array.from({ length: 20 }, () => {
    const operation = operations[random(operations.length)] ?? "config/list";
    const whole = requestOf(
      hasKey ? t.ownerKey : text(random, 40).replace(/[^\w]/g, ""),
      operation,
      nearlyRight(random, operation),
    );
    if (formed) asked += hasKey ? 1 : 0;
    if (formed || random(3) > 0) return whole;
    const at = random(whole.length);
    return oneOf(random, [whole.slice(0, at), whole.slice(0, at) + text(random, 20) + whole.slice(at)]);
  });
  using raw = await openRaw(path);
  raw.socket.write(requests.join(""));
  const bodies = () => raw.received.split(/HTTP\/1\.1 \d+ [^{]*/).slice(1);
  if (asked > 0) await until(() => bodies().length >= asked, "the answers");
  else raw.socket.end();
  const complete = asked > 0 ? bodies() : [];
  return {
    sent: requests.length,
    asked,
    answered: complete.length,
    wrong: complete.flatMap(one => malformed(`[${one}]`)),
  };
}

/** Sends requests that no real client would send. */
async function attackByHttp(t: TestDaemon, random: Random): Promise<Attack> {
  const { host, hostname, port } = new URL(t.url);
  const method = oneOf(random, ["GET", "POST", "get", "", "\0", "CONNECT", "TRACE", "X".repeat(100)]);
  const targets = [
    "/",
    "*",
    "//",
    "/socket.io/?EIO=4",
    "/socket.io/?EIO=9&transport=x&sid=y",
    "/identity?nonce=%",
    "?",
    "",
  ];
  const target = oneOf(random, ["/livez", ...targets, `/${text(random, 100)}`, `http://${host}/livez`]);
  const headers = [
    `Host: ${host}`,
    oneOf(random, ["Connection: Upgrade\r\nUpgrade: websocket", "Upgrade: h2c", "Transfer-Encoding: chunked", "X: y"]),
    oneOf(random, ["Content-Length: 5", "Content-Length: -1", "Content-Length: 99999999999999999999", "A: b"]),
    `X-${text(random, 5)}: ${text(random, 50)}`,
  ];
  const request = `${method} ${target} HTTP/1.${random(3)}\r\n${headers.join("\r\n")}\r\n\r\n${text(random, 100)}`;
  if (random(6) > 0) await sendBytes(t.url, request);
  else {
    // Partially sent, and then cut off.
    const socket = connectTcp({ host: hostname, port: Number(port) });
    socket.on("error", () => {});
    await new Promise(resolve => socket.once("connect", resolve));
    socket.write(request.slice(0, random(request.length)));
    socket.destroy();
  }
  return { sent: 1, asked: 0, answered: 0 };
}

test("S10 hostile packets neither crash nor starve the daemon: random packets by websocket, polling, HTTP and one-shot requests, other clients answered throughout", async () => {
  await using t = await startTestDaemon({ repositories: ["shop"] });
  const random = randomNumbers(seed);
  const path = await socketOf(t.homeFolder);
  const total = amount(3_000, 150_000);
  const members = Object.getOwnPropertyNames(Object.prototype);
  const crashes: string[] = [];
  const onCrash = (error: unknown) => void crashes.push(String(error));
  process.on("uncaughtExceptionMonitor", onCrash);
  // In a separate process, these would also end the daemon.
  process.on("unhandledRejection", onCrash);
  const { socket, call } = await t.connect();
  let answers = 0;
  let slowest = 0;
  let done = false;
  const neighbour = (async () => {
    while (!done) {
      const before = performance.now();
      // Reads the key itself, because hostile sets may have legitimately changed any value.
      const { errors } = await call("key/self");
      if (errors.length > 0) crashes.push(JSON.stringify(errors));
      slowest = Math.max(slowest, performance.now() - before);
      answers++;
      await delay(2);
    }
  })();
  let sent = 0;
  let asked = 0;
  let answered = 0;
  while (sent < total) {
    const which = random(11);
    const attack =
      which < 6
        ? attackByWebSocket(t, random, 50)
        : which === 10
          ? attackByPost(t, path, random)
          : (which < 8 ? attackByPolling : attackByHttp)(t, random);
    const tried = await attack;
    sent += tried.sent;
    asked += tried.asked;
    answered += tried.answered;
    crashes.push(...(tried.wrong ?? []));
  }
  done = true;
  await neighbour;
  process.off("uncaughtExceptionMonitor", onCrash);
  process.off("unhandledRejection", onCrash);
  const cut = socket.connected ? 0 : 1;
  expect(Object.getOwnPropertyNames(Object.prototype)).toEqual(members);
  // Whatever ids the packets named, the folder holds only files of repositories.
  const files = await readdir(join(t.homeFolder, "repos"));
  expect(files.filter(file => !/^[A-Za-z0-9][A-Za-z0-9_-]*\.json$/.test(file))).toEqual([]);
  const surprises = t.log.filter(line => line.includes("internal error in an operation"));
  const failed = crashes.length + surprises.length + cut + (asked - answered);
  const note = `${answered} of them answered by an operation; ${answers} replies to another client in the meantime, the slowest after ${Math.round(slowest)} ms`;
  reportPromise({ row: "S10", tried: sent, failed, note });
  expect(crashes).toEqual([]);
  expect(surprises).toEqual([]);
  expect(cut).toBe(0);
  expect(answers).toBeGreaterThan(10);
  // Each valid request gets its answer, and there are enough of them to make the test meaningful.
  expect(answered).toBe(asked);
  expect(asked).toBeGreaterThan(sent / 4);
  expect((await (await t.connect()).call("key/self")).errors).toEqual([]);
  await t.restart();
  expect((await t.owner.call("key/self")).errors).toEqual([]);
});
