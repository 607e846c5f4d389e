import { expect, test } from "vitest";
import { until } from "../helpers/daemon.ts";
import { amount, reportPromise } from "../helpers/promise.ts";
import { startShop } from "../helpers/shop.ts";

test("R12 own writes never come back as hand edits", async () => {
  const sets = amount(500, 10_000);
  // The folder is compared with what is known all the time, so that a look falls into every step of a write.
  await using shop = await startShop(undefined, { sweepInterval: 5 });
  let next = 0;
  let refused = 0;
  const work = async (until: number) => {
    while (next < until) {
      const { errors } = await shop.set({ "svc.timeout": 1 + (next++ % 86_000), "svc.domain": `${next}.test` });
      refused += errors.length;
    }
  };
  // Half of them alone, each in a write of its own; then many that share writes.
  await work(sets / 2);
  await Promise.all(Array.from({ length: 16 }, () => work(sets)));
  const last = (await shop.revision()) ?? 0;
  const isLast = () =>
    shop.t.owner.events.some(([resource, , payload]) => resource === "config" && payload.revision === last);
  await until(isLast, "the last event");
  const foreign = shop.sources().filter(source => source !== "set");
  const { result } = await shop.t.owner.call("history/list", { repo: "shop", limit: 1_000 });
  // The file's own values are the first revision.
  const inHistory = result.filter(({ source, revision }) => source !== "set" && revision > 1);
  const note = `${await shop.revision()} revisions, ${foreign.length} events of another source`;
  reportPromise({ row: "R12", tried: sets, failed: foreign.length + inHistory.length + refused, note });
  expect(refused).toBe(0);
  expect(foreign).toEqual([]);
  expect(inHistory).toEqual([]);
  expect(await shop.revision()).toBe(sets + 1);
});
