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
    expect(reply.errors).toEqual([]);
    expect(reply.result).toMatchObject([
      {
        repo: "shop",
        revision: 5,
        config: { svc: { timeout: { value: 30 }, refresh_day: { value: 2 }, domain: { value: "" } } },
      },
    ]);
    expect(Object.keys(reply.result[0]?.config["svc"] ?? {})).toHaveLength(3);
    expect(await stored(shop)).toEqual({ timeout: 30, refresh_day: 2 });
    expect(await shop.read()).not.toContain("b.test");
    const { result } = await shop.t.owner.call("history/list", { repo: "shop", limit: 1 });
    expect(result).toMatchObject([{ revision: 5, actor: "owner", source: "restore", reason: "it was better" }]);
    await until(() => shop.sources().at(-1) === "restore", "the event");
  });

  test("of some fields leaves the others unchanged", async () => {
    await using shop = await startWithHistory();
    const { result, errors } = await restore(shop, { to: 1, fields: ["svc.timeout", "svc.domain"] });
    expect(errors).toEqual([]);
    expect(Object.keys(result[0]?.config["svc"] ?? {}).sort()).toEqual(["domain", "timeout"]);
    expect(await stored(shop)).toEqual({ timeout: 30 });
  });

  test("of the current values makes no revision", async () => {
    await using shop = await startWithHistory();
    expect(await restore(shop, { to: 4 })).toEqual({ result: [{ repo: "shop", revision: 4, config: {} }], errors: [] });
    expect((await restore(shop, { to: 2, fields: ["svc.timeout"] })).result).toMatchObject([{ revision: 4 }]);
    expect(await shop.revision()).toBe(4);
  });

  test("with dryRun reports what it would do, and does nothing", async () => {
    await using shop = await startWithHistory();
    const before = await shop.read();
    const { result } = await restore(shop, { to: 1, dryRun: true });
    expect(result).toMatchObject([{ revision: 5, config: { svc: { timeout: { value: 30 } } } }]);
    expect(await shop.read()).toBe(before);
    expect(await shop.revision()).toBe(4);
  });

  test("with an expected revision is refused with 1104 if another one is current", async () => {
    await using shop = await startWithHistory();
    const stale = await restore(shop, { to: 1, revision: 3 });
    expect(stale).toMatchObject({ result: [], errors: [{ code: 1104, repo: "shop", details: { current: 4 } }] });
    expect(await shop.revision()).toBe(4);
    expect((await restore(shop, { to: 1, revision: 4 })).errors).toEqual([]);
  });

  test("restores nothing if it is atomic and a field is unknown, and otherwise the other fields", async () => {
    await using shop = await startWithHistory();
    const fields = ["svc.timeout", "svc.nothing"];
    const atomic = await restore(shop, { to: 1, fields, atomic: true });
    expect(atomic).toMatchObject({ result: [], errors: [{ code: 1007, field: "svc.nothing" }] });
    expect(await shop.revision()).toBe(4);
    const partly = await restore(shop, { to: 1, fields });
    expect(partly).toMatchObject({ result: [{ revision: 5 }], errors: [{ code: 1007, field: "svc.nothing" }] });
  });

  test.each<[title: string, args: { [name: string]: unknown }, code: number]>([
    ["without a repository", { repo: "", to: 1 }, 1006],
    ["in an unknown repository", { repo: "nowhere", to: 1 }, 1007],
    ["without a revision", {}, 1101],
    ["to a revision that never existed", { to: 99 }, 1112],
    ["of no fields", { to: 1, fields: [] }, 1008],
  ])("%s is refused", async (_title, args, code) => {
    await using shop = await startWithHistory();
    expect(await restore(shop, args)).toMatchObject({ result: [], errors: [{ code }] });
    expect(await shop.revision()).toBe(4);
  });

  test("of a broken file is refused with 1106", async () => {
    await using shop = await startWithHistory();
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
