import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { Grants } from "../../../shared/grants.ts";
import { startTestDaemon } from "../../helpers/daemon.ts";

const reads = (...fields: string[]): Grants => [{ repos: "*", fields, right: "read" }];
const writes = (...fields: string[]): Grants => [{ repos: "*", fields, right: "write" }];
describe("what a limited key sees of a repository", () => {
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
});

describe("what a limited key sees of events", () => {
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
