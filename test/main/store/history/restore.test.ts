import { describe, expect, test } from "vitest";
import { breakFile } from "../../../helpers/broken-file.ts";
import { until } from "../../../helpers/daemon.ts";
import { type Shop, startShop } from "../../../helpers/shop.ts";

/** Revision 1: timeout 30, refresh_day 2. 2: timeout 31, domain a.test. 3: refresh_day unset. 4: domain b.test. */
async function startWithHistory(): Promise<Shop> {
  const shop = await startShop();
  await shop.set({ "svc.timeout": 31, "svc.domain": "a.test" });
  await shop.t.owner.call("config/unset", { repo: "shop", fields: ["svc.refresh_day"] });
  await shop.set({ "svc.domain": "b.test" });
  return shop;
}

const restore = (shop: Shop, args: { readonly [name: string]: unknown }) =>
  shop.t.owner.call("history/restore", { repo: "shop", ...args });
const stored = async (shop: Shop) =>
  (await shop.t.owner.call("config/list", { repo: "shop", stored: true })).result["svc"];

describe("history/restore", () => {
  test("restores all fields, also deleted ones, and removes those that did not exist, in one revision", async () => {
    await using shop = await startWithHistory();
    const reply = await restore(shop, { to: 1, reason: "it was better" });
    const svc = { timeout: { value: 30 }, refresh_day: { value: 2 }, domain: { value: "" } };
    expect(reply).toMatchObject({ result: [{ repo: "shop", revision: 5, config: { svc } }], errors: [] });
    expect(Object.keys(reply.result[0]?.config["svc"] ?? {})).toHaveLength(3);
    expect(await stored(shop)).toEqual({ timeout: 30, refresh_day: 2 });
    expect(await shop.read()).not.toContain("b.test");
    const { result } = await shop.t.owner.call("history/list", { repo: "shop", limit: 1 });
    expect(result).toMatchObject([{ revision: 5, actor: "owner", source: "restore", reason: "it was better" }]);
    await until(() => shop.sources().at(-1) === "restore", "the event");
  });

  test("changes nothing if nothing would differ, in a dry run, or if it is refused; unless it is atomic, only unknown fields are refused", async () => {
    await using shop = await startWithHistory();
    const before = await shop.read();
    expect(await restore(shop, { to: 4 })).toEqual({ result: [{ repo: "shop", revision: 4, config: {} }], errors: [] });
    expect((await restore(shop, { to: 2, fields: ["svc.timeout"] })).result).toMatchObject([{ revision: 4 }]);
    const { result } = await restore(shop, { to: 1, dryRun: true });
    expect(result).toMatchObject([{ revision: 5, config: { svc: { timeout: { value: 30 } } } }]);
    const unknown = ["svc.timeout", "svc.nothing"];
    const absent = { code: 1007, field: "svc.nothing" };
    const conflict = { code: 1104, repo: "shop", details: { current: 4 } };
    for (const [args, error] of [
      [{ repo: "", to: 1 }, { code: 1006 }],
      [{ repo: "nowhere", to: 1 }, { code: 1007 }],
      [{}, { code: 1101 }],
      [{ to: 99 }, { code: 1112 }],
      [{ to: 1, fields: [] }, { code: 1008 }],
      [{ to: 1, revision: 3 }, conflict],
      [{ to: 1, fields: unknown, atomic: true }, absent],
    ] as const)
      expect(await restore(shop, args)).toMatchObject({ result: [], errors: [error] });
    expect([await shop.read(), await shop.revision()]).toEqual([before, 4]);
    const partly = await restore(shop, { to: 1, revision: 4, fields: unknown });
    expect(partly).toMatchObject({ result: [{ revision: 5 }], errors: [absent] });
    await breakFile(shop.t, "shop");
    expect(await restore(shop, { to: 1 })).toMatchObject({ result: [], errors: [{ code: 1106 }] });
  });

  test("enforces the rules across fields with 1103, and restores the rest", async () => {
    await using shop = await startShop();
    await shop.set({ "svc.services": { web: { ready: "true", image: "web:1" } }, "svc.timeout": 31 });
    await shop.set({ "svc.default": "web", "svc.timeout": 32 });
    const { result, errors } = await restore(shop, { to: 1, fields: ["svc.services", "svc.timeout"] });
    expect(errors).toMatchObject([{ code: 1103, field: "svc.services" }]);
    expect(Object.keys(result[0]?.config["svc"] ?? {})).toEqual(["timeout"]);
    expect(await stored(shop)).toMatchObject({ timeout: 30, default: "web" });
  });

  test("restores only what the key may write, and reveals nothing else to it", async () => {
    await using shop = await startWithHistory();
    const tool = await shop.t.connectWith([{ repos: "*", fields: ["svc.timeout"], right: "write" }]);
    const all = await tool.call("history/restore", { repo: "shop", to: 1 });
    expect(all.errors).toEqual([]);
    expect(all.result).toMatchObject([{ revision: 5, config: { svc: { timeout: { value: 30 } } } }]);
    expect(JSON.stringify(all)).not.toMatch(/domain|refresh_day/);
    expect(await stored(shop)).toEqual({ timeout: 30, domain: "b.test" });
    const named = await tool.call("history/restore", { repo: "shop", to: 1, fields: ["svc.domain"] });
    expect(named.errors).toMatchObject([{ code: 1007, field: "svc.domain" }]);
    expect(await shop.value("domain")).toBe("b.test");
    const reader = await shop.t.connectWith([{ repos: "*", fields: ["*"], right: "read" }]);
    // It does not even learn whether there is such a revision.
    for (const to of [1, 99])
      expect((await reader.call("history/restore", { repo: "shop", to })).errors).toMatchObject([{ code: 1007 }]);
  });
});

test("a restore of all fields reports those that it could not restore because their old values were erased", async () => {
  await using shop = await startShop();
  const { owner } = shop.t;
  await shop.set({ "svc.domain": "a.secret", "svc.provider": "p" });
  await shop.set({ "svc.domain": "open.test" });
  await owner.call("history/forget", { repo: "shop", field: "svc.domain" });
  for (const dryRun of [true, false]) {
    const reply = await owner.call("history/restore", { repo: "shop", to: 1, dryRun });
    expect(reply.errors).toEqual([]);
    expect(reply.result).toMatchObject([{ config: { svc: { provider: { value: "" } } }, forgotten: ["svc.domain"] }]);
    expect(Object.keys(reply.result[0]?.config["svc"] ?? {})).toEqual(["provider"]);
  }
  expect(await shop.value("domain")).toBe("open.test");
  // Nothing is left to restore except what cannot be restored.
  const again = await owner.call("history/restore", { repo: "shop", to: 1 });
  expect(again).toEqual({ result: [{ repo: "shop", revision: 4, config: {}, forgotten: ["svc.domain"] }], errors: [] });
  // The field's values since its last change are known.
  expect((await owner.call("history/restore", { repo: "shop", to: 3 })).result[0]).not.toHaveProperty("forgotten");
  // A key learns nothing about fields that it may not write.
  const tool = await shop.t.connectWith([{ repos: "*", fields: ["svc.timeout"], right: "write" }]);
  expect(JSON.stringify(await tool.call("history/restore", { repo: "shop", to: 1 }))).not.toContain("domain");
});
