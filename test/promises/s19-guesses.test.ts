import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { OperationName } from "../../shared/protocol.ts";
import { startTestDaemon, type TestClient, until } from "../helpers/daemon.ts";
import { startWithWorktrees } from "../helpers/linked-worktrees.ts";

const text = { type: "string", default: "" };
const named = {
  type: "array",
  items: { type: "object", properties: { name: { type: "string" }, port: { type: "integer" } } },
  uniqueItemProperties: ["name", "port"],
  maxItems: 3,
  default: [],
};
const scope = {
  type: "object",
  properties: {
    open: text,
    token: { ...text, "x-masked": true },
    people: { ...named, "x-secret": true },
    // Hidden where an item has a reference.
    places: named,
    rooms: { type: "object", default: {}, "x-masked": true },
    room: { ...text, "x-keyOf": "rooms" },
    desks: { type: "object", default: {} },
    desk: { ...text, "x-keyOf": "desks", "x-masked": true },
    // What a linked worktree inherits of them is higher.
    pin: { ...text, "x-masked": true, "x-step": 10 },
    gate: { type: "integer", maximum: 20, default: 0, "x-secret": true, "x-step": 10 },
    ...Object.fromEntries(Array.from({ length: 11 }, (_, index) => [`long${index}`, text])),
  },
};

const paths = Object.keys(scope.properties)
  .filter(field => !field.startsWith("long"))
  .map(field => `vault.${field}`);

let t: Awaited<ReturnType<typeof startTestDaemon>>;
beforeAll(async () => {
  t = await startTestDaemon({ files: { "scopes/vault.schema.json": scope } });
});
afterAll(() => t[Symbol.asyncDispose]());

/** Of the key, unless the owner makes it. */
type Request = readonly [name: OperationName, args: object, by?: "owner"];
const set = (args: object): Request => ["config/set", args];
const local = (args: object): Request => set({ layer: "local", ...args });
const shared = (args: object): Request => set({ layer: "shared", ...args });
/** In each way of asking, and each as a dry run first. */
const tried = (layer: "local" | "shared", path: string, value: unknown): readonly Request[] => [
  ["config/set", { layer, [path]: value, dryRun: true }],
  ["config/set", { layer, [path]: value, "vault.open": "x", atomic: true }],
  ["config/set", { layer, typed: [{ place: path, op: "set", text: JSON.stringify(value) }] }],
  ["config/set", { layer, edits: [{ field: path, op: "add", value: { name: "y", port: 1 } }] }],
  ["config/unset", { layer, fields: [path] }],
  ["history/restore", { to: 4, fields: [path] }],
  ["history/restore", { to: 4 }],
];

/** A key sets a guess beside another field, and a person takes both back, by their names and with everything. */
const takenBack = (layer: "local" | "shared", to: number): readonly Request[] =>
  [["vault.token", "vault.open"], null].flatMap((fields): readonly Request[] => [
    set({ layer, "vault.token": "blue", "vault.open": "x" }),
    ["history/restore", { to, fields }, "owner"],
  ]);

type Case = readonly [
  what: string,
  /** What the owner does before, the same but for a value that the key may not see: what the key guesses, or another. */
  owner: (isRight: boolean) => readonly Request[],
  key: readonly Request[],
];
/** In one line, with values that are not valid after one that the key may not see. */
const fileWith = (token: string) =>
  JSON.stringify({ name: "one line", config: { vault: { token, room: 5, none: 1 }, other: {} } });
/** Eleven of the largest values, so that the next one reaches what a key may fill. */
const filling = Array.from({ length: 11 }, (_, index) => set({ [`vault.long${index}`]: "x".repeat(262_000) }));
const port = (isRight: boolean) => (isRight ? 7 : 8);
const guess = [{ name: "x", port: 7 }];
const manyOf = (isRight: boolean) =>
  Array.from({ length: isRight ? 3 : 2 }, (_, index) => ({ name: `n${index}`, port: index }));
const cases: readonly Case[] = [
  [
    "an item of a shared secret list",
    is => [shared({ "vault.people": [{ name: "a", port: port(is) }] }), local({ "vault.open": "mine" })],
    tried("local", "vault.people", guess),
  ],
  [
    "an item of a local secret list",
    is => [local({ "vault.people": [{ name: "a", port: port(is) }] })],
    tried("shared", "vault.people", guess),
  ],
  [
    "how many items a local secret list has",
    is => [local({ "vault.people": manyOf(is) })],
    tried("shared", "vault.people", guess),
  ],
  [
    "an item of a shared list with a reference",
    is => [shared({ "vault.places": [{ name: "a", port: port(is), key: "cmd://op/a" }] })],
    tried("local", "vault.places", guess),
  ],
  [
    "an item of a local list with a reference",
    is => [local({ "vault.places": [{ name: "a", port: port(is), key: "CMD://op/a" }] })],
    tried("shared", "vault.places", guess),
  ],
  [
    "a name in a masked map",
    is => [set({ "vault.rooms": { [is ? "blue" : "grey"]: 1 } })],
    tried("shared", "vault.room", "blue"),
  ],
  [
    "a name in a masked local map",
    is => [local({ "vault.rooms": { [is ? "blue" : "grey"]: 1 } })],
    tried("local", "vault.room", "blue"),
  ],
  [
    "a masked name of a map",
    is => [set({ "vault.desks": { blue: 1, grey: 1 }, "vault.desk": is ? "blue" : "grey" })],
    tried("shared", "vault.desks", { blue: 1 }),
  ],
  ["what is taken back", is => [set({ "vault.token": is ? "blue" : "grey" })], takenBack("shared", 3)],
  [
    "what an undo takes back",
    is => [set({ "vault.token": is ? "blue" : "grey" })],
    [set({ "vault.token": "blue", "vault.open": "x" }), ["history/restore", { undo: [4] }, "owner"]],
  ],
  [
    "what is taken back beneath a local value",
    is => [set({ "vault.token": is ? "blue" : "grey" }), local({ "vault.token": "mine" })],
    takenBack("shared", 4),
  ],
  [
    "what is taken back of a local value",
    is => [local({ "vault.token": is ? "blue" : "grey", "vault.open": "mine" })],
    takenBack("local", 3),
  ],
  [
    "where something is in a file",
    is => [["file/write", { text: fileWith(is ? "blue" : "a longer one"), expected: null }]],
    [set({ "vault.open": "x" })],
  ],
  [
    "how large a file is",
    is => [...filling, set({ "vault.token": "x".repeat(is ? 3_000 : 10) })],
    Array.from({ length: 7 }, (_, index) =>
      set({ "vault.open": "x".repeat(256_000 + 1_000 * index), dryRun: index !== 6 }),
    ),
  ],
];

describe("S19 a key without the right reveal", () => {
  test.each(cases)("finds out no guess of %s", async (what, owner, key) => {
    const answers = async (isRight: boolean) => {
      const repo = `${what.replaceAll(/[^a-z]/g, "-")}-${isRight ? "is" : "no"}`;
      await t.addRepository(repo);
      const fields = what.includes("large") ? [...paths, "svc.timeout"] : ["*"];
      return play({ t, repo, fields }, owner(isRight), key);
    };
    expect(await answers(true)).toEqual(await answers(false));
  });

  test.each([
    ["is a number, on its branch", "vault.pin", "7", "blue", false],
    ["is a number, of the main one", "vault.pin", "7", "blue", true],
    ["is a number in range, on its branch", "vault.gate", 5, 15, false],
    ["is a number in range, of the main one", "vault.gate", 5, 15, true],
  ])("finds out no guess whether what a worktree inherits %s", async (_, field, right, other, isOfMain) => {
    const answers = async (value: string | number) => {
      await using world = await startWithWorktrees({ files: { "scopes/vault.schema.json": scope } });
      const { t, at, link } = world;
      const repo = await link("linked");
      await t.owner.call("config/set", {
        repo: isOfMain ? "main" : repo,
        layer: isOfMain ? "local" : "shared",
        [field]: value,
      });
      const { step } = (await t.owner.call("config/explain", { repo, field })).result;
      const keyOf = { fields: ["*"], granted: "main", folder: at() };
      const requests = [set({ "vault.open": "x" }), ...tried("shared", field, right), ...tried("local", field, right)];
      return { step, told: await play({ t, repo, ...keyOf }, [], requests) };
    };
    const [raised, asItIs] = [await answers(right), await answers(other)];
    expect([raised.step, asItIs.step]).toEqual([10, undefined]);
    expect(raised.told).toEqual(asItIs.told);
  });

  test("leaves it to the owner which items do not fit together: they count, and are told", async () => {
    const [repo, path] = ["fitting", "vault.people"];
    await t.addRepository(repo);
    const [mine, theirs] = [[{ name: "a", port: 7 }], [{ name: "x", port: 7 }]];
    await t.owner.call("config/set", { repo, layer: "shared", [path]: mine });
    const grants = [{ repos: [repo], fields: ["*"], right: "write" as const }];
    const tool = await t.connect((await t.owner.call("key/create", { name: repo, grants })).result.key);
    expect((await tool.call("config/set", { repo, layer: "local", [path]: theirs })).errors).toEqual([]);
    const [entry] = (await t.owner.call("repo/list", { repo })).result;
    expect(entry?.health).toMatchObject([
      { code: 1115, field: path, layer: "local", message: expect.stringContaining("it is used all the same") },
    ]);
    const { result } = await t.owner.call("config/list", { repo, field: path });
    expect(result["vault"]?.["people"]).toEqual([...mine, ...theirs]);
    const again = await t.owner.call("config/set", {
      repo,
      layer: "local",
      [path]: [...theirs, { name: "y", port: 1 }],
    });
    expect(again.errors).toMatchObject([{ code: 1103, message: expect.stringContaining("merged with the items") }]);
  });
});

interface World {
  readonly t: Awaited<ReturnType<typeof startTestDaemon>>;
  readonly repo: string;
  /** What the key may write. */
  readonly fields: readonly string[];
  /** The repository that the key is for, if `repo` is a linked worktree of it. */
  readonly granted?: string;
  /** Where its folders are. */
  readonly folder?: string;
}

/** All that a key is told by its requests, afterwards, and by events. */
async function play(
  { t, repo, fields, granted = repo, folder = repo }: World,
  owner: readonly Request[],
  key: readonly Request[],
): Promise<readonly string[]> {
  for (const [name, args] of [set({ "vault.open": "1" }), ...owner]) {
    const { result } = await t.owner.call("file/read", { repo });
    const expected = name === "file/write" ? { expected: result.text } : {};
    expect((await t.owner.call(name, { repo, ...args, ...expected })).errors).toEqual([]);
  }
  const grants = [{ repos: [granted], fields, right: "write" as const }];
  const tool = await t.connect((await t.owner.call("key/create", { name: repo, grants })).result.key);
  await tool.call("config/watch", { repo });
  const told: unknown[] = [await asked(tool, repo)];
  for (const [name, args, by] of key) {
    const reply = await (by === "owner" ? t.owner : tool).call(name, { repo, ...args });
    told.push(name, by === "owner" ? reply.errors : reply, await asked(tool, repo));
  }
  const { result } = await t.owner.call("config/set", { repo, layer: "shared", "svc.timeout": 77 });
  const isLast = (one: (typeof tool.events)[number]) => one[0] === "config" && one[2].revision === result[0]?.revision;
  await until(() => tool.events.some(isLast), "the last event");
  const without = (one: unknown) =>
    JSON.stringify(one)
      .replaceAll(folder, "FOLDER")
      .replaceAll(repo, "REPO")
      .replaceAll(/"(time|position|id)":"[^"]*"/g, "");
  return [...told, tool.events].map(without);
}

/** What it can see without changing anything. */
async function asked(tool: TestClient, repo: string): Promise<unknown> {
  const questions: readonly Request[] = [
    ["config/list", { repo, scope: "vault" }],
    ["config/list", { repo, scope: "vault", stored: true, layers: true, waits: true }],
    ["config/list", { repo, scope: "vault", revision: 2 }],
    ...paths.map((field): Request => ["config/explain", { repo, field }]),
    ["config/search", { query: "" }],
    ["config/search", { query: "broken" }],
    ["config/search", { query: "modified" }],
    ["config/matrix", { query: "" }],
    ["config/cells", { repo, fields: paths }],
    ["history/list", { repo }],
    ["history/search", { query: "" }],
    ["repo/list", {}],
    ["proposal/list", {}],
  ];
  const answers: unknown[] = [];
  for (const [name, args] of questions) answers.push([name, await tool.call(name, { ...args })]);
  return answers;
}
