import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { KeyRight } from "../../shared/grants.ts";
import type { OperationName, Reply } from "../../shared/protocol.ts";
import { startTestDaemon, type TestClient, until } from "../helpers/daemon.ts";
import { post, socketOf } from "../helpers/one-shot.ts";
import { judge } from "../helpers/promise.ts";
import { hidden, now, planted, secrets, startVault } from "../helpers/vault.ts";

let t: Awaited<ReturnType<typeof startVault>>;
beforeAll(async () => {
  t = await startVault();
});
afterAll(() => t[Symbol.asyncDispose]());

const rightsOfKeys: readonly (readonly KeyRight[])[] = [[], ["reveal"], ["commands"]];
const everyField = ["vault.open", ...hidden, "vault.desk", "vault.desks"];
const conditions = ["field:vault.token=planted1", "field:vault.login.word", "-none", "modified", "since:1h"];
const queries = ["", ...secrets, ...conditions].map(query => ({ query }));
const parts = [
  { field: "svc.envvars", op: "add", value: { name: "X", value: "1" } },
  { field: "vault.notes", op: "remove", value: "plain" },
  { field: "vault.login", path: "/user", op: "set", value: "bob" },
];
const typed = [
  { place: "svc.envvars.KEY", op: "unset" },
  { place: "vault.notes", op: "add", text: "x" },
];

/** What each operation is asked that could show a value; those for the owner only are asked anything. The compiler requires a line per operation. */
const asked: { readonly [Name in OperationName]: readonly object[] } = {
  "config/list": [
    ...[{}, { stored: true }, { revision: 2 }, { revision: 2, stored: true }, { scope: "vault" }, { schemas: true }],
    ...[{ layers: true }, { layers: true, stored: true }, { layers: true, field: "vault.open" }],
    ...everyField.map(field => ({ field })),
  ],
  "config/set": [
    { "vault.token": "x", dryRun: true },
    { edits: parts },
    { typed, schemas: true },
    { "vault.desk": "no" },
    { "svc.envvars": [{ name: "OTHER", value: "1" }], dryRun: true },
    { layer: "local", "vault.password": "x", "vault.notes": ["x"], "svc.envvars": [] },
  ],
  "config/unset": [
    { fields: hidden, dryRun: true },
    { fields: hidden, layer: "local", dryRun: true },
  ],
  "config/explain": everyField.map(field => ({ field })),
  "config/hook": [{ path: "/", shell: "zsh" }],
  "config/search": queries,
  "config/matrix": queries,
  "config/cells": [{ fields: everyField }],
  "config/watch": [{ since: 1 }],
  "config/unwatch": [{ repo: "none" }],
  "history/list": [{}, ...everyField.map(field => ({ field }))],
  "history/search": [...queries, { query: "", batch: "all" }],
  "history/restore": [
    { to: 2 },
    { to: 2, fields: hidden },
    { to: 3, fields: [...hidden, "vault.desk"], dryRun: true },
    { to: 3, layer: "shared" },
  ],
  "history/forget": [{ field: "vault.token" }],
  "scope/list": [{}],
  "repo/list": [{}],
  "repo/find": [{ path: "/" }],
  "repo/add": [{ name: "more" }],
  "repo/update": [{ name: "more" }],
  "repo/remove": [{}],
  "repo/scan": [{ path: "/" }],
  "repo/look": [{ path: "/" }],
  "file/read": [{}],
  "file/write": [{ text: "{}", expected: null }],
  "file/restore": [{}],
  "trust/list": [{}],
  "trust/accept": [{ field: "vault.token", hash: "0" }],
  "trust/preview": [{ scope: "vault", text: "{}" }],
  "proposal/list": [{}],
  "proposal/accept": [{ id: "0", hash: "0" }],
  "proposal/remove": [{ id: "0" }],
  "draft/list": [{}],
  "draft/set": [{}],
  "session/create": [{ label: "desktop" }],
  "session/link": [{}],
  "session/touch": [{}],
  "key/self": [{}],
  "key/list": [{}],
  "key/create": [{ name: "more", grants: [], rights: ["reveal"] }],
  "key/revoke": [{ id: "0123456789ab" }],
  "daemon/status": [{}],
  "daemon/dismiss": [{ id: "000000" }],
  "daemon/stop": [{}],
};
const ofAll: readonly string[] = ["config/search", "config/matrix", "history/search", "scope/list", "repo/list"];

/** Asks everything over both doors, and returns all that came back, without the queries that messages repeat. */
async function askAll(repo: string, key: string): Promise<string> {
  const [client, path] = [await t.connect(key), await socketOf(t.homeFolder)];
  const got: Reply[] = [];
  for (const [name, calls] of Object.entries(asked) as [OperationName, readonly object[]][])
    for (const one of calls) {
      const args = ofAll.includes(name) ? one : { repo, ...one };
      got.push(await client.call(name, { ...args }), (await post(path, key, name, args)).reply);
    }
  // Events arrive in order: those of what it missed, and of what it changed itself, come before this one.
  const { result } = await t.owner.call("config/set", { repo, "vault.open": "last" });
  const isLast = (one: (typeof client.events)[number]) =>
    one[0] === "config" && one[2].revision === result[0]?.revision;
  await until(() => client.events.some(isLast), "the last event");
  client.socket.close();
  return JSON.stringify([got, client.events]);
}

describe("S19 a key without the right reveal", () => {
  test("sees none of eight planted secrets by any operation, over both doors; with it, it sees them", async () => {
    const wrong: string[] = [];
    for (const right of ["read", "write"] as const)
      for (const [index, rights] of [...rightsOfKeys, ...rightsOfKeys].entries()) {
        const repo = `all-${right}-${rights.join()}-${index}`;
        await t.plant(repo);
        if (index >= rightsOfKeys.length) await t.plantLocal(repo);
        const all = await askAll(repo, (await t.keyOf([repo], right, rights)).key);
        const isReveal = rights.some(one => one === "reveal");
        for (const secret of secrets) {
          const maySee = isReveal && secret !== planted.desk;
          if (all.includes(secret) !== maySee) wrong.push(`${repo} ${secret}`);
        }
      }
    judge("S19", 12 * 2 * Object.values(asked).flat().length, wrong, "requests over both doors, 8 planted secrets");
  });

  test("sees that a value is there, and which fields it may not see", async () => {
    await t.plant("there");
    const tool = await t.connect((await t.keyOf(["there"], "read")).key);
    // With the same grants: what is sent to one must not be sent to the other.
    const seeing = await t.connect((await t.keyOf(["there"], "read", ["reveal"])).key);
    const writer = await t.connect((await t.keyOf(["there"], "write")).key);
    for (const client of [seeing, tool]) await client.call("config/watch");
    const ask: TestClient["call"] = (name, args) => tool.call(name, { repo: "there", ...args });
    const { result, masked = [] } = await ask("config/list", { stored: true });
    expect([result, [...masked].sort()]).toEqual([{ vault: { open: "seen" } }, [...hidden].sort()]);
    expect(await ask("config/list", { field: "vault.token" })).toMatchObject({
      ...{ result: { vault: {} }, errors: [], masked: ["vault.token"] },
    });
    expect((await ask("config/explain", { field: "vault.token" })).result).toMatchObject({
      ...{ value: null, default: null, masked: true, origin: "stored", revision: 3, actor: "owner" },
    });
    expect((await ask("config/cells", { fields: ["vault.token"] })).result).toMatchObject([
      { config: {}, stored: ["vault.token"] },
    ]);
    const [entry] = (await ask("history/list", { field: "vault.token", limit: 1 })).result;
    expect(entry?.changes).toEqual({ vault: { token: { value: null, previous: null, masked: true, stored: true } } });
    await t.owner.call("config/set", { repo: "there", "vault.token": "planted later" });
    expect((await seeing.nextChange()).changes["vault"]?.["token"]).toMatchObject({ value: "planted later" });
    expect((await tool.nextChange()).changes["vault"]?.["token"]).toMatchObject({ value: null, masked: true });
    // What it leaves out without being asked to name it, it says.
    const [restored] = (await writer.call("history/restore", { repo: "there", to: 1, dryRun: true })).result;
    expect([...(restored?.masked ?? [])].sort()).toEqual([...hidden].sort());
    expect((await tool.call("config/search", { query: "field:vault.token" })).result).toEqual([
      { repo: "there", scope: "vault", field: "token" },
    ]);
  });

  const guessed = (isRight: boolean, value: unknown) =>
    isRight ? value : JSON.parse(JSON.stringify(value).replaceAll("planted", "guessed"));
  const { token, password, note, older } = planted;
  type Case = readonly [what: string, name: OperationName, args: (isRight: boolean) => object, revisions: number];
  const cases: readonly Case[] = [
    ...hidden
      .filter(path => path !== "svc.envvars")
      .map((path): Case => [`a set of ${path}`, "config/set", is => ({ [path]: guessed(is, now[path]) }), 1]),
    ["a set that is proposed", "config/set", is => ({ "svc.envvars": guessed(is, now["svc.envvars"]) }), 0],
    ["a dry run", "config/set", is => ({ "vault.token": guessed(is, token), dryRun: true }), 0],
    [
      ...(["a typed set", "config/set"] as const),
      is => ({ typed: [{ place: "vault.token", op: "set", text: guessed(is, token) }] }),
      1,
    ],
    [
      ...(["an edit that removes", "config/set"] as const),
      is => ({ edits: [{ field: "vault.notes", op: "remove", value: guessed(is, `cmd://op/${note}`) }] }),
      0,
    ],
    [
      ...(["an edit that adds", "config/set"] as const),
      is => ({ edits: [{ field: "svc.envvars", op: "add", value: { name: is ? "KEY" : "guessed", value: "1" } }] }),
      0,
    ],
    [
      ...(["a typed unset inside", "config/set"] as const),
      is => ({ typed: [{ place: `svc.envvars.${is ? "KEY" : "guessed"}`, op: "unset" }] }),
      0,
    ],
    ["a search", "config/search", is => ({ query: `field:vault.password=cmd://op/${guessed(is, password)}` }), 0],
    ["a search of the past", "history/search", is => ({ query: `-field:vault.token=${guessed(is, older)}` }), 0],
    ["a restore of the present value", "history/restore", is => ({ to: is ? 3 : 2, fields: ["vault.token"] }), 1],
    ["a restore of everything", "history/restore", is => ({ to: 3, reason: guessed(is, "planted") }), 1],
    ["a local set of the shared value", "config/set", is => ({ layer: "local", "vault.token": guessed(is, token) }), 1],
    ["a local set beside others", "config/set", is => ({ layer: "local", "vault.token": guessed(is, token) }), 1],
    ["a set of a local value", "config/set", is => ({ "vault.token": guessed(is, older) }), 1],
    [
      "a shared set beneath a local value",
      "config/set",
      is => ({ layer: "shared", "vault.token": guessed(is, older) }),
      1,
    ],
    ["a shared set beside others", "config/set", is => ({ layer: "shared", "vault.token": guessed(is, token) }), 1],
    ["a restore of local values", "history/restore", is => ({ to: is ? 7 : 6, fields: ["vault.token"] }), 2],
    [
      "a local set that is proposed",
      "config/set",
      is => ({ layer: "local", "svc.envvars": guessed(is, now["svc.envvars"]) }),
      0,
    ],
    ["a local unset", "config/unset", () => ({ layer: "local", fields: ["vault.token"] }), 1],
  ];
  test.each(cases)("is not told whether a value is equal by %s", async (what, name, args, revisions) => {
    const answers: unknown[] = [];
    for (const isRight of [true, false]) {
      const repo = `${isRight ? "is" : "no"}-${what.replaceAll(/[^a-z]/g, "-")}`;
      await t.plant(repo);
      // So that there is something to restore that it may see.
      await t.owner.call("config/set", { repo, "vault.open": "again", "vault.token": "between" });
      await t.owner.call("config/set", {
        repo,
        "vault.token": isRight || !what.endsWith("everything") ? token : "other",
      });
      for (const values of localOf(what, isRight)) await t.plantLocal(repo, values);
      const before = await t.revisionOf(repo);
      const tool = await t.connect((await t.keyOf([repo], "write")).key);
      await tool.call("config/watch", { repo });
      const reply = await tool.call(name, { ...(!name.endsWith("search") && { repo }), ...args(isRight) });
      answers.push([
        ...[told(reply, repo), (await t.revisionOf(repo)) - before],
        told((await tool.call("proposal/list")).result, repo),
        ...(await seenLater(tool, repo)),
      ]);
    }
    expect(answers[0]).toEqual(answers[1]);
    expect(answers[0]).toHaveProperty("1", revisions);
  });

  test("is not told by its proposals whether two past values are equal, or how long one is", async () => {
    const large = "x".repeat(255_000);
    const answers: unknown[] = [];
    for (const [repo, value] of [
      ["long-no", "short"],
      ["long-is", "x".repeat(3_000)],
    ] as const) {
      await t.plant(repo);
      const envvars = [{ name: "A", value }];
      for (const one of [envvars, [], envvars]) await t.owner.call("config/set", { repo, "svc.envvars": one });
      const tool = await t.connect((await t.keyOf([repo], "write")).key);
      await tool.call("config/watch");
      const told = () => tool.events.filter(([resource]) => resource === "proposal").length;
      const restore = async (to: number) => {
        const before = told();
        const reply = await tool.call("history/restore", { repo, to, fields: ["svc.envvars"] });
        await until(() => told() > before, "the event of a proposal");
        return reply.errors.map(({ code, details }) => [code, details?.["right"]]);
      };
      // The same value, which it proposed before.
      answers.push([await restore(4), await restore(6)]);
      await tool.call("proposal/remove", { id: (await tool.call("proposal/list")).result[0]?.id });
      const service = { web: { ready: large, image: "node:24" } };
      await tool.call("config/set", { repo, "vault.run": large, "vault.path": large, "svc.services": service });
      await tool.call("config/set", { repo, layer: "local", "vault.run": "x".repeat(232_500) });
      expect((await tool.call("proposal/list")).result).toHaveLength(4);
      const { errors } = await tool.call("history/restore", { repo, to: 6, fields: ["svc.envvars"] });
      answers.push(errors.map(({ code, details, message }) => [code, details, message]));
    }
    expect(answers[0]).toEqual(answers[2]);
    expect(answers[1]).toEqual([[1107, expect.anything(), expect.any(String)]]);
    expect(answers[1]).toEqual(answers[3]);
  });

  test("is told no reason of a change to what it may not see by the last change of a field either", async () => {
    await t.plant("reasons");
    const tool = await t.connect((await t.keyOf(["reasons"], "read")).key);
    const grants = [{ repos: ["reasons"], fields: ["vault.open"], right: "read" as const }];
    const other = await t.connect(
      (await t.owner.call("key/create", { name: "narrow", grants, rights: ["reveal"] })).result.key,
    );
    const set = (more: object) => t.owner.call("config/set", { repo: "reasons", reason: "planted reason", ...more });
    const reasons = async (client: TestClient, field: string) => {
      const { result } = await client.call("config/explain", { repo: "reasons", field });
      const [entry] = (await client.call("history/list", { repo: "reasons", field, limit: 1 })).result;
      expect(result.revision).toBe(entry?.revision);
      return [result.reason, entry?.reason];
    };
    // By its schema the field is for everybody, but its value is a reference.
    await set({ "vault.notes": ["cmd://op/x"] });
    expect(await reasons(tool, "vault.notes")).toEqual([undefined, undefined]);
    await set({ layer: "local", "svc.timeout": 1 });
    // The other field changes beneath a local value, so it does not change what counts.
    await set({ layer: "shared", "vault.open": "new", "svc.timeout": 2 });
    expect(await reasons(other, "vault.open")).toEqual([undefined, undefined]);
    expect(await reasons(t.owner, "vault.open")).toEqual(["planted reason", "planted reason"]);
  });

  /** The local values that there are before, one after the other. */
  function localOf(what: string, isRight: boolean): readonly object[] {
    if (what.includes(" beside ")) return [{ "vault.open": "mine" }];
    if (what.endsWith("a local value")) return [{ "vault.token": older }];
    if (what.endsWith("local values")) return [{ "vault.token": older }, { "vault.token": "other" }];
    // It is the shared one, or not.
    return what === "a local unset" ? [{ "vault.token": isRight ? token : older }] : [];
  }

  /** What it is told afterwards: of the field, by the history, and by events up to one of its own. */
  async function seenLater(tool: TestClient, repo: string): Promise<readonly string[]> {
    const { result: explained } = await tool.call("config/explain", { repo, field: "vault.token" });
    const { result: entries } = await tool.call("history/list", { repo });
    const { result } = await t.owner.call("config/set", { repo, layer: "shared", "svc.timeout": 77 });
    const isLast = (one: (typeof tool.events)[number]) =>
      one[0] === "config" && one[2].revision === result[0]?.revision;
    await until(() => tool.events.some(isLast), "the last event");
    return [explained, entries[0], tool.events].map(one => told(one, repo));
  }

  /** Without what differs between two repositories, and between two guesses. */
  function told(reply: unknown, repo: string): string {
    const text = JSON.stringify(reply)
      .replaceAll(repo, "REPO")
      .replaceAll(/guessed|KEY/g, "planted");
    return text.replaceAll(/"(time|position|id|proposal)":"[^"]*"|the proposal [0-9a-f]{12}/g, "");
  }
});

test("S19 the rights of a key are kept; a key from before there were any has all, a new one has none", async () => {
  const made = { hash: "0".repeat(64), grants: [], createdAt: "2026-11-21T03:18:02.960Z" };
  const keys = [{ id: "0123456789ab", name: "old", ...made }];
  await using one = await startTestDaemon({ files: { "keys.json": { keys } } });
  await one.owner.call("key/create", { name: "none", grants: [] });
  await one.owner.call("key/create", { name: "seeing", grants: [], rights: ["reveal"] });
  for (const again of [async () => {}, one.restart]) {
    await again();
    const { result } = await one.owner.call("key/list");
    expect(Object.fromEntries(result.map(({ name, rights }) => [name, rights]))).toEqual({
      ...{ old: ["reveal", "commands"], none: [], seeing: ["reveal"] },
    });
  }
});
