import { once } from "node:events";
import { expect, test } from "vitest";
import type { ConfigChanged } from "../../../shared/protocol.ts";
import { startTestDaemon, type TestDaemon, until } from "../../helpers/daemon.ts";
import { openRawPolling, type RawPolling } from "../../helpers/raw-polling.ts";

/** The limit of python-engineio, `Payload.max_decode_packets`. */
const most = 16;

const asking = (id: number, operation: string, args: object = {}) =>
  `42${id}${JSON.stringify(["svc", ...operation.split("/"), args])}`;
const questions = (count: number) => Array.from({ length: count }, (_, id) => asking(id, "key/self"));
/** The ids of the replies among these packets. */
const answered = (packets: readonly string[]) =>
  packets.flatMap(packet => /^43(\d+)\[/.exec(packet)?.slice(1).map(Number) ?? []);
const inOrder = (count: number, first = 0) => Array.from({ length: count }, (_, index) => first + index);

/** Polls until a packet makes `isEnd` true; returns all packets and the most that one payload had. */
async function pollUntil(client: RawPolling, isEnd: (packets: readonly string[]) => boolean) {
  const packets: string[] = [];
  let largest = 0;
  while (!isEnd(packets)) {
    const payload = await client.poll();
    largest = Math.max(largest, payload.length);
    packets.push(...payload);
  }
  return { packets, largest };
}

function changesIn(packets: readonly string[]): ConfigChanged[] {
  return packets.flatMap(packet => {
    if (!packet.startsWith("42[")) return [];
    const [, , event, payload]: [string, string, string, ConfigChanged] = JSON.parse(packet.slice(2));
    return event === "changed" ? [payload] : [];
  });
}

async function set(t: TestDaemon, repo: string, values: readonly number[]): Promise<void> {
  const replies = await Promise.all(values.map(value => t.owner.call("config/set", { repo, "svc.timeout": value })));
  for (const { errors } of replies) expect(errors).toEqual([]);
}

test("over polling, 64 requests at once are all answered, in payloads of at most 16 packets", async () => {
  await using t = await startTestDaemon();
  const client = await openRawPolling(t.url, t.ownerKey);
  await client.post(...questions(64));
  const { packets, largest } = await pollUntil(client, seen => answered(seen).length >= 64);
  expect(answered(packets)).toEqual(inOrder(64));
  expect(largest).toBeLessThanOrEqual(most);
  // As many as possible, because each payload takes a request.
  expect(largest).toBeGreaterThanOrEqual(most - 1);
});

test("over polling, past changes, events and progress arrive in order, in payloads of at most 16 packets", async () => {
  await using t = await startTestDaemon();
  const repo = await t.addRepository("shop");
  await set(t, repo, inOrder(100));
  const grants = [{ repos: "*", fields: ["svc.timeout"], right: "read" }];
  const { result } = await t.owner.call("key/create", { name: "half", grants });
  const client = await openRawPolling(t.url, result.key);
  await client.post(asking(0, "config/watch", { repo, since: 1, progress: true }));
  const past = await pollUntil(client, seen => changesIn(seen).length >= 100);
  // Nothing is polled while these are made.
  await set(t, repo, inOrder(100, 1000));
  for (const port of inOrder(50, 8000)) await t.owner.call("config/set", { repo, "svc.default_port": `${port}` });
  const progressIn = (packets: readonly string[]) =>
    packets.filter(packet => packet.startsWith(`42["svc","config","progress"`));
  const live = await pollUntil(client, seen => progressIn(seen).length >= 2);
  const changes = changesIn([...past.packets, ...live.packets]);
  expect(changes.map(({ revision }) => revision)).toEqual(inOrder(200, 2));
  expect(Math.max(past.largest, live.largest)).toBeLessThanOrEqual(most);
});

test("a connection over polling that the daemon closes first gets everything that waits for it", async () => {
  await using t = await startTestDaemon();
  const { result } = await t.owner.call("key/create", { name: "tool", grants: [] });
  const client = await openRawPolling(t.url, result.key);
  // With the goodbye, three full payloads, in which the packet that closes the connection has no place.
  const asked = 3 * most - 1;
  await client.post(...questions(asked));
  // The last thing that waits: the goodbye of the revoked key.
  expect((await t.owner.call("key/revoke", { id: result.id })).errors).toEqual([]);
  const { packets, largest } = await pollUntil(client, seen => seen.includes("1"));
  expect(answered(packets)).toEqual(inOrder(asked));
  expect(packets.slice(asked).filter(packet => packet !== "6")).toEqual(["41", "1"]);
  expect(largest).toBeLessThanOrEqual(most);
  await expect(client.poll()).rejects.toThrow("Session ID unknown");
});

test("what one payload cannot hold arrives by the WebSocket to which the connection is upgraded", async () => {
  await using t = await startTestDaemon();
  const client = await openRawPolling(t.url, t.ownerKey);
  await client.post(...questions(40));
  const polled = await client.poll();
  expect(polled.length).toBeLessThanOrEqual(most);
  const target = client.target.replace("transport=polling", "transport=websocket");
  const socket = new WebSocket(t.url.replace("http:", "ws:") + target);
  const received: string[] = [];
  socket.addEventListener("message", ({ data }) => void received.push(String(data)));
  await once(socket, "open");
  socket.send("2probe");
  await until(() => received.includes("3probe"), "the answer to the probe");
  socket.send("5");
  await until(() => answered(received).length >= 40 - polled.length, "the other replies");
  expect(answered([...polled, ...received])).toEqual(inOrder(40));
  socket.close();
});

test("what one payload leaves waiting counts as unread: a client that polls too slowly is disconnected", async () => {
  await using t = await startTestDaemon();
  const repo = await t.addRepository("shop");
  const client = await openRawPolling(t.url, t.ownerKey);
  await client.post(asking(0, "config/watch", { repo }));
  await client.poll();
  let revision = 1;
  const change = async (times: number) => {
    for (let time = 0; time < times; time++) {
      const services = { web: { ready: "", image: `${revision++}`.padEnd(150_000, "x") } };
      expect((await t.owner.call("config/set", { repo, "svc.services": services })).errors).toEqual([]);
    }
  };
  const isDropped = () => t.log.some(line => line.includes("bytes of unread events"));
  // Each event also has the value before, so 50 of them are 15 MB of the 16 MiB that may wait. A payload takes at most 16 of them.
  await change(50);
  expect(changesIn(await client.poll()).length).toBeLessThan(most);
  expect(isDropped()).toBe(false);
  await change(14);
  expect(isDropped()).toBe(false);
  await change(16);
  await until(isDropped, "the slow client to be disconnected");
});
