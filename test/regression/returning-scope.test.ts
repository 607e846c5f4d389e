import { mkdir, unlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { ScopeFiles } from "../../main/scopes/scope-files.ts";
import { until } from "../helpers/daemon.ts";
import { shopText, startShop } from "../helpers/shop.ts";

const schema = JSON.stringify({ type: "object", properties: { replicas: { type: "integer", default: 1 } } });

test("sets made while a scope's schema is removed and restored do not record changes of its values: past revisions keep them", async () => {
  await using shop = await startShop(shopText.replace('"svc": {', '"deploy": { "replicas": 3 },\n    "svc": {'));
  const file = join(shop.t.homeFolder, "scopes/deploy.schema.json");
  await mkdir(join(shop.t.homeFolder, "scopes"), { recursive: true });
  let timeout = 100;
  const refused: unknown[] = [];
  const setSome = async () => {
    for (let sets = 0; sets < 3; sets++) refused.push(...(await shop.set({ "svc.timeout": ++timeout })).errors);
  };
  await writeFile(file, schema);
  const replicas = async () =>
    (await shop.t.owner.call("config/list", { repo: "shop", stored: true })).result["deploy"]?.["replicas"];
  await until(async () => (await replicas()) === 3, "the scope's value");
  const first = (await shop.revision()) ?? 0;

  // When this is called, the new rules apply, but no repository has been checked against them yet.
  let changes = 0;
  const writing = vi.spyOn(ScopeFiles.prototype, "writeRepositorySchema").mockImplementation(async () => {
    await setSome();
    changes++;
  });
  await using _ = { [Symbol.asyncDispose]: async () => writing.mockRestore() };
  for (let round = 1; round <= 3; round++) {
    await unlink(file);
    await until(() => changes === 2 * round - 1, "the scope to go");
    await setSome();
    await writeFile(file, schema);
    await until(() => changes === 2 * round, "the scope to come back");
    await setSome();
  }
  await until(async () => (await replicas()) === 3, "the scope's value to be back");
  expect(refused).toEqual([]);

  const last = (await shop.revision()) ?? 0;
  const past: unknown[] = [];
  for (let revision = first; revision <= last; revision++) {
    const { result } = await shop.t.owner.call("config/list", { repo: "shop", revision, stored: true });
    past.push(result["deploy"]?.["replicas"]);
  }
  expect(past).toEqual(Array.from({ length: 1 + 3 * 4 * 3 }, () => 3));
  const { result: history } = await shop.t.owner.call("history/list", { repo: "shop", limit: 1_000 });
  const since = history.filter(({ revision }) => revision > first);
  expect(since.filter(({ source, changes }) => source !== "set" || Object.keys(changes).join() !== "svc")).toEqual([]);
});
