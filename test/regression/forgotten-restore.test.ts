import { expect, test } from "vitest";
import { startShop } from "../helpers/shop.ts";

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
