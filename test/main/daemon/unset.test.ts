import { afterAll, describe, expect, test } from "vitest";
import { svcSchema } from "../../../shared/scopes/svc.ts";
import { startTestDaemon } from "../../helpers/daemon.ts";

const t = await startTestDaemon();
afterAll(() => t[Symbol.asyncDispose]());

const { timeout } = svcSchema.properties;

async function repositoryWith(fields: { readonly [field: string]: unknown }): Promise<string> {
  const repo = await t.addRepository();
  await t.owner.call("config/set", { repo, ...fields });
  return repo;
}

async function storedValues(repo: string): Promise<unknown> {
  return (await t.owner.call("config/list", { repo, stored: true })).result["svc"] ?? {};
}

describe("config/unset", () => {
  test("removes stored values, and replies like set with the default as value", async () => {
    // A stored value that is equal to the default is removed too.
    const repo = await repositoryWith({ "svc.timeout": 900, "svc.domain": "d", "svc.provider": "p" });
    const reply = await t.owner.call("config/unset", { repo, fields: ["svc.timeout", "svc.domain"] });
    const svc = {
      timeout: { value: 900, description: timeout.description },
      domain: { value: "", description: expect.any(String) },
    };
    expect(reply).toEqual({ result: [{ repo, revision: 3, config: { svc } }], errors: [] });
    expect(await storedValues(repo)).toEqual({ provider: "p" });
    expect(JSON.parse(await t.readRepository(repo))).toMatchObject({ config: { svc: { provider: "p" } } });
  });

  test.each<[title: string, args: { [name: string]: unknown }, code: number]>([
    ["no repo", { fields: ["svc.timeout"] }, 1006],
    ["an empty array of repositories", { repo: [], fields: ["svc.timeout"] }, 1006],
    ["no repo and no fields", {}, 1006],
    ["no fields", { repo: "a" }, 1008],
    ["fields null", { repo: "a", fields: null }, 1008],
    ["an empty array of fields", { repo: "a", fields: [] }, 1008],
    ["an unknown repository", { repo: "nowhere", fields: ["svc.timeout"] }, 1007],
  ])("%s gives its code and an empty result", async (_title, args, code) => {
    const { result, errors } = await t.owner.call("config/unset", args);
    expect(result).toEqual([]);
    expect(errors.map(error => error.code)).toEqual([code]);
  });

  test("spec 7, 1007: a field that does not exist is reported beside what was unset", async () => {
    const repo = await repositoryWith({ "svc.timeout": 5 });
    const reply = await t.owner.call("config/unset", { repo, fields: ["svc.nope", "svc.timeout"] });
    const result = [{ repo, revision: 3, config: { svc: { timeout: { value: 900 } } } }];
    expect(reply).toMatchObject({ result, errors: [{ code: 1007, field: "svc.nope" }] });
  });

  test("supports the options of set: revision, atomic, dryRun, and several repositories", async () => {
    const [one, two] = [await repositoryWith({ "svc.timeout": 1 }), await repositoryWith({ "svc.timeout": 2 })];
    const all = { repo: [one, two], fields: ["svc.timeout"] };
    const conflict = await t.owner.call("config/unset", { ...all, atomic: true, revision: { [one]: 2, [two]: 1 } });
    expect(conflict).toMatchObject({ result: [], errors: [{ code: 1104, repo: two, details: { current: 2 } }] });
    const dry = await t.owner.call("config/unset", { ...all, dryRun: true });
    expect(dry).toMatchObject({ result: [{ revision: 3 }, { revision: 3 }], errors: [] });
    expect([await storedValues(one), await storedValues(two)]).toEqual([{ timeout: 1 }, { timeout: 2 }]);
    // A dry run has no batch.
    const done = dry.result.map(one => ({ ...one, batch: expect.stringMatching(/^[0-9a-f]{24}$/) }));
    expect(await t.owner.call("config/unset", all)).toEqual({ ...dry, result: done });
    expect([await storedValues(one), await storedValues(two)]).toEqual([{}, {}]);
  });
});

describe("config/set with unset", () => {
  test("sets and unsets in one revision, and returns both", async () => {
    const repo = await repositoryWith({ "svc.timeout": 5, "svc.domain": "d", "svc.provider": "p" });
    await t.owner.call("config/watch", { repo });
    const reply = await t.owner.call("config/set", { repo, "svc.domain": "e", unset: ["svc.timeout", "svc.provider"] });
    const svc = { domain: { value: "e" }, timeout: { value: 900 }, provider: { value: "" } };
    expect(reply).toMatchObject({ result: [{ repo, revision: 3, config: { svc } }], errors: [] });
    expect(await storedValues(repo)).toEqual({ domain: "e" });
    const change = await t.owner.nextChange();
    expect(change).toMatchObject({ repo, revision: 3, source: "set" });
    expect(change.changes).toEqual({
      svc: {
        timeout: { value: 900, previous: 5, stored: false },
        domain: { value: "e", previous: "d", stored: true },
        provider: { value: "", previous: "p", stored: false },
      },
    });
    const { result } = await t.owner.call("history/list", { repo });
    expect(result.map(({ revision }) => revision)).toEqual([3, 2, 1]);
  });

  test.each<[title: string, args: { [name: string]: unknown }, code: number]>([
    ["a field in both", { "svc.timeout": 5, unset: ["svc.timeout"] }, 1101],
    ["a field in both, and no repository", { repo: undefined, "svc.timeout": 5, unset: ["svc.timeout"] }, 1101],
    ["no repository", { repo: undefined, unset: ["svc.timeout"] }, 1006],
    ["an empty array alone", { unset: [] }, 1008],
    ["null alone", { unset: null }, 1008],
    ["a name without a dot alone", { unset: ["timeout"] }, 1008],
    [
      "too many fields with those that are set",
      { "svc.domain": "d", unset: Array.from({ length: 256 }, (_, index) => `svc.f${index}`) },
      1107,
    ],
  ])("%s gets its code, and nothing is changed", async (_title, args, code) => {
    const repo = await repositoryWith({ "svc.timeout": 7, "svc.domain": "x" });
    const text = await t.readRepository(repo);
    const { result, errors } = await t.owner.call("config/set", { repo, ...args });
    expect(result).toEqual([]);
    expect(errors.map(error => error.code)).toEqual([code]);
    expect(await t.readRepository(repo)).toBe(text);
  });

  test("a field that does not exist is reported (1007) beside what was set and unset", async () => {
    const repo = await repositoryWith({ "svc.timeout": 5 });
    const unset = ["svc.nope", "svc.timeout", "__proto__.x", "svc.__proto__"];
    const { result, errors } = await t.owner.call("config/set", { repo, "svc.domain": "d", unset });
    expect(errors.map(({ code, field }) => [code, field])).toEqual([
      [1007, "svc.nope"],
      [1007, "__proto__.x"],
      [1007, "svc.__proto__"],
    ]);
    expect(result).toMatchObject([{ revision: 3 }]);
    expect(await storedValues(repo)).toEqual({ domain: "d" });
  });

  test("a key unsets only what it may write", async () => {
    const repo = await repositoryWith({ "svc.timeout": 5, "svc.domain": "d" });
    const tool = await t.connectWith([
      { repos: [repo], fields: ["svc.domain"], right: "write" },
      { repos: "*", fields: ["*"], right: "read" },
    ]);
    const reply = await tool.call("config/set", { repo, unset: ["svc.timeout", "svc.domain"] });
    expect(reply).toMatchObject({ result: [{ revision: 3 }], errors: [{ code: 1007, field: "svc.timeout" }] });
    expect(await storedValues(repo)).toEqual({ timeout: 5 });
    const atomic = await tool.call("config/set", { repo, atomic: true, "svc.domain": "e", unset: ["svc.timeout"] });
    expect(atomic).toMatchObject({ result: [], errors: [{ code: 1007 }] });
    expect(await storedValues(repo)).toEqual({ timeout: 5 });
  });
});
