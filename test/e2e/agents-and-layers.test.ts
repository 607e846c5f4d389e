import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startAgent } from "../helpers/agent.ts";
import { addShopWithWorktree, type CommandHome, makeServedHome } from "../helpers/command-home.ts";

/*
 * What an agent is told where one layer hides another: a repository in a work tree, with a linked worktree, and local values of both.
 */

let home: CommandHome;
let [main, linked, keyFile] = ["", "", ""];
beforeAll(async () => {
  home = await makeServedHome();
  [main, linked] = await addShopWithWorktree(home, "--in-tree");
  keyFile = join(home.homeFolder, "agent.key");
  const create = "key create agent --repo shop --right write --reveal --commands --audited".split(" ");
  await writeFile(keyFile, (await home.json(create)).key, { mode: 0o600 });
});
afterAll(() => home[Symbol.asyncDispose]());

const agentIn = (folder: string) => startAgent(home, ["--key-file", keyFile, "--write"], undefined, folder);
const set = (folder: string, ...args: string[]) => home.succeed(["set", ...args], { folder });
const reason = "why";

test.each<
  [what: string, where: () => string, prepare: () => Promise<unknown>, field: string, value: unknown, from: string]
>([
  ["no layer has a value", () => main, async () => {}, "svc.refresh_day", expect.anything(), "default"],
  ["only the shared one", () => main, () => set(main, "svc.domain=shared"), "svc.domain", "shared", "this repository"],
  [
    "a local value hides a shared one",
    () => main,
    async () => [await set(main, "svc.timeout=1"), await set(main, "--local", "svc.timeout=2")],
    "svc.timeout",
    2,
    "local values",
  ],
  [
    "a worktree has the main one's local value",
    () => linked,
    async () => {},
    "svc.timeout",
    2,
    "local values of the main work tree",
  ],
  [
    "a worktree's local value hides the main one's",
    () => linked,
    () => set(linked, "--local", "svc.timeout=3"),
    "svc.timeout",
    3,
    "local values",
  ],
  [
    "a worktree has its own branch's value",
    () => linked,
    () => set(linked, "--shared", "svc.domain=branch"),
    "svc.domain",
    "branch",
    "this repository",
  ],
  [
    "a worktree's local value does not hide the main one's there",
    () => main,
    async () => {},
    "svc.timeout",
    2,
    "local values",
  ],
])("config_find and config_get, where %s", async (_, where, prepare, field, value, from) => {
  await prepare();
  await using agent = await agentIn(where());
  expect((await agent.call("config_find", { query: field })).fields).toMatchObject([{ path: field, value, from }]);
  expect((await agent.call("config_get", { fields: [field] })).values).toEqual({ [field]: value });
});

test("config_set, config_history and config_undo, where a layer hides another", async () => {
  await set(main, "svc.provider=shared");
  await set(main, "--local", "svc.provider=mine");
  await using agent = await agentIn(main);
  const field = "svc.provider";
  const change = (args: object) => agent.call("config_set", { reason, ...args });
  const newest = async () => (await agent.call("config_history", { field, limit: 1 })).entries[0];
  // Without a layer: where the value that counts is.
  expect(await change({ set: { [field]: "own" } })).toMatchObject({ values: { [field]: "own" }, local: [field] });
  expect(await newest()).toMatchObject({ layer: "local", changes: { [field]: { from: "mine", to: "own" } } });
  const shared = await change({ set: { [field]: "team" }, layer: "shared" });
  expect(shared).toMatchObject({ values: { [field]: "team" }, notCounting: [field] });
  expect(await newest()).toMatchObject({ layer: "shared", changes: { [field]: { from: "shared", to: "team" } } });
  expect((await agent.call("config_get", { fields: [field] })).values).toEqual({ [field]: "own" });
  const undone = await agent.call("config_undo", { revision: shared.revision, reason });
  expect(undone).toMatchObject({ values: { [field]: "shared" }, notCounting: [field] });
  // What is unset reveals the one below.
  expect(await change({ unset: [field] })).toMatchObject({ values: { [field]: "shared" }, local: [field] });
  expect(await newest()).toMatchObject({ layer: "local" });
  expect((await newest()).changes).toEqual({ [field]: { from: "own", to: "shared", noLocalValue: true } });
  await change({ unset: [field], layer: "shared" });
  expect((await newest()).changes).toEqual({ [field]: { from: "shared", to: "", isDefault: true } });
});

test("config_set of a list that is merged by names says which of its items are local", async () => {
  await set(main, "svc.envvars.A=1");
  await set(main, "--local", "svc.envvars.B=2");
  await using agent = await agentIn(main);
  const items = [
    { name: "A", value: "3" },
    { name: "B", value: "4" },
  ];
  expect(await agent.call("config_set", { set: { "svc.envvars": items }, reason })).toMatchObject({
    isError: false,
    localItems: { "svc.envvars": ["B"] },
  });
  const { revision } = await agent.call("config_find", { query: "svc.envvars" });
  // One set of both layers made two revisions, and is taken back as a whole.
  expect(await agent.call("config_undo", { revision, reason })).toMatchObject({ isError: false });
  const read = async (name: string) => home.succeed(["get", `svc.envvars.${name}`, "--reveal"], { folder: main });
  expect([await read("A"), await read("B")]).toEqual(["1\n", "2\n"]);
});

test("undo --by shows what counts, and that a shared value does not", async () => {
  await set(main, "svc.refresh_hour=1");
  await set(main, "--local", "svc.refresh_hour=2");
  const { id, key } = await home.json(["key", "create", "other", "--repo", "shop", "--right", "write"]);
  const own = { folder: main, environment: { REPOCONF_API_KEY: key } };
  await home.succeed(["set", "--shared", "svc.refresh_hour=3", "svc.refresh_day=4"], own);
  const dry = await home.run(["undo", "--by", id, "--since", "1h", "--dry-run"], { folder: main });
  expect(dry.output).toContain("main: svc.refresh_hour: the shared value; what counts stays 2 (local)\n");
  expect(dry.output).toMatch(/main: svc.refresh_day: 4 -> /);
});
