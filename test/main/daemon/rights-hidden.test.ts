import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { Repositories } from "../../../main/store/repository/repositories.ts";
import { Store } from "../../../main/store/store.ts";
import { startTestDaemon, type TestClient, until } from "../../helpers/daemon.ts";

const writer = [{ repos: "*" as const, fields: ["svc.timeout"], right: "write" as const }];

test("a key that may not read all of a file does not learn how many of its problems are not listed", async () => {
  await using t = await startTestDaemon();
  const repo = await t.addRepository();
  const unknown = Object.fromEntries(Array.from({ length: 150 }, (_, index) => [`f${index}`, 1]));
  await t.writeRepository(repo, JSON.stringify({ config: { svc: unknown } }));
  const more = async (client: TestClient) => JSON.stringify(await client.call("repo/list")).includes("more values");
  await until(() => more(t.owner), "the owner to see how many more there are");
  expect(await more(await t.connectWith(writer))).toBe(false);
});

test("nothing is read of a repository that a key may not see: a request for it costs the same as for a missing one", async () => {
  await using t = await startTestDaemon({ repositories: ["open", "hidden"] });
  const tool = await t.connectWith([{ repos: ["open"], fields: ["*"], right: "write" }]);
  const reads = [vi.spyOn(Repositories.prototype, "read"), vi.spyOn(Repositories.prototype, "peek")];
  const ask = async (repo: string) => {
    const codes: unknown[] = [];
    for (const [name, args] of [
      ["config/list", {}],
      ["config/explain", { field: "svc.timeout" }],
      ["history/list", {}],
      ["config/watch", {}],
      ["config/set", { "svc.timeout": 5 }],
      ["history/restore", { to: 1 }],
    ] as const)
      codes.push((await tool.call(name, { repo, ...args })).errors[0]?.code);
    return codes;
  };
  expect(await ask("hidden")).toEqual([1102, 1102, 1102, 1102, 1007, 1007]);
  for (const read of reads) expect(read).not.toHaveBeenCalled();
  expect(await ask("absent")).toEqual([1102, 1102, 1102, 1102, 1007, 1007]);
  // A repository that it may see is read, so the spies work.
  await tool.call("history/list", { repo: "open" });
  expect(reads[0]).toHaveBeenCalled();
});

test("a watch on everything excludes the repositories that a key may not see", async () => {
  await using t = await startTestDaemon({ repositories: ["seen", "hidden"] });
  const tool = await t.connectWith([{ repos: ["seen", "soon"], fields: ["svc.timeout"], right: "read" }]);
  expect((await tool.call("config/watch")).result).toEqual({ revisions: { seen: 1 }, position: expect.any(String) });
  for (const repo of ["hidden", "seen"]) await t.owner.call("config/set", { repo, "svc.timeout": 5 });
  for (const id of ["later", "soon"]) await t.owner.call("repo/add", { name: id, id });
  for (const repo of ["hidden", "seen"]) await t.owner.call("repo/update", { repo, name: "renamed" });
  for (const repo of ["hidden", "seen"]) await t.owner.call("repo/remove", { repo });
  await t.owner.call("key/create", { name: "another", grants: [] });
  await tool.call("key/self");
  const seen = tool.events.map(([resource, event, payload]) => [resource, event, "id" in payload && payload.id]);
  expect(seen).toEqual([
    ["config", "changed", false],
    ["repo", "added", "soon"],
    ["repo", "updated", "seen"],
    ["repo", "removed", "seen"],
  ]);
  expect(JSON.stringify(tool.events)).not.toMatch(/hidden|later/);
});

test("spec 4.2, rules 3 and 4: a field it may not write looks like one that does not exist, and the rest is set", async () => {
  await using t = await startTestDaemon();
  const repo = await t.addRepository();
  const tool = await t.connectWith([...writer, { repos: "*", fields: ["svc.domain"], right: "read" }]);
  const set = { repo, "svc.domain": 5, "svc.provider": "p", "svc.nope": 5, "svc.timeout": 5 };
  const { result, errors } = await tool.call("config/set", set);
  expect(errors.map(({ code, field, repo: of }) => [code, field, of])).toEqual([
    [1007, "svc.domain", undefined],
    [1007, "svc.provider", undefined],
    [1007, "svc.nope", undefined],
  ]);
  expect(new Set(errors.map(({ message, field }) => message.replace(field ?? "", "F"))).size).toBe(1);
  expect(result).toMatchObject([{ config: { svc: { timeout: { value: 5 } } } }]);
  expect((await t.owner.call("config/list", { repo, stored: true })).result).toEqual({ svc: { timeout: 5 } });
});

test("a masked text that is no key of another field is quoted by no message: of health, of a refused set, or in the log", async () => {
  const scope = {
    properties: {
      tokens: { type: "object", default: {} },
      token: { type: "string", default: "", "x-keyOf": "tokens", "x-masked": true },
    },
  };
  await using t = await startTestDaemon({ files: { "scopes/vault.schema.json": scope }, repositories: ["shop"] });
  const tool = await t.connectWith([{ repos: "*", fields: ["*"], right: "write" }], "tool", []);
  const whole = { "vault.tokens": { hunter2: 1 }, "vault.token": "hunter2" };
  expect((await t.owner.call("config/set", { repo: "shop", flush: true, ...whole })).errors).toEqual([]);
  const { errors } = await t.owner.call("config/set", { repo: "shop", "vault.tokens": {} });
  expect(errors).toMatchObject([{ message: expect.stringContaining("refers to a masked text, which") }]);
  await t.writeRepository("shop", JSON.stringify({ config: { vault: { tokens: {}, token: "hunter2" } } }));
  const healthOf = async (client: TestClient) => (await client.call("repo/list")).result[0]?.health ?? [];
  await until(async () => (await healthOf(t.owner)).length > 0, "the problem");
  const told = [...(await healthOf(tool)), ...(await healthOf(t.owner)), ...errors, ...t.log];
  expect(JSON.stringify(told)).not.toContain("hunter2");
});

test("an unexpected error is logged with its message and stack", async () => {
  await using t = await startTestDaemon();
  vi.spyOn(Store.prototype, "ids").mockRejectedValueOnce(new Error("a surprise"));
  expect((await t.owner.call("repo/list")).errors[0]).toMatchObject({ code: 1500 });
  const line = JSON.parse(t.log.find(one => one.includes("internal error in an operation")) ?? "{}");
  expect(line).toMatchObject({ operation: "repo/list", err: { message: "a surprise" } });
  expect(line.err.stack).toContain("rights-hidden.test.ts");
});

test("a grant on svc* covers the scope svc, not a later scope with the same prefix; a new key cannot have one", async () => {
  await using t = await startTestDaemon({ repositories: ["shop"] });
  const create = (field: string) =>
    t.owner.call("key/create", { name: "old", grants: [{ repos: "*", fields: [field], right: "read" }] });
  const refused = { code: 1101, message: expect.stringContaining('"svc.*"') };
  expect((await create("svc*")).errors).toMatchObject([refused]);
  const { result } = await create("svc.*");
  // As in the home of an older version.
  const file = join(t.homeFolder, "keys.json");
  await t.daemon.close();
  await writeFile(file, (await readFile(file, "utf8")).replace("svc.*", "svc*"));
  const schema = { type: "object", properties: { secret: { type: "string", default: "payroll" } } };
  await writeFile(join(t.homeFolder, "scopes/svcother.schema.json"), JSON.stringify(schema));
  await t.restart();
  const old = await t.connect(result.key);
  const list = await old.call("config/list", { repo: "shop" });
  expect(Object.keys(list.result)).toEqual(["svc"]);
  expect(list.result["svc"]?.["timeout"]).toBe(900);
});
