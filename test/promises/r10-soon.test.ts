import { watch } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { Server } from "socket.io";
import { expect, test } from "vitest";
import type { EventMessage } from "../../shared/protocol.ts";
import { until } from "../helpers/daemon.ts";
import { writeDurably } from "../helpers/durable-write.ts";
import { openSocket } from "../helpers/open-socket.ts";
import { amount, reportPromise } from "../helpers/promise.ts";
import { saveByRename, shopText, startShop } from "../helpers/shop.ts";
import { temporaryFolder } from "../helpers/temporary-folder.ts";

/** Makes the change with this number, and resolves when a client received its event. */
type Change = (number: number) => Promise<void>;

/** Milliseconds from before each change to its event, sorted. */
interface Latencies {
  readonly ours: readonly number[];
  readonly floor: readonly number[];
}

/** Measures both in turns, so that other load on the machine slows both. */
async function latencies(times: number, { ours, floor }: { ours: Change; floor: Change }): Promise<Latencies> {
  const timed = async (change: Change, number: number) => {
    const began = performance.now();
    await change(number);
    return performance.now() - began;
  };
  const taken = { ours: [] as number[], floor: [] as number[] };
  for (let number = 1; number <= times; number++) {
    taken.ours.push(await timed(ours, number));
    taken.floor.push(await timed(floor, number));
  }
  const sorted = (numbers: readonly number[]) => numbers.toSorted((one, other) => one - other);
  return { ours: sorted(taken.ours), floor: sorted(taken.floor) };
}

const at = (sorted: readonly number[], share: number) => sorted[Math.floor(sorted.length * share)] ?? 0;
const figures = (sorted: readonly number[]) =>
  `p50 ${at(sorted, 0.5).toFixed(1)} ms, p99 ${at(sorted, 0.99).toFixed(1)} ms`;

/** `next` resolves when a client has received the event of the change with this number. */
function makeEvents() {
  const waiting = new Map<number, () => void>();
  return {
    heard: (number: number) => waiting.get(number)?.(),
    next: (number: number) => new Promise<void>(resolve => void waiting.set(number, resolve)),
  };
}

async function startWatchedShop() {
  const shop = await startShop();
  const events = makeEvents();
  shop.t.owner.socket.on("svc", (...[resource, , payload]: EventMessage) => {
    if (resource === "config") events.heard(Number(payload.changes["svc"]?.["timeout"]?.value));
  });
  return { shop, events };
}

/** The same socket without Repoconf. On "set", it replaces a file durably, then sends an event. */
async function startBareServer() {
  const stack = new AsyncDisposableStack();
  const { path: folder } = stack.use(await temporaryFolder());
  const http = createServer();
  const io = new Server(http, { serveClient: false });
  stack.defer(() => io.close());
  const emit = (number: number) => void io.emit("changed", number);
  io.on("connection", socket =>
    socket.on("set", async (number: number) => {
      await writeDurably(folder, "shop.json", shopText.replace("30", `${number}`));
      emit(number);
    }),
  );
  await new Promise<void>(resolve => http.listen(0, "127.0.0.1", resolve));
  const address = http.address();
  if (typeof address !== "object" || address === null) throw new Error("no port");
  const client = await openSocket(`http://127.0.0.1:${address.port}`, undefined);
  stack.defer(() => void client.close());
  const events = makeEvents();
  client.on("changed", (number: number) => events.heard(number));
  return { folder, client, events, emit, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

/**
 * The maximum ratio of ours to the floor. A ratio is independent of machine and moment, unlike a time. It is large, as the floor
 * can be close to 0, yet small enough to detect a delay of a third of a second.
 */
const generous = 10;

function report(what: string, bar: number, { ours, floor }: Latencies): void {
  const late = ours.filter(taken => taken >= bar).length;
  const isMet = late <= ours.length / 100;
  const note = `${what}: ${figures(ours)}; ${late} took ${bar} ms or more (at most 1 in 100 may); the floor: ${figures(floor)}`;
  // These figures assume an idle machine; they are counted, but not asserted.
  reportPromise({ row: "R10", tried: ours.length, failed: isMet ? 0 : late, note });
}

test("R10 changes arrive soon: a set's event, compared with a bare durable write and its event", async () => {
  const { shop, events } = await startWatchedShop();
  await using _shop = shop;
  await using bare = await startBareServer();
  const taken = await latencies(amount(100, 1_000), {
    ours: async number => {
      const event = events.next(number);
      expect((await shop.set({ "svc.timeout": number })).errors).toEqual([]);
      await event;
    },
    floor: async number => {
      const event = bare.events.next(number);
      bare.client.emit("set", number);
      await event;
    },
  });
  report("set to event", 10, taken);
  expect(at(taken.ours, 0.5) / at(taken.floor, 0.5)).toBeLessThan(generous);
});

test("R10 changes arrive soon: a hand edit's event, compared with the system's bare notification and its event", async () => {
  const { shop, events } = await startWatchedShop();
  await using _shop = shop;
  await using bare = await startBareServer();
  const text = (number: number) => shopText.replace("30", `${number}`);
  let saved = 0;
  const watcher = watch(bare.folder, (_event, name) => {
    if (name === "shop.json") bare.emit(saved);
  });
  const times = amount(100, 1_000);
  const taken = await latencies(times, {
    ours: async number => {
      const event = events.next(number);
      await saveByRename(shop.file, text(number));
      await event;
    },
    floor: async number => {
      const event = bare.events.next(number);
      saved = number;
      await saveByRename(join(bare.folder, "shop.json"), text(number));
      await event;
    },
  });
  watcher.close();
  report("hand edit to event", 250, taken);
  expect(at(taken.ours, 0.5) / at(taken.floor, 0.5)).toBeLessThan(generous);
  await until(() => shop.sources().length === times, "the last event");
  expect(new Set(shop.sources())).toEqual(new Set(["file"]));
});
