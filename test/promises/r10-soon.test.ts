import { performance } from "node:perf_hooks";
import { expect, test } from "vitest";
import { until } from "../helpers/daemon.ts";
import { amount, reportPromise } from "../helpers/promise.ts";
import { type Shop, saveByRename, shopText, startShop } from "../helpers/shop.ts";

/** Milliseconds from before `change` runs to its event at the watching client. */
async function latencies(
  shop: Shop,
  times: number,
  change: (timeout: number) => Promise<unknown>,
): Promise<readonly number[]> {
  const taken: number[] = [];
  for (let timeout = 1; timeout <= times; timeout++) {
    const { promise: seen, resolve } = Promise.withResolvers<number>();
    const listen = (resource: string, _operation: string, payload: { readonly changes?: unknown }) => {
      if (resource === "config" && JSON.stringify(payload.changes).includes(`"value":${timeout},`))
        resolve(performance.now());
    };
    shop.t.owner.socket.on("svc", listen);
    const began = performance.now();
    await change(timeout);
    taken.push((await seen) - began);
    shop.t.owner.socket.off("svc", listen);
  }
  return taken.sort((one, other) => one - other);
}

const figures = (taken: readonly number[]) => {
  const at = (share: number) => (taken[Math.floor(taken.length * share)] ?? 0).toFixed(1);
  return `p50 ${at(0.5)} ms, p99 ${at(0.99)} ms`;
};

// A figure and no assertion of time: that belongs to a machine with nothing else to do.
test("R10 changes arrive soon: set to event, hand edit to event", async () => {
  const times = amount(100, 1_000);
  await using shop = await startShop();
  const sets = await latencies(shop, times, timeout => shop.set({ "svc.timeout": timeout }));
  reportPromise({ row: "R10", tried: times, failed: 0, note: `set to event ${figures(sets)}; wanted: 10 ms` });
  await using other = await startShop();
  const edits = await latencies(other, times, timeout =>
    saveByRename(other.file, shopText.replace("30", `${timeout}`)),
  );
  reportPromise({ row: "R10", tried: times, failed: 0, note: `hand edit to event ${figures(edits)}; wanted: 250 ms` });
  await until(() => other.sources().length === times, "the last event");
  expect(sets).toHaveLength(times);
  expect(new Set(other.sources())).toEqual(new Set(["file"]));
});
