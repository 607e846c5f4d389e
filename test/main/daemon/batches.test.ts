import { describe, expect, test } from "vitest";
import { undoEntries } from "../../../shared/client/undo-batch.ts";
import type { Grants } from "../../../shared/grants.ts";
import { startTestDaemon, type TestDaemon } from "../../helpers/daemon.ts";
import { connect } from "../../helpers/patient-client.ts";
import { startWorkTree } from "../../helpers/work-tree.ts";

const write = (repos: "*" | string[], ...fields: string[]): Grants => [{ repos, fields, right: "write" }];

async function stored(t: TestDaemon, repo: string): Promise<unknown> {
  return (await t.owner.call("config/list", { repo, stored: true })).result;
}

describe("a batch", () => {
  test.each([false, true])("groups the changes of one set in several repositories: atomic %s", async atomic => {
    await using t = await startTestDaemon({ repositories: ["a", "b"] });
    await t.owner.call("config/watch");
    const { result } = await t.owner.call("config/set", { repo: ["a", "b"], "svc.timeout": 7, atomic });
    const batch = result[0]?.batch;
    expect(batch).toMatch(/^[0-9a-f]{24}$/);
    expect(result.map(one => one.batch)).toEqual([batch, batch]);
    expect([(await t.owner.nextChange()).batch, (await t.owner.nextChange()).batch]).toEqual([batch, batch]);
    const found = await t.owner.call("history/search", { query: "", batch });
    expect(found.result.map(({ repo, batch: of }) => [repo, of]).sort()).toEqual([
      ["a", batch],
      ["b", batch],
    ]);
    expect((await t.owner.call("history/list", { repo: "a", limit: 1 })).result).toMatchObject([{ batch }]);
    // Also if the daemon stopped before the history was written.
    await t.restart();
    expect((await t.owner.call("history/list", { repo: "a", limit: 1 })).result).toMatchObject([{ batch }]);
  });

  test("groups the changes that one key gives the same name, and no other key's", async () => {
    await using t = await startTestDaemon({ repositories: ["a", "b"] });
    const tool = await t.connectWith(write("*", "*"), "ci");
    const change = async (client: typeof tool, name: "config/set" | "config/unset" | "history/restore", args: object) =>
      (await client.call(name, { batch: "mine", ...args })).result[0]?.batch;
    const batch = await change(tool, "config/set", { repo: "a", "svc.timeout": 1 });
    expect(await change(tool, "config/set", { repo: "b", "svc.domain": "x" })).toBe(batch);
    expect(await change(tool, "config/unset", { repo: "b", fields: ["svc.domain"] })).toBe(batch);
    expect(await change(tool, "history/restore", { repo: "b", to: 2 })).toBe(batch);
    expect(await change(t.owner, "config/set", { repo: "b", "svc.timeout": 2 })).not.toBe(batch);
    const { result } = await t.owner.call("history/search", { query: "", batch });
    expect(result.map(({ repo, revision }) => `${repo} ${revision}`)).toEqual(["b 4", "b 3", "b 2", "a 2"]);
  });

  test("is not undone in a work tree whose file came from outside since, even if its values are unchanged", async () => {
    await using tree = await startWorkTree();
    using client = await connect({ home: tree.home });
    const { result } = await tree.t.owner.call("config/set", { repo: "site", "svc.timeout": 31, batch: "one" });
    const batch = result[0]?.batch ?? "";
    await tree.set({ "svc.refresh_day": 2 });
    expect((await client.undoBatch(batch, { dryRun: true })).left).toEqual([]);
    await tree.pull(`{ "config": { "svc": { "timeout": 31, "domain": "other.test" } } }`);
    expect(await client.undoBatch(batch)).toMatchObject({ restored: [], left: [{ repo: "site" }] });
  });

  test("with several changes of a work tree's file asks once whether the file came from outside, and again if somebody else changed it", async () => {
    await using tree = await startWorkTree();
    using client = await connect({ home: tree.home });
    for (const day of [1, 2, 3]) await tree.set({ batch: "one", "svc.refresh_day": day });
    await tree.set({ "svc.timeout": 31 });
    const entries = (await tree.t.owner.call("history/list", { repo: "site", limit: 4 })).result.slice(1);
    const asked: string[] = [];
    const between: (() => Promise<unknown>)[] = [];
    const request: typeof client.request = async (name, args) => {
      asked.push(name);
      const reply = await client.request(name, args);
      if (name === "history/restore") await between.shift()?.();
      return reply;
    };
    const undo = () =>
      undoEntries(
        { request },
        entries.map(entry => ({ repo: "site", ...entry })),
        { reason: "", batch: "undo" },
      );
    between.push(
      async () => {},
      () => tree.set({ "svc.timeout": 32 }),
    );
    const undone = await undo();
    expect(undone.left).toEqual([]);
    expect(undone.restored.map(({ revision }) => revision)).toEqual([6, 7, 9]);
    expect(asked.filter(name => name === "history/list")).toHaveLength(2);
    await tree.set({ "svc.refresh_day": 3 });
    between.push(() => tree.pull(`{ "config": { "svc": { "refresh_day": 2, "domain": "other.test" } } }`));
    expect(await undo()).toMatchObject({ restored: [{ repo: "site" }], left: [{ repo: "site" }, { repo: "site" }] });
  });

  test("is undone where its values are unchanged, as a batch that can itself be undone; the rest is left and reported", async () => {
    await using t = await startTestDaemon({ repositories: ["a", "b", "c", "d"] });
    await t.owner.call("config/set", { repo: "a", "svc.timeout": 1 });
    const made = await t.owner.call("config/set", { repo: ["a", "b", "c", "d"], "svc.timeout": 7, "svc.domain": "x" });
    const batch = made.result[0]?.batch ?? "";
    await t.owner.call("config/set", { repo: "b", "svc.timeout": 8 });
    await t.owner.call("config/set", { repo: "c", "svc.provider": "y" });
    await t.owner.call("config/unset", { repo: "d", fields: ["svc.timeout", "svc.domain"] });
    using client = await connect({ home: t.homeFolder });
    const { restored, left } = await client.undoBatch(batch, { since: new Date(Date.now() - 60_000).toISOString() });
    expect(restored.map(({ repo }) => repo).sort()).toEqual(["a", "b", "c"]);
    expect(left.map(({ repo, field }) => `${repo} ${field}`).sort()).toEqual([
      "b svc.timeout",
      "d svc.domain",
      "d svc.timeout",
    ]);
    expect(left[0]?.message).toBe("It has changed since.");
    expect(await stored(t, "a")).toEqual({ svc: { timeout: 1 } });
    expect(await stored(t, "b")).toEqual({ svc: { timeout: 8 } });
    expect(await stored(t, "c")).toEqual({ svc: { provider: "y" } });
    const again = restored[0]?.batch ?? "";
    expect(restored.map(one => one.batch)).toEqual([again, again, again]);
    expect((await client.undoBatch(again)).left).toEqual([]);
    expect(await stored(t, "a")).toEqual({ svc: { timeout: 7, domain: "x" } });
    expect(await stored(t, "b")).toEqual({ svc: { timeout: 8, domain: "x" } });
  });

  test("with several changes in one repository is undone from the newest change back, and one without an id is refused", async () => {
    await using t = await startTestDaemon({ repositories: ["a"] });
    await t.owner.call("config/set", { repo: "a", "svc.timeout": 1 });
    let batch = "";
    for (const timeout of [2, 3])
      batch =
        (await t.owner.call("config/set", { repo: "a", "svc.timeout": timeout, batch: "x" })).result[0]?.batch ?? "";
    using client = await connect({ home: t.homeFolder });
    // An empty id is not every change.
    await expect(client.undoBatch("")).rejects.toMatchObject({ code: 1101 });
    expect((await t.owner.call("history/search", { query: "", batch: null })).errors).toEqual([]);
    expect(await stored(t, "a")).toEqual({ svc: { timeout: 3 } });
    expect((await client.undoBatch(batch)).left).toEqual([]);
    expect(await stored(t, "a")).toEqual({ svc: { timeout: 1 } });
  });

  test("reports what cannot be undone: an old value that is now rejected, or one that the key may not write", async () => {
    await using t = await startTestDaemon({ repositories: ["a", "b"] });
    const tool = await t.connectWith([...write(["a"], "svc.timeout")], "ci");
    const made = await t.owner.call("config/set", {
      repo: ["a", "b"],
      "svc.services": { web: { ready: "x", image: "y" } },
    });
    const batch = made.result[0]?.batch ?? "";
    await t.owner.call("config/set", { repo: "a", "svc.default": "web" });
    using client = await connect({ home: t.homeFolder });
    const { restored, left } = await client.undoBatch(batch);
    expect(restored.map(({ repo }) => repo)).toEqual(["b"]);
    expect(left).toEqual([
      {
        ...{ repo: "a", field: "svc.services", message: expect.stringContaining('svc.default refers to "web"') },
        error: expect.objectContaining({ code: 1103 }),
      },
    ]);
    expect((await tool.call("history/search", { query: "", batch })).result).toEqual([]);
  });
});
