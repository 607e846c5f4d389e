import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { KeyRight } from "../../shared/grants.ts";
import type { OperationName } from "../../shared/protocol.ts";
import { startTestDaemon, type TestClient, type TestDaemon, until } from "../helpers/daemon.ts";
import { judge } from "../helpers/promise.ts";
import { startWorkTree } from "../helpers/work-tree.ts";

const text = { type: "string", default: "" };
const tasksWith = (plain: object) => ({
  type: "object",
  properties: { run: { ...text, "x-command": true }, path: { ...text, "x-env": "PATH" }, plain: { ...text, ...plain } },
});
const scopeFile = "scopes/tasks.schema.json";
const commands = ["tasks.run", "tasks.path", "svc.services", "svc.envvars"];
const service = (ready: string) => ({ web: { ready, image: "node:24" } });
const everything = [{ repos: "*" as const, fields: ["*"], right: "write" as const }];

/** A home's repository and a work tree, with commands of the owner now and before. */
async function startWorld() {
  const tree = await startWorkTree(`{ "config": {} }`, { files: { [scopeFile]: tasksWith({}) } });
  const { t } = tree;
  await t.addRepository("shop");
  for (const repo of ["shop", "site"])
    for (const value of ["older", "present"]) {
      const fields = { "tasks.run": value, "tasks.path": value, "svc.services": service(value), "svc.envvars": [] };
      const { errors } = await t.owner.call("config/set", { repo, ...fields, "tasks.plain": value });
      if (errors.length > 0) throw new Error(JSON.stringify(errors));
    }
  return tree;
}

/** What counts in the commands. */
async function served(t: TestDaemon, repo = "shop"): Promise<string> {
  const { result } = await t.owner.call("config/list", { repo });
  return JSON.stringify([
    result["tasks"]?.["run"],
    result["tasks"]?.["path"],
    result["svc"]?.["services"],
    result["svc"]?.["envvars"],
  ]);
}

const evil = {
  "tasks.run": "evil",
  "tasks.path": "evil",
  "svc.services": service("evil"),
  "svc.envvars": [{ name: "A", value: "evil" }],
};
const edits = [
  { field: "svc.services", path: "/web/ready", op: "set", value: "evil" },
  { field: "svc.envvars", op: "add", value: { name: "A", value: "evil" } },
];
const typed = [
  { place: "tasks.run", op: "set", text: "evil" },
  { place: "svc.services.web", op: "unset" },
];
/** Every way in which a key could change a command. */
const ways: readonly (readonly [name: OperationName, args: object])[] = [
  ["config/set", evil],
  ["config/set", { ...evil, atomic: true }],
  ["config/set", { repo: ["shop", "site"], ...evil, batch: "one" }],
  ["config/set", { repo: ["shop", "site"], ...evil, atomic: true, "tasks.plain": "beside" }],
  ["config/set", { edits }],
  ["config/set", { typed }],
  ["config/set", { unset: commands }],
  ["config/unset", { fields: commands }],
  ["history/restore", { to: 2 }],
  ["history/restore", { to: 2, fields: commands, atomic: true }],
  ["history/restore", { to: 1, fields: commands }],
  ["config/set", { layer: "local", ...evil }],
  ["config/set", { layer: "local", ...evil, atomic: true, "tasks.plain": "beside" }],
  ["config/set", { layer: "local", edits }],
];

describe("S19 a key without the right commands", () => {
  test("changes by no operation what counts in commands and variables; with it, it does", async () => {
    const wrong: string[] = [];
    for (const rights of [[], ["reveal"], ["commands", "reveal"]] as readonly (readonly KeyRight[])[]) {
      await using tree = await startWorld();
      const { t } = tree;
      const tool = await t.connectWith(everything, "tool", rights);
      const before = await Promise.all(["shop", "site"].map(repo => served(t, repo)));
      for (const repo of ["shop", "site"])
        for (const [at, [name, args]] of ways.entries()) {
          const { errors } = await tool.call(name, { repo, ...args });
          const now = await Promise.all(["shop", "site"].map(one => served(t, one)));
          const isChanged = now.join() !== before.join();
          if (isChanged !== rights.includes("commands")) wrong.push(`${rights} ${repo} ${at}`);
          const refused = errors.filter(
            ({ code, details }) => code === 1007 && typeof details?.["proposal"] === "string",
          );
          if (!rights.includes("commands") && refused.length === 0) wrong.push(`${rights} ${repo} ${at}: no proposal`);
          if (isChanged)
            for (const one of ["shop", "site"])
              await t.owner.call("history/restore", { repo: one, to: 3, fields: commands });
        }
    }
    judge("S19", ways.length * 2 * 3, wrong, "ways to change a command");
  });

  test("proposes: seen by itself and the owner, kept over a restart and a branch switch, in no log, history or file", async () => {
    await using tree = await startWorld();
    const { t } = tree;
    const tool = await t.connectWith(everything, "agent", []);
    const other = await t.connectWith(everything, "another", []);
    await t.owner.call("config/watch");
    const revision = (await t.owner.call("repo/list", { repo: "site" })).result[0]?.revision;
    const { result, errors } = await tool.call("config/set", {
      repo: "site",
      "tasks.run": "proposed",
      "tasks.plain": "x",
      reason: "why",
    });
    expect(result).toMatchObject([{ config: { tasks: { plain: { value: "x" } } } }]);
    expect(result[0]?.config["tasks"]).not.toHaveProperty("run");
    const id = errors[0]?.details?.["proposal"];
    expect(errors).toMatchObject([{ code: 1007, repo: "site", field: "tasks.run", details: { right: "commands" } }]);
    const entry = { id, repo: "site", field: "tasks.run", value: "proposed", reason: "why" };
    expect((await tool.call("proposal/list")).result).toMatchObject([{ ...entry, by: "this key" }]);
    expect((await tool.call("proposal/list")).result[0]).not.toHaveProperty("hash");
    expect((await other.call("proposal/list")).result).toEqual([]);
    expect((await other.call("proposal/remove", { id })).errors).toMatchObject([{ code: 1112 }]);
    expect((await tool.call("proposal/accept", { id, hash: "0" })).errors).toMatchObject([{ code: 1105 }]);
    const history = await t.owner.call("history/list", { repo: "site" });
    expect(history.result[0]?.revision).toBe((revision ?? 0) + 1);
    await t.restart();
    await tree.pull(`{ "config": { "svc": { "timeout": 40 } } }`);
    expect(await served(t, "site")).not.toContain("proposed");
    const shown = (await t.owner.call("proposal/list", { repo: "site" })).result;
    expect(shown).toMatchObject([{ ...entry, by: "agent", serving: "", effect: { command: true } }]);
    const places = ["repos/site.json", "index.json"].map(name => readFile(join(t.homeFolder, name), "utf8"));
    for (const content of [...(await Promise.all(places)), await readFile(tree.file, "utf8"), JSON.stringify(history)])
      expect(content).not.toContain("proposed");
    const accepted = await t.owner.call("proposal/accept", { id, hash: shown[0]?.hash });
    expect(accepted.errors).toEqual([]);
    const [last] = (await t.owner.call("history/list", { repo: "site", limit: 1 })).result;
    expect(last).toMatchObject({
      actor: "owner",
      source: "set",
      reason: "proposed by agent: why",
      revision: accepted.result.revision,
    });
    expect(await served(t, "site")).toContain("proposed");
    expect((await t.owner.call("proposal/list")).result).toEqual([]);
  });

  test("is accepted only as it was shown: with this value, this rule, and beside this active value", async () => {
    await using tree = await startWorld();
    const { t } = tree;
    const tool = await t.connectWith(everything, "agent", []);
    const propose = (value: string) => tool.call("config/set", { repo: "shop", "tasks.path": value });
    const review = async () => (await t.owner.call("proposal/list")).result[0] ?? { id: "", hash: "" };
    const meanwhile: readonly (readonly [what: string, act: () => Promise<unknown>])[] = [
      ["another value", () => propose("other")],
      ["another active value", () => t.owner.call("config/set", { repo: "shop", "tasks.path": "mine" })],
      [
        "another rule",
        async () => {
          const scope = tasksWith({});
          Object.assign(scope.properties.path, { "x-env": "LD_PRELOAD" });
          await writeFile(join(t.homeFolder, scopeFile), JSON.stringify(scope));
          await t.restart();
        },
      ],
    ];
    for (const [what, act] of meanwhile) {
      if (what !== "another rule") await propose("first");
      const { id, hash } = await review();
      await act();
      const before = await served(t);
      expect([what, (await t.owner.call("proposal/accept", { id, hash })).errors]).toMatchObject([
        what,
        [{ code: 1104 }],
      ]);
      expect(await served(t)).toBe(before);
    }
  });

  test("is of one layer: a local one is accepted as local, and stays beside one for the shared value", async () => {
    await using tree = await startWorld();
    const { t } = tree;
    const tool = await t.connectWith(everything, "agent", []);
    for (const layer of ["local", "shared"] as const)
      await tool.call("config/set", { repo: "shop", layer, "tasks.run": `${layer} one` });
    const shown = (await t.owner.call("proposal/list")).result;
    expect(shown).toMatchObject([
      { layer: "local", value: "local one", serving: "present" },
      { value: "shared one", serving: "present" },
    ]);
    expect(shown[1]).not.toHaveProperty("layer");
    // What a local one would replace is the shared value, until there is a local one.
    await t.owner.call("config/set", { repo: "shop", layer: "shared", "tasks.run": "mine" });
    const [{ id = "", hash } = {}] = shown;
    expect((await t.owner.call("proposal/accept", { id, hash })).errors).toMatchObject([{ code: 1104 }]);
    for (const { id: one } of shown) {
      const again = (await t.owner.call("proposal/list")).result.find(other => other.id === one);
      expect((await t.owner.call("proposal/accept", { id: one, hash: again?.hash })).errors).toEqual([]);
    }
    const { layers, result } = await t.owner.call("config/list", { repo: "shop", layers: true });
    expect([layers?.shared["tasks"]?.["run"], layers?.local, result["tasks"]?.["run"]]).toEqual([
      ...["shared one", { tasks: { run: "local one" } }, "local one"],
    ]);
  });

  test("may replace and withdraw its own, of which there are few; they end with the key and with the repository", async () => {
    await using tree = await startWorld();
    const { t } = tree;
    const tool = await t.connectWith(everything, "agent", []);
    const propose = async (value: unknown, field = "tasks.run") =>
      (await tool.call("config/set", { repo: "shop", [field]: value })).errors[0];
    const list = async () => (await tool.call("proposal/list")).result.map(({ field, value }) => [field, value]);
    await propose("one");
    const id = (await propose("two"))?.details?.["proposal"];
    expect(await list()).toEqual([["tasks.run", "two"]]);
    expect((await tool.call("proposal/remove", { id })).errors).toEqual([]);
    expect(await list()).toEqual([]);
    // What is active already is no change, and a dry run proposes nothing.
    expect(await propose("present")).toBeUndefined();
    await tool.call("config/set", { repo: "shop", "tasks.run": "x", dryRun: true });
    expect(await list()).toEqual([]);
    for (const field of ["tasks.run", "tasks.path", "svc.services", "svc.envvars"]) {
      const large = "x".repeat(255_000);
      const value =
        field === "svc.services" ? service(large) : field === "svc.envvars" ? [{ name: "A", value: large }] : large;
      expect((await propose(value, field))?.code).toBe(field === "svc.envvars" ? 1107 : 1007);
    }
    expect(await list()).toHaveLength(3);
    await t.owner.call("repo/remove", { repo: "shop" });
    await tool.call("config/set", { repo: "site", "tasks.run": "x" });
    await t.restart();
    expect((await t.owner.call("proposal/list")).result.map(({ repo }) => repo)).toEqual(["site"]);
    const [key] = (await t.owner.call("key/list")).result;
    await t.owner.call("key/revoke", { id: key?.id });
    await t.restart();
    expect((await t.owner.call("proposal/list")).result).toEqual([]);
  });
});

describe("S19 a plain value that a key without the right commands set", () => {
  /** The value of the plain field, and what waits. */
  async function present(t: TestDaemon) {
    const { result } = await t.owner.call("config/list", { repo: "shop", field: "tasks.plain" });
    const waiting = (await t.owner.call("trust/list", { repo: "shop" })).result;
    return [result["tasks"]?.["plain"], waiting.map(({ field, value }) => [field, value])];
  }
  async function makeVariable(t: TestDaemon): Promise<void> {
    await t.owner.call("config/watch");
    await writeFile(join(t.homeFolder, scopeFile), JSON.stringify(tasksWith({ "x-env": "NODE_OPTIONS" })));
    await until(() => t.owner.events.some(([resource]) => resource === "scope"), "the new schema");
  }
  const waits = ["", [["tasks.plain", "theirs"]]];
  const set = (client: TestClient, value: string) => client.call("config/set", { repo: "shop", "tasks.plain": value });
  const cases: readonly (readonly [
    what: string,
    rights: readonly KeyRight[],
    act: (tool: TestClient, t: TestDaemon) => Promise<unknown>,
    after: unknown,
  ])[] = [
    ["waits for trust", [], async tool => set(tool, "theirs"), waits],
    ["waits after a restart", [], async (tool, t) => [await set(tool, "theirs"), await t.restart()], waits],
    [
      "waits when the owner has restored it",
      [],
      async (tool, t) => [
        await set(tool, "theirs"),
        await set(t.owner, "mine"),
        await t.owner.call("history/restore", { repo: "shop", to: 2, fields: ["tasks.plain"] }),
      ],
      waits,
    ],
    [
      "counts when the owner has set it too",
      [],
      async (tool, t) => [await set(tool, "theirs"), await set(t.owner, "x"), await set(t.owner, "theirs")],
      ["theirs", []],
    ],
    [
      "waits when the owner has restored it after a hundred others of the key",
      [],
      async (tool, t) => {
        await set(tool, "theirs");
        for (let count = 0; count < 100; count++) await set(tool, `other ${count}`);
        await t.owner.call("history/restore", { repo: "shop", to: 2, fields: ["tasks.plain"] });
      },
      waits,
    ],
    [
      "does not count as a local one",
      [],
      async tool => tool.call("config/set", { repo: "shop", layer: "local", "tasks.plain": "theirs" }),
      ["", []],
    ],
    ["counts with the right", ["commands"], async tool => set(tool, "theirs"), ["theirs", []]],
  ];
  test.each(cases)("%s if a schema makes its field a variable", async (_, rights, act, after) => {
    await using t = await startTestDaemon({ files: { [scopeFile]: tasksWith({}) }, repositories: ["shop"] });
    await act(await t.connectWith(everything, "tool", rights), t);
    await makeVariable(t);
    for (const again of [async () => {}, t.restart]) {
      await again();
      expect(await present(t)).toEqual(after);
    }
    if (after !== waits) return;
    const [one] = (await t.owner.call("trust/list", { repo: "shop" })).result;
    const accepted = { repo: "shop", field: "tasks.plain", hash: one?.hash };
    expect((await t.owner.call("trust/accept", accepted)).errors).toEqual([]);
    for (const again of [async () => {}, t.restart]) {
      await again();
      expect(await present(t)).toEqual(["theirs", []]);
    }
  });

  test("a part of such a value waits too, after somebody with the right has changed another part of it", async () => {
    const scripts = { type: "object", additionalProperties: { type: "string" }, default: {} };
    const file = "scopes/tools.schema.json";
    const scope = (more: object) => ({ type: "object", properties: { scripts: { ...scripts, ...more } } });
    await using t = await startTestDaemon({ files: { [file]: scope({}) }, repositories: ["shop", "store", "blog"] });
    const tool = await t.connectWith(everything, "tool", []);
    const edits = [{ field: "tools.scripts", path: "/test", op: "set" as const, value: "mine" }];
    const repos = [
      ["shop", "shared", "shared"],
      ["store", "shared", "local"],
      ["blog", "local", "local"],
    ] as const;
    for (const [repo, theirs, layer] of repos) {
      await tool.call("config/set", { repo, layer: theirs, "tools.scripts": { build: "evil" } });
      const { errors } = await t.owner.call("config/set", { repo, layer, edits });
      expect(errors).toEqual([]);
    }
    await t.owner.call("config/watch");
    await writeFile(join(t.homeFolder, file), JSON.stringify(scope({ "x-command": true })));
    await until(() => t.owner.events.some(([resource]) => resource === "scope"), "the new schema");
    for (const [repo] of repos) {
      const { result } = await t.owner.call("config/list", { repo, field: "tools.scripts" });
      expect([repo, result]).toEqual([repo, { tools: { scripts: {} } }]);
    }
    expect((await t.owner.call("trust/list", { repo: "shop" })).result).toMatchObject([
      { field: "tools.scripts", value: { build: "evil", test: "mine" } },
    ]);
  });
});
