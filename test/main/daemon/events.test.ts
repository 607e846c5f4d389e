import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { ConfigChanged } from "../../../shared/protocol.ts";
import { halfAFile } from "../../helpers/broken-file.ts";
import { startTestDaemon, type TestClient, until } from "../../helpers/daemon.ts";
import { saveByRename } from "../../helpers/shop.ts";

function changesOf(client: TestClient): ConfigChanged[] {
  return client.events.flatMap(event => (event[0] === "config" ? [event[2]] : []));
}

describe("config/watch and config/unwatch", () => {
  test("a watch returns the revisions of what it watches; earlier changes send no events", async () => {
    await using t = await startTestDaemon();
    const [one, two] = [await t.addRepository("one"), await t.addRepository("two")];
    await t.owner.call("config/set", { repo: one, "svc.timeout": 5 });
    expect(await t.owner.call("config/watch", { repo: one })).toEqual({
      result: { revisions: { one: 2 }, position: expect.any(String) },
      errors: [],
    });
    const both = await t.owner.call("config/watch", { repo: [one, two, one] });
    expect(both.result).toMatchObject({ revisions: { one: 2, two: 1 } });
    for (const all of [{}, { repo: null }])
      expect((await t.owner.call("config/watch", all)).result).toMatchObject({ revisions: { one: 2, two: 1 } });
    expect(t.owner.events).toEqual([]);
  });

  test("a watch brings only events of what it names, each once: one repository, several, or all present and future ones", async () => {
    await using t = await startTestDaemon({ repositories: ["one", "two", "three"] });
    const [single, several, all, none] = [await t.connect(), await t.connect(), await t.connect(), await t.connect()];
    await single.call("config/watch", { repo: "one" });
    for (const repo of [["one"], "two", ["one", "two"]]) await several.call("config/watch", { repo });
    for (const repo of ["one", null]) await all.call("config/watch", { repo });
    await t.addRepository("four");
    await t.owner.call("config/set", { repo: ["one", "two", "three", "four"], "svc.timeout": 5 });
    for (const client of [single, several, all, none]) await client.call("key/self");
    const seen = (client: TestClient) => client.events.flatMap(([, , one]) => ("repo" in one ? [one.repo] : [])).sort();
    expect([seen(single), seen(several)]).toEqual([["one"], ["one", "two"]]);
    expect([seen(all), none.events]).toEqual([["four", "one", "three", "two"], []]);
    expect(single.events).toHaveLength(1);
  });

  test("unwatch ends the watch on the repositories that it names, or every watch if it names none", async () => {
    await using t = await startTestDaemon({ repositories: ["one", "two", "three"] });
    const [named, all] = [await t.connect(), await t.connect()];
    await named.call("config/watch", { repo: ["one", "two", "three"] });
    await all.call("config/watch");
    await all.call("config/watch", { repo: "one" });
    expect(await named.call("config/unwatch", { repo: "one" })).toEqual({ result: {}, errors: [] });
    expect(await named.call("config/unwatch", { repo: ["two", "nowhere"] })).toEqual({ result: {}, errors: [] });
    expect(await all.call("config/unwatch")).toEqual({ result: {}, errors: [] });
    await t.owner.call("config/set", { repo: ["one", "two", "three"], "svc.timeout": 5 });
    // Only a watch on all repositories has these.
    await t.owner.call("repo/update", { repo: "three", name: "renamed" });
    await t.owner.call("key/create", { name: "another", grants: [] });
    await t.owner.call("repo/remove", { repo: "three" });
    for (const client of [named, all]) await client.call("key/self");
    expect(changesOf(named).map(({ repo }) => repo)).toEqual(["three"]);
    expect([named.events.length, all.events]).toEqual([1, []]);
  });

  test("a repository or revision that does not exist, or one number as since for several, is refused, and nothing is watched; of all, a missing one is skipped", async () => {
    await using t = await startTestDaemon({ repositories: ["one", "two"] });
    for (const [args, code] of [
      [{ repo: ["one", "nowhere"] }, 1102],
      [{ repo: "one", since: 99 }, 1112],
      [{ repo: ["one", "two"], since: { two: 99 } }, 1112],
      [{ repo: ["nowhere"], since: { nowhere: 1 } }, 1102],
      [{ repo: ["one"], since: 1 }, 1101],
      [{ since: 1 }, 1101],
    ] as const)
      expect(await t.owner.call("config/watch", args)).toMatchObject({ result: null, errors: [{ code }] });
    await t.owner.call("config/set", { repo: ["one", "two"], "svc.timeout": 5 });
    await t.owner.call("key/self");
    expect(t.owner.events).toEqual([]);
    const all = await t.owner.call("config/watch", { since: { nowhere: 1, one: 2 } });
    expect(all).toEqual({ result: { revisions: { one: 2, two: 2 }, position: expect.any(String) }, errors: [] });
    await t.owner.call("config/set", { repo: "one", "svc.timeout": 6 });
    expect(await t.owner.nextChange()).toMatchObject({ repo: "one", revision: 3 });
  });
});

describe("config changed", () => {
  test("carries revision, time, actor, source, reason, and the effective values before and after", async () => {
    await using t = await startTestDaemon();
    const repo = await t.addRepository();
    await t.owner.call("config/watch", { repo });
    await t.owner.call("config/set", { repo, reason: "slow machine", "svc.timeout": 5, "svc.domain": "d" });
    expect(await t.owner.nextChange()).toEqual({
      repo,
      revision: 2,
      position: expect.any(String),
      time: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      actor: "owner",
      source: "set",
      reason: "slow machine",
      changes: {
        svc: {
          timeout: { value: 5, previous: 900, stored: true },
          domain: { value: "d", previous: "", stored: true },
        },
      },
    });
    await t.owner.call("config/set", { repo, "svc.timeout": 900, "svc.domain": "d" });
    const again = await t.owner.nextChange();
    expect(again.changes).toEqual({ svc: { timeout: { value: 900, previous: 5, stored: true } } });
    expect(again).not.toHaveProperty("reason");
    await t.owner.call("config/unset", { repo, fields: ["svc.domain"] });
    expect(await t.owner.nextChange()).toMatchObject({
      revision: 4,
      source: "unset",
      changes: { svc: { domain: { value: "", previous: "d", stored: false } } },
    });
  });

  test("is not sent if nothing changes: values that are already set, a dry run, a refused atomic set", async () => {
    await using t = await startTestDaemon();
    const repo = await t.addRepository();
    await t.owner.call("config/set", { repo, "svc.timeout": 5 });
    await t.owner.call("config/watch");
    await t.owner.call("config/set", { repo, "svc.timeout": 5 });
    await t.owner.call("config/unset", { repo, fields: ["svc.domain"] });
    await t.owner.call("config/set", { repo, dryRun: true, "svc.timeout": 6 });
    await t.owner.call("config/set", { repo, atomic: true, "svc.timeout": 6, "svc.nope": 1 });
    await t.owner.call("config/set", { repo, revision: 9, "svc.timeout": 6 });
    await t.owner.call("key/self");
    expect(t.owner.events).toEqual([]);
  });
});

test("a repository that is added, updated, broken, fixed or removed is reported with its entry", async () => {
  await using t = await startTestDaemon();
  await t.owner.call("config/watch");
  const added = await t.owner.call("repo/add", { name: "first", id: "one" });
  const updated = await t.owner.call("repo/update", { repo: "one", name: "second" });
  const text = await t.readRepository("one");
  await saveByRename(t.repositoryFile("one"), halfAFile);
  await until(() => t.owner.events.length === 3, "the problem");
  await saveByRename(t.repositoryFile("one"), text);
  await until(() => t.owner.events.length === 4, "the end of the problem");
  await t.owner.call("repo/remove", { repo: "one" });
  await t.owner.call("key/self");
  expect(t.owner.events).toEqual([
    ["repo", "added", added.result],
    ["repo", "updated", updated.result],
    ["repo", "health", { ...updated.result, health: [expect.objectContaining({ code: 1106, line: 1 })] }],
    ["repo", "health", updated.result],
    ["repo", "removed", updated.result],
  ]);
});

test("problems of the home as a whole come to the owner's watches of everything, and /readyz says that there are some", async () => {
  await using t = await startTestDaemon();
  const tool = await t.connectWith([{ repos: "*", fields: ["*"], right: "write" }]);
  for (const client of [t.owner, tool]) await client.call("config/watch");
  const ready = async () => (await fetch(`${t.url}/readyz`)).text();
  expect(await ready()).toBe("ready\n");
  let events = 0;
  const isTold = async (...problems: readonly string[]) => {
    await until(() => t.owner.events.length > events, `the problems ${problems}`);
    const message = { problems: problems.map(problem => expect.stringContaining(problem)) };
    expect(t.owner.events.slice(events++)).toEqual([["daemon", "problems", message]]);
  };
  const settings = join(t.homeFolder, "settings.json");
  await writeFile(settings, "{");
  await isTold("settings.json");
  expect(await ready()).toBe("ready, with problems: repoconf status\n");
  await writeFile(settings, "{}");
  await isTold();
  const scope = join(t.homeFolder, "scopes/own.schema.json");
  await writeFile(scope, "{");
  await isTold("own.schema.json");
  await rm(scope);
  await isTold();
  await tool.call("key/self");
  expect(tool.events).toEqual([]);
  await t.daemon.close();
  await writeFile(join(t.homeFolder, "index.json"), "not an index");
  await t.restart();
  await t.owner.call("config/watch");
  const { findings: [found] = [] } = (await t.owner.call("daemon/status")).result;
  expect((await t.owner.call("daemon/dismiss", { id: found?.id })).errors).toEqual([]);
  events = 0;
  await isTold();
});
