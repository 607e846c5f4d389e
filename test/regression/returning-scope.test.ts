import { mkdir, unlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { until } from "../helpers/daemon.ts";
import { shopText, startShop } from "../helpers/shop.ts";

const schema = JSON.stringify({ type: "object", properties: { replicas: { type: "integer", default: 1 } } });

test("sets that run while a scope's schema goes and comes back say nothing of its values: those of the past stay", async () => {
  await using shop = await startShop(shopText.replace('"svc": {', '"deploy": { "replicas": 3 },\n    "svc": {'));
  const file = join(shop.t.homeFolder, "scopes/deploy.schema.json");
  await mkdir(join(shop.t.homeFolder, "scopes"), { recursive: true });
  const isThere = async () => (await shop.t.owner.call("scope/list")).result.some(({ scope }) => scope === "deploy");
  let timeout = 100;
  const setUntil = async (condition: () => Promise<boolean>, what: string) => {
    let sets = 0;
    await until(async () => {
      expect((await shop.set({ "svc.timeout": ++timeout })).errors).toEqual([]);
      return ++sets > 3 && (await condition());
    }, what);
  };
  await writeFile(file, schema);
  await until(isThere, "the scope");
  await until(
    async () =>
      (await shop.t.owner.call("config/list", { repo: "shop", stored: true })).result["deploy"]?.["replicas"] === 3,
    "its value",
  );
  const first = (await shop.revision()) ?? 0;

  for (let round = 0; round < 3; round++) {
    await unlink(file);
    await setUntil(async () => !(await isThere()), "the scope to go");
    await setUntil(async () => true, "some sets without it");
    await writeFile(file, schema);
    await setUntil(isThere, "the scope to come back");
    await setUntil(async () => true, "some sets with it");
  }

  const last = (await shop.revision()) ?? 0;
  expect(last - first).toBeGreaterThan(30);
  const past: unknown[] = [];
  for (let revision = first; revision <= last; revision++) {
    const { result } = await shop.t.owner.call("config/list", { repo: "shop", revision, stored: true });
    past.push(result["deploy"]?.["replicas"]);
  }
  expect(past).toEqual(past.map(() => 3));
  const { result: history } = await shop.t.owner.call("history/list", { repo: "shop", limit: 1_000 });
  const since = history.filter(({ revision }) => revision > first);
  expect(since.filter(({ changes }) => Object.keys(changes).join() !== "svc")).toEqual([]);
  expect(since.filter(({ source }) => source !== "set")).toEqual([]);
});
