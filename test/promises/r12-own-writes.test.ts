import { expect, test } from "vitest";
import { until } from "../helpers/daemon.ts";
import { amount, reportPromise } from "../helpers/promise.ts";
import { startShop } from "../helpers/shop.ts";

test("R12 the daemon's own writes are never reported as hand edits", async () => {
  const sets = amount(500, 10_000);
  // The folder is rescanned constantly, so that a rescan falls into every step of a write.
  await using shop = await startShop(undefined, { rescanInterval: 5 });
  let next = 0;
  let refused = 0;
  const work = async (until: number, flush: boolean, client = shop.t.owner) => {
    while (next < until) {
      const fields = { "svc.timeout": 1 + (next++ % 86_000), "svc.domain": `${next}.test` };
      const { errors } = await client.call("config/set", { repo: "shop", flush, ...fields });
      refused += errors.length;
    }
  };
  // First some sets in separate writes, then many that share writes, then sets that arrive during writes.
  await work(sets / 10, true);
  await Promise.all(Array.from({ length: 16 }, () => work(sets / 2, true)));
  const clients = await Promise.all(Array.from({ length: 16 }, () => shop.t.connect()));
  await Promise.all(clients.map(client => work(sets, false, client)));
  const last = (await shop.revision()) ?? 0;
  const isLast = () =>
    shop.t.owner.events.some(([resource, , payload]) => resource === "config" && payload.revision === last);
  await until(isLast, "the last event");
  const foreign = shop.sources().filter(source => source !== "set");
  const { result } = await shop.t.owner.call("history/list", { repo: "shop", limit: 1_000 });
  // The file's own values are the first revision.
  const inHistory = result.filter(({ source, revision }) => source !== "set" && revision > 1);
  const note = `${await shop.revision()} revisions, ${foreign.length} events with another source`;
  reportPromise({ row: "R12", tried: sets, failed: foreign.length + inHistory.length + refused, note });
  expect(refused).toBe(0);
  expect(foreign).toEqual([]);
  expect(inHistory).toEqual([]);
  expect(await shop.revision()).toBe(sets + 1);
});
