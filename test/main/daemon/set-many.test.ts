import { afterAll, describe, expect, test } from "vitest";
import { breakFile } from "../../helpers/broken-file.ts";
import { startTestDaemon } from "../../helpers/daemon.ts";

const t = await startTestDaemon();
afterAll(() => t[Symbol.asyncDispose]());

async function timeoutOf(repo: string): Promise<unknown[]> {
  const { result, revision } = await t.owner.call("config/list", { repo, field: "svc.timeout" });
  return [result["svc"]?.["timeout"], revision];
}

async function twoRepositories(): Promise<[string, string]> {
  return [await t.addRepository(), await t.addRepository()];
}

describe("config/set of several repositories", () => {
  test("spec 4.2: each repository has its entry in the array, with its own revision", async () => {
    const [one, two] = await twoRepositories();
    await t.owner.call("config/set", { repo: two, "svc.domain": "d" });
    const { result, errors } = await t.owner.call("config/set", { repo: [one, two], "svc.timeout": 5 });
    expect(errors).toEqual([]);
    const config = { svc: { timeout: { value: 5 } } };
    expect(result).toMatchObject([
      { repo: one, revision: 2, config },
      { repo: two, revision: 3, config },
    ]);
    expect([...(await timeoutOf(one)), ...(await timeoutOf(two))]).toEqual([5, 2, 5, 3]);
  });

  test("an array of one is an array, and a repository named twice in it is set once and answered once", async () => {
    const repo = await t.addRepository();
    for (const [names, timeout] of [[[repo], 5] as const, [[repo, repo], 6] as const]) {
      const set = { repo: names, revision: { [repo]: timeout - 4 }, "svc.timeout": timeout };
      expect((await t.owner.call("config/set", set)).result).toMatchObject([{ repo, revision: timeout - 3 }]);
      expect(await timeoutOf(repo)).toEqual([timeout, timeout - 3]);
    }
  });

  test("spec 4.2, rules 3 and 4: unknown repositories are absent, each named in a 1007; the others are set", async () => {
    const repo = await t.addRepository();
    const { result, errors } = await t.owner.call("config/set", { repo: ["no1", repo, "no2"], "svc.timeout": 5 });
    expect(result.map(entry => entry.repo)).toEqual([repo]);
    expect(errors).toMatchObject([
      { code: 1007, repo: "no1" },
      { code: 1007, repo: "no2" },
    ]);
  });

  test("a field that exists in no scope gives one 1007 however many repositories were asked", async () => {
    const repos = await twoRepositories();
    const { result, errors } = await t.owner.call("config/set", { repo: repos, "svc.nope": 5, "svc.timeout": 5 });
    expect(errors).toMatchObject([{ code: 1007, field: "svc.nope" }]);
    expect(result).toHaveLength(2);
  });

  test("each repository is a separate set: what one rejects the other accepts", async () => {
    const [one, two] = await twoRepositories();
    const service = { ready: "true", image: "web:1" };
    await t.owner.call("config/set", { repo: two, "svc.services": { web: service } });
    const { result, errors } = await t.owner.call("config/set", { repo: [one, two], "svc.default": "web" });
    expect(result.map(({ repo, revision }) => [repo, revision])).toEqual([[two, 3]]);
    expect(errors).toMatchObject([{ code: 1103, repo: one, field: "svc.default" }]);
  });

  test("a broken file excludes its own repository (1106) and no other", async () => {
    const [one, two] = await twoRepositories();
    await breakFile(t, one);
    const { result, errors } = await t.owner.call("config/set", { repo: [one, two], "svc.timeout": 5 });
    expect(result.map(entry => entry.repo)).toEqual([two]);
    expect(errors).toMatchObject([{ code: 1106, repo: one }]);
  });

  test("revision as { id: number } is compared for each repository that it names, and for no other", async () => {
    const [one, two] = await twoRepositories();
    const three = await t.addRepository();
    const set = { repo: [one, two, three], revision: { [one]: 1, [two]: 9 }, "svc.timeout": 5 };
    const { result, errors } = await t.owner.call("config/set", set);
    expect(result.map(entry => entry.repo)).toEqual([one, three]);
    expect(errors).toMatchObject([{ code: 1104, repo: two, details: { current: 1 } }]);
  });
});

describe("config/set with atomic", () => {
  test.each<[title: string, code: number, args: (one: string, two: string) => { [name: string]: unknown }]>([
    ["an unknown repository", 1007, (one, two) => ({ repo: [one, two, "nowhere"] })],
    ["an unknown field", 1007, (one, two) => ({ repo: [one, two], "svc.nope": 5 })],
    ["a name without a dot", 1007, (one, two) => ({ repo: [one, two], nope: 5 })],
    ["a rejected value", 1103, (one, two) => ({ repo: [one, two], "svc.refresh_day": 7 })],
    ["a broken rule across fields", 1103, (one, two) => ({ repo: [one, two], "svc.default": "only-in-one" })],
    ["another revision of one", 1104, (one, two) => ({ repo: [one, two], revision: { [one]: 2, [two]: 9 } })],
    ["a rejected value in a single repository", 1103, (_one, two) => ({ repo: two, "svc.refresh_day": 7 })],
  ])("%s: nothing is set anywhere", async (_title, code, args) => {
    const [one, two] = await twoRepositories();
    const services = { "only-in-one": { ready: "true", image: "web:1" } };
    await t.owner.call("config/set", { repo: one, "svc.services": services });
    const set = { ...args(one, two), atomic: true, "svc.timeout": 5 };
    const { result, errors } = await t.owner.call("config/set", set);
    expect(result).toEqual([]);
    expect(new Set(errors.map(error => error.code))).toEqual(new Set([code]));
    expect([...(await timeoutOf(one)), ...(await timeoutOf(two))]).toEqual([900, 2, 900, 1]);
  });

  test("a broken file: nothing is set anywhere", async () => {
    const [one, two] = await twoRepositories();
    await breakFile(t, two);
    const reply = await t.owner.call("config/set", { repo: [one, two], atomic: true, "svc.timeout": 5 });
    expect(reply).toMatchObject({ result: [], errors: [{ code: 1106, repo: two }] });
    expect(await timeoutOf(one)).toEqual([900, 1]);
  });

  test("every error is reported, not only the first", async () => {
    const [one, two] = await twoRepositories();
    const set = { repo: [one, "no", two], revision: { [two]: 9 }, atomic: true, "svc.timeout": "x", "svc.nope": 1 };
    const { errors } = await t.owner.call("config/set", set);
    const problems = errors.map(({ code, repo }) => `${code} ${repo}`).sort();
    expect(problems).toEqual(["1007 no", "1007 undefined", `1103 ${one}`, `1104 ${two}`]);
  });

  test("two atomic sets over the same repositories, named in either order, both finish", async () => {
    const [one, two] = await twoRepositories();
    const replies = await Promise.all(
      Array.from({ length: 10 }, (_, index) => {
        const repo = index % 2 === 0 ? [one, two] : [two, one];
        return t.owner.call("config/set", { repo, atomic: true, "svc.timeout": index });
      }),
    );
    for (const { errors } of replies) expect(errors).toEqual([]);
    expect(await timeoutOf(one)).toEqual(await timeoutOf(two));
  });
});

describe("config/set with dryRun", () => {
  test("replies as if it had set, and writes nothing", async () => {
    const repo = await t.addRepository();
    const text = await t.readRepository(repo);
    const set = { repo, "svc.timeout": 5, "svc.refresh_day": 7, "svc.nope": 1 };
    const dry = await t.owner.call("config/set", { ...set, dryRun: true });
    expect(await t.readRepository(repo)).toBe(text);
    expect(await timeoutOf(repo)).toEqual([900, 1]);
    expect(dry).toMatchObject({ result: [{ repo, revision: 2 }], errors: [{ code: 1007 }, { code: 1103 }] });
    expect(await t.owner.call("config/set", set)).toEqual(dry);
  });

  test("with atomic replies as if it had set, and writes nothing", async () => {
    const repos = [await t.addRepository("later"), await t.addRepository("earlier")];
    const set = { repo: repos, atomic: true, "svc.timeout": 5 };
    const dry = await t.owner.call("config/set", { ...set, dryRun: true });
    for (const repo of repos) expect(await timeoutOf(repo)).toEqual([900, 1]);
    expect(dry).toMatchObject({ result: [{ revision: 2 }, { revision: 2 }], errors: [] });
    expect(dry.result[0]).not.toHaveProperty("batch");
    const done = dry.result.map(one => ({ ...one, batch: expect.stringMatching(/^[0-9a-f]{24}$/) }));
    expect(await t.owner.call("config/set", set)).toEqual({ ...dry, result: done });
  });
});
