import { rm } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { JsonValue } from "../../../shared/json.ts";
import { type TestDaemonOptions, until } from "../../helpers/daemon.ts";
import { holdCalls, systemError, watchFileSystem } from "../../helpers/file-system.ts";
import { deployOf, putDeploy, replaceDeploy, startDeployTree } from "../../helpers/renamed-scope.ts";
import { healthOf } from "../../helpers/shop.ts";

const text = { type: "string", default: "" } as const;
const command = { ...text, "x-command": true } as const;
const variable = (name: string) => ({ ...text, "x-env": name });

/** The in-tree repository `shop`, with a value of the field `deploy.tools`, which has this schema. */
async function startTree(schema: { readonly [keyword: string]: JsonValue }, options: TestDaemonOptions = {}) {
  const textOf = (deploy: { readonly [field: string]: JsonValue }) => JSON.stringify({ config: { deploy } });
  const tree = await startDeployTree({ tools: schema }, textOf({ tools: "./evil" }), options);
  const { t } = tree;
  const list = async () => (await t.owner.call("trust/list", { repo: "shop" })).result;
  return {
    ...tree,
    pull: (deploy: { readonly [field: string]: JsonValue }) => tree.pull(textOf(deploy)),
    /** The effective value of `deploy.tools`. */
    tools: async () => (await deployOf(t)).values["tools"],
    /** What waits, as `field=value`. */
    waiting: async () => (await list()).map(({ field, value }) => `${field}=${value}`),
    hashOf: async (wanted: string) => (await list()).find(({ field }) => field === wanted)?.hash ?? "",
    accept: async (field: string, hash: string) =>
      (await t.owner.call("trust/accept", { repo: "shop", field, hash })).errors,
  };
}

describe("a text that a new schema makes a command or an environment variable", () => {
  test.for([
    ["a command", command],
    ["a variable", variable("PATH")],
  ] as const)("waits for trust as %s, although it was active as a text", async ([, schema]) => {
    await using tree = await startTree(text);
    expect(await tree.tools()).toBe("./evil");
    await replaceDeploy(tree.t, { tools: schema });
    for (const restart of [async () => {}, tree.t.restart]) {
      await restart();
      expect(await tree.tools()).toBe("");
      expect(await tree.waiting()).toEqual(["deploy.tools=./evil"]);
    }
    expect((await healthOf(tree.t, "shop"))[0]?.message).toMatch(
      "x-env" in schema
        ? /^deploy.tools becomes the environment variable PATH/
        : /^deploy.tools tells tools what to run/,
    );
    expect(await tree.accept("deploy.tools", await tree.hashOf("deploy.tools"))).toEqual([]);
    expect(await tree.tools()).toBe("./evil");
    await tree.t.restart();
    expect(await tree.tools()).toBe("./evil");
  });

  test("waits even if the new schema is read while the set of the text is being written", async () => {
    const fileSystem = watchFileSystem();
    await using tree = await startTree(text, { fileSystem });
    const append = holdCalls(fileSystem, ({ operation, path }) => operation === "write" && path.includes("/log/"));
    const set = tree.t.owner.call("config/set", { repo: "shop", "deploy.tools": "/opt" });
    await append.begun;
    await putDeploy(tree.home, { tools: variable("PATH") });
    const isRead = async () =>
      JSON.stringify((await tree.t.owner.call("scope/list")).result.map(({ schema }) => schema)).includes("PATH");
    await until(isRead, "the new schema");
    append.release();
    expect((await set).errors).toEqual([]);
    expect(await tree.tools()).toBe("");
    expect(await tree.waiting()).toEqual(["deploy.tools=/opt"]);
  });

  test("waits if the schema changed while no daemon was running, also if trust.json is missing", async () => {
    await using tree = await startTree(text);
    await tree.t.daemon.close();
    await putDeploy(tree.home, { tools: variable("PATH") });
    await tree.t.restart();
    expect(await tree.tools()).toBe("");
    await putDeploy(tree.home, { tools: text });
    await tree.t.restart();
    expect(await tree.tools()).toBe("./evil");
    await tree.t.daemon.close();
    await putDeploy(tree.home, { tools: variable("PATH") });
    await rm(join(tree.home, "trust.json"), { force: true });
    await tree.t.restart();
    expect(await tree.tools()).toBe("");
    expect(await tree.waiting()).toEqual(["deploy.tools=./evil"]);
  });

  test("is not active while the change that takes it out of service cannot be recorded", async () => {
    const fileSystem = watchFileSystem();
    await using tree = await startTree(text, { fileSystem });
    fileSystem.before = ({ operation, path }) => {
      if (operation === "write" && path.includes("/log/")) throw systemError("ENOSPC");
    };
    await replaceDeploy(tree.t, { tools: variable("PATH") });
    expect(await tree.tools()).toBe("");
    fileSystem.before = () => {};
    await tree.t.owner.call("file/read", { repo: "shop" });
    expect(await tree.waiting()).toEqual(["deploy.tools=./evil"]);
  });
});

const effects = {
  "one variable": variable("TOOLS"),
  "another variable": variable("PATH"),
  "a command": command,
} as const;

test.for([
  ["one variable", "another variable"],
  ["one variable", "a command"],
  ["a command", "another variable"],
] as const)("trust in a value as %s is none as %s; with the old schema back, it counts again", async ([one, other]) => {
  await using tree = await startTree(effects[one]);
  const hash = await tree.hashOf("deploy.tools");
  expect(await tree.accept("deploy.tools", hash)).toEqual([]);
  await replaceDeploy(tree.t, { tools: effects[other] });
  expect(await tree.tools()).toBe("");
  expect(await tree.waiting()).toEqual(["deploy.tools=./evil"]);
  // The hash is that of what was reviewed.
  expect(await tree.accept("deploy.tools", hash)).toMatchObject([{ code: 1104 }]);
  await tree.pull({ tools: "./other" });
  await tree.pull({ tools: "./evil" });
  expect(await tree.tools()).toBe("");
  await replaceDeploy(tree.t, { tools: effects[one] });
  expect(await tree.tools()).toBe("./evil");
});
