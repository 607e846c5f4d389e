import { describe, expect, test } from "vitest";
import { previewUndo, undoEntries } from "../../../shared/client/undo-batch.ts";
import type { Grants } from "../../../shared/grants.ts";
import { startTestDaemon, type TestDaemon } from "../../helpers/daemon.ts";
import { connect } from "../../helpers/patient-client.ts";

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

  test("is taken back as one revision of each repository, decided again if somebody changes it in between", async () => {
    await using t = await startTestDaemon({ repositories: ["a"] });
    for (const timeout of [1, 2, 3]) {
      const made = await t.owner.call("config/set", { repo: "a", "svc.timeout": timeout });
      await t.owner.call("config/set", { repo: "a", "svc.domain": `x${timeout}` });
      const { revision = 0 } = made.result[0] ?? {};
      const [undone] = await Promise.all([
        t.owner.call("history/restore", { repo: "a", undo: [revision + 1, revision] }),
        ...[1, 2].map(hour => t.owner.call("config/set", { repo: "a", "svc.refresh_hour": 2 * timeout + hour })),
      ]);
      expect(undone).toMatchObject({ result: [{ repo: "a" }], errors: [] });
      const { result: newest } = await t.owner.call("history/list", { repo: "a", limit: 5 });
      expect(newest.filter(({ source }) => source === "restore")).toHaveLength(1);
    }
    expect(await stored(t, "a")).toEqual({ svc: { refresh_hour: 8 } });
  });

  test("with local values is taken back as one revision of each layer, and its preview has what counts then", async () => {
    await using t = await startTestDaemon({ repositories: ["a"] });
    using client = await connect({ home: t.homeFolder });
    const set = (fields: object, layer: string) =>
      t.owner.call("config/set", { repo: "a", layer, batch: "one", ...fields });
    await t.owner.call("config/set", { repo: "a", "svc.timeout": 30, "svc.provider": "p" });
    await t.owner.call("config/set", { repo: "a", "svc.provider": "mine", layer: "local" });
    await set({ "svc.timeout": 60 }, "local");
    await set({ "svc.timeout": 61 }, "local");
    await set({ "svc.domain": "x" }, "shared");
    await set({ "svc.provider": "q" }, "shared");
    const { result } = await t.owner.call("history/list", { repo: "a", limit: 4 });
    const entries = result.map(entry => ({ repo: "a", ...entry }));
    expect(await previewUndo(client, entries)).toEqual({
      changes: expect.arrayContaining([
        { repo: "a", scope: "svc", field: "timeout", before: 61, after: 30 },
        { repo: "a", scope: "svc", field: "domain", before: "x", after: "" },
        { repo: "a", scope: "svc", field: "provider", before: "mine", after: "mine", shadowedBy: "local" },
      ]),
      left: [],
    });
    const { restored, left } = await undoEntries(client, entries, { reason: "all", batch: "undo" });
    expect([restored.length, left]).toEqual([1, []]);
    const layers = await t.owner.call("config/list", { repo: "a", stored: true, layers: true });
    expect(layers.layers).toEqual({
      shared: { svc: { timeout: 30, provider: "p" } },
      local: { svc: { provider: "mine" } },
    });
    const after = (await t.owner.call("history/list", { repo: "a", limit: 3 })).result;
    expect(after.map(({ source }) => source)).toEqual(["restore", "restore", "set"]);
    expect(new Set(after.slice(0, 2).map(({ layer }) => layer))).toEqual(new Set(["local", "shared"]));
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
    const set = async (timeout: number) =>
      (await t.owner.call("config/set", { repo: "a", "svc.timeout": timeout, batch: "x" })).result[0]?.batch ?? "";
    const [batch] = [await set(2), await set(3)];
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
    const services = { web: { ready: "x", image: "y" } };
    const made = await t.owner.call("config/set", { repo: ["a", "b"], "svc.services": services });
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
