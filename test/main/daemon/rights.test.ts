import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { Grants } from "../../../shared/grants.ts";
import { breakFile, replaceFile, untilHealth } from "../../helpers/broken-file.ts";
import { startTestDaemon } from "../../helpers/daemon.ts";

const reads = (...fields: string[]): Grants => [{ repos: "*", fields, right: "read" }];
const writes = (...fields: string[]): Grants => [{ repos: "*", fields, right: "write" }];
const service = { ready: "true", image: "web:1" };

describe("nothing is allowed by default", () => {
  test.each<[title: string, grants: Grants]>([
    ["no grant", []],
    ["a grant for no repository", [{ repos: [], fields: ["*"], right: "write" }]],
    ["a grant for another repository", [{ repos: ["other"], fields: ["*"], right: "write" }]],
    ["a grant for a field that does not exist", writes("svc.nope", "nope.*")],
    ["a grant for a scope's name without a field", writes("svc")],
  ])("to a key with %s a repository looks like one that does not exist", async (_title, grants) => {
    await using t = await startTestDaemon();
    await t.addRepository("id-1");
    const tool = await t.connectWith(grants);
    const answers = async (repo: string) => {
      const replies = [
        await tool.call("config/list", { repo }),
        await tool.call("config/list", { repo, field: "svc.timeout" }),
        await tool.call("config/list", { repo, field: "svc.nope" }),
        await tool.call("config/list", { repo, revision: 99 }),
        await tool.call("config/explain", { repo, field: "svc.timeout" }),
        await tool.call("config/set", { repo, "svc.timeout": "x" }),
        await tool.call("config/set", { repo, "svc.timeout": 5, revision: 9 }),
        await tool.call("config/set", { repo, "svc.timeout": 5, atomic: true, dryRun: true }),
        await tool.call("config/unset", { repo, fields: ["svc.timeout"] }),
        await tool.call("config/watch", { repo }),
        await tool.call("repo/update", { repo, name: "n" }),
      ];
      return JSON.stringify(replies).replaceAll(repo, "REPO");
    };
    expect(await answers("id-1")).toBe(await answers("id-2"));
    expect((await tool.call("repo/list")).result).toEqual([]);
    expect((await tool.call("config/watch")).result).toEqual({ revisions: {}, position: expect.any(String) });
    expect((await t.owner.call("config/list", { repo: "id-1", stored: true })).result).toEqual({});
  });
});

describe("what a limited key sees of a repository", () => {
  test("list returns the fields it may read and no others, effective or stored", async () => {
    await using t = await startTestDaemon();
    const repo = await t.addRepository();
    await t.owner.call("config/set", { repo, "svc.timeout": 5, "svc.domain": "d", "svc.proxy_url": "u" });
    const tool = await t.connectWith([...reads("svc.timeout", "svc.proxy_h*"), ...writes("svc.provider")]);
    const seen = { timeout: 5, proxy_http: true, proxy_https: false, proxy_https_redirect: false, provider: "" };
    expect((await tool.call("config/list", { repo })).result).toEqual({ svc: seen });
    expect((await tool.call("config/list", { repo, scope: "svc" })).result).toEqual({ svc: seen });
    expect((await tool.call("config/list", { repo, stored: true })).result).toEqual({ svc: { timeout: 5 } });
  });

  test("spec 4.1, rule 6: a field it may not read looks like one that does not exist", async () => {
    await using t = await startTestDaemon();
    const repo = await t.addRepository();
    const tool = await t.connectWith(reads("svc.timeout"));
    const hidden = await tool.call("config/list", { repo, field: "svc.domain" });
    const unknown = await tool.call("config/list", { repo, field: "svc.nodomain" });
    expect(hidden).toMatchObject({ result: {}, errors: [{ code: 1011, field: "svc.domain" }] });
    expect(JSON.stringify(hidden)).toBe(JSON.stringify(unknown).replaceAll("nodomain", "domain"));
  });

  test("spec 4.2, rules 3 and 4: a field it may not write looks like one that does not exist, and the rest is set", async () => {
    await using t = await startTestDaemon();
    const repo = await t.addRepository();
    const tool = await t.connectWith([...reads("svc.domain"), ...writes("svc.timeout")]);
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
    expect(await tool.call("config/unset", { repo, fields: ["svc.domain"] })).toMatchObject({
      result: [],
      errors: [{ code: 1007, field: "svc.domain" }],
    });
  });

  test("spec 4.2, rule 4: of several repositories, one it may not write is absent from the output", async () => {
    await using t = await startTestDaemon();
    const [mine, partly, foreign] = [await t.addRepository("mine"), await t.addRepository("partly"), "foreign"];
    await t.addRepository(foreign);
    const tool = await t.connectWith([
      { repos: ["mine"], fields: ["svc.*"], right: "write" },
      { repos: ["partly"], fields: ["svc.domain"], right: "write" },
      { repos: "*", fields: ["*"], right: "read" },
    ]);
    const { result, errors } = await tool.call("config/set", { repo: [mine, partly, foreign], "svc.timeout": 5 });
    expect(result.map(({ repo }) => repo)).toEqual(["mine"]);
    expect(errors).toMatchObject([
      { code: 1007, repo: "foreign" },
      { code: 1007, repo: "partly", field: "svc.timeout" },
    ]);
  });

  test("a key that may write nothing in a repository gets no error of a later check", async () => {
    await using t = await startTestDaemon();
    const repo = await t.addRepository();
    await breakFile(t, repo);
    const tool = await t.connectWith(reads("*"));
    for (const args of [{ "svc.timeout": 5 }, { "svc.timeout": "x", revision: 9 }, { "svc.nope": 5 }]) {
      const { result, errors } = await tool.call("config/set", { repo, ...args });
      expect(result).toEqual([]);
      expect(errors.map(({ code, repo: of, field }) => [code, of, field])).toEqual([[1007, repo, undefined]]);
    }
  });

  test("a rule across fields reveals only whether it holds, not the value of a field it may not read", async () => {
    await using t = await startTestDaemon();
    const repo = await t.addRepository();
    const services = { "hidden-name": service, other: service };
    await t.owner.call("config/set", { repo, "svc.services": services, "svc.default": "hidden-name" });
    const tool = await t.connectWith(writes("svc.services"));
    const { errors } = await tool.call("config/set", { repo, "svc.services": {} });
    expect(errors).toMatchObject([{ code: 1103, field: "svc.services" }]);
    expect(JSON.stringify(errors)).not.toContain("hidden-name");
    expect(JSON.stringify(errors)).not.toContain("svc.default");
  });

  test("repo/list counts and health leave out fields it may not read", async () => {
    await using t = await startTestDaemon();
    const repo = await t.addRepository("here");
    await t.addRepository("hidden");
    const config = { svc: { timeout: "x", domain: 5, provider: "p", unknown: 1 }, "no-scope": { a: 1 } };
    await replaceFile(t.repositoryFile(repo), JSON.stringify({ name: "here", config }));
    await untilHealth(t, repo, health => health.length === 4);
    const tool = await t.connectWith([{ repos: ["here"], fields: ["svc.timeout", "svc.provider"], right: "read" }]);
    const { result } = await tool.call("repo/list");
    expect(result).toMatchObject([{ id: "here", modified: 1, health: [{ code: 1103, field: "svc.timeout" }] }]);
    expect(JSON.stringify(result)).not.toMatch(/domain|unknown|no-scope|hidden/);
    const blind = await t.connectWith(reads("svc.refresh_day"));
    expect((await blind.call("repo/list")).result).toMatchObject([
      { id: "here", modified: 0, health: [] },
      { id: "hidden", modified: 0, health: [] },
    ]);
  });

  test("repo/list by id returns only that repository, if it may be seen", async () => {
    await using t = await startTestDaemon();
    for (const id of ["here", "hidden"]) await t.addRepository(id);
    const tool = await t.connectWith([{ repos: ["here"], fields: ["svc.timeout"], right: "read" }]);
    const idsOf = async (repo: string) => (await tool.call("repo/list", { repo })).result.map(({ id }) => id);
    expect(await idsOf("here")).toEqual(["here"]);
    expect(await idsOf("hidden")).toEqual([]);
    expect(await idsOf("nowhere")).toEqual([]);
  });

  test("repo/list by path finds the nearest repository that it may see", async () => {
    await using t = await startTestDaemon();
    const outer = join(t.homeFolder, "work-tree");
    await mkdir(join(outer, "inner"), { recursive: true });
    await t.owner.call("repo/add", { name: "outer", id: "outer", path: outer });
    await t.owner.call("repo/add", { name: "inner", id: "inner", path: join(outer, "inner") });
    const tool = await t.connectWith([{ repos: ["outer"], fields: ["svc.timeout"], right: "read" }]);
    const { result } = await tool.call("repo/list", { path: join(outer, "inner/deep") });
    expect(result.map(({ id }) => id)).toEqual(["outer"]);
  });

  test("scope/list contains the fields it may read in some repository, and nothing else", async () => {
    await using t = await startTestDaemon();
    const tool = await t.connectWith([
      { repos: ["some"], fields: ["svc.timeout"], right: "read" },
      { repos: [], fields: ["*"], right: "write" },
    ]);
    const { result } = await tool.call("scope/list");
    expect(result.map(({ scope }) => scope)).toEqual(["svc"]);
    expect(Object.keys(result[0]?.schema.properties ?? {})).toEqual(["timeout"]);
    const nothing = await t.connectWith(reads("other.*"));
    expect((await nothing.call("scope/list")).result).toEqual([]);
  });
});

describe("what a limited key sees of events", () => {
  test("a change contains the fields it may read; a change of no such field sends no event", async () => {
    await using t = await startTestDaemon();
    const repo = await t.addRepository();
    const tool = await t.connectWith(reads("svc.timeout"));
    await tool.call("config/watch", { repo });
    await t.owner.call("config/set", { repo, "svc.domain": "d" });
    await t.owner.call("config/set", { repo, "svc.domain": "e", "svc.timeout": 5, "svc.provider": "p" });
    await t.owner.call("config/unset", { repo, fields: ["svc.domain"] });
    await tool.call("key/self");
    expect(tool.events).toMatchObject([["config", "changed", { repo, revision: 3 }]]);
    expect(tool.events[0]?.[2]).toMatchObject({
      changes: { svc: { timeout: { value: 5, previous: 900, stored: true } } },
    });
    expect(JSON.stringify(tool.events)).not.toMatch(/domain|provider/);
  });

  test("a watch on everything excludes what it may not see", async () => {
    await using t = await startTestDaemon();
    await t.addRepository("seen");
    await t.addRepository("hidden");
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

  test("a problem with a field it may not read sends it no health event", async () => {
    await using t = await startTestDaemon();
    const repo = await t.addRepository();
    const tool = await t.connectWith(reads("svc.timeout"));
    await tool.call("config/watch");
    await replaceFile(t.repositoryFile(repo), JSON.stringify({ name: "a repository", config: { svc: { domain: 5 } } }));
    await untilHealth(t, repo, health => health.length === 1);
    await t.owner.call("config/set", { repo, "svc.timeout": 5 });
    await tool.nextChange();
    expect(tool.events.map(([resource, event]) => `${resource} ${event}`)).toEqual(["config changed"]);
  });

  test("a watch that names a repository it may not see gives 1102, and watches nothing of the request", async () => {
    await using t = await startTestDaemon();
    await t.addRepository("seen");
    await t.addRepository("hidden");
    const tool = await t.connectWith([{ repos: ["seen"], fields: ["*"], right: "read" }]);
    expect(await tool.call("config/watch", { repo: ["seen", "hidden"] })).toMatchObject({
      result: null,
      errors: [{ code: 1102, repo: "hidden" }],
    });
    await t.owner.call("config/set", { repo: ["seen", "hidden"], "svc.timeout": 5 });
    await tool.call("key/self");
    expect(tool.events).toEqual([]);
  });
});
