import { appendFile, readdir, rename } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { FoundHistoryEntry } from "../../../shared/protocol.ts";
import { startTestDaemon, type TestClient, type TestDaemon } from "../../helpers/daemon.ts";
import { connect } from "../../helpers/patient-client.ts";
import { TestClock } from "../../helpers/test-clock.ts";

async function search(client: TestClient, query = "", limit = 1_000): Promise<readonly FoundHistoryEntry[]> {
  const { result, errors } = await client.call("history/search", { query, limit });
  expect(errors).toEqual([]);
  return result;
}

/** As `repo revision`. */
const places = (entries: readonly FoundHistoryEntry[]) => entries.map(({ repo, revision }) => `${repo} ${revision}`);

/** All pages with up to `limit` entries each. */
async function pages(client: TestClient, limit: number, query = ""): Promise<string[][]> {
  const all: string[][] = [];
  let after: string | undefined;
  do {
    const { result, next } = await client.call("history/search", { query, limit, ...(after && { after }) });
    all.push(places(result));
    after = next;
  } while (after !== undefined);
  return all;
}

async function setAll(
  t: TestDaemon,
  ...sets: readonly (readonly [repo: string | string[], timeout: number])[]
): Promise<void> {
  for (const [repo, timeout] of sets) await t.owner.call("config/set", { repo, "svc.timeout": timeout, atomic: true });
}

describe("history/search", () => {
  test("lists the changes in all repositories, newest first by log position, from which a watch can continue", async () => {
    await using t = await startTestDaemon({ repositories: ["a", "b", "c"] });
    await setAll(t, ["b", 1], ["a", 2], ["c", 3], [["c", "a"], 4], ["b", 5]);
    const expected = ["b 3", "a 3", "c 3", "c 2", "a 2", "b 2", "c 1", "b 1", "a 1"];
    const entries = await search(t.owner);
    expect(places(entries)).toEqual(expected);
    const watcher = await t.connect();
    await watcher.call("config/watch", { position: entries[1]?.position });
    expect(await watcher.nextChange()).toMatchObject({ repo: "b", revision: 3 });
    expect(entries[1]).toEqual({
      repo: "a",
      revision: 3,
      position: expect.stringMatching(/^[\w-]{22}$/),
      time: expect.stringMatching(/Z$/),
      actor: "owner",
      source: "set",
      batch: expect.stringMatching(/^[0-9a-f]{24}$/),
      changes: { svc: { timeout: { value: 4, previous: 2, stored: true } } },
    });
    expect((await pages(t.owner, 2)).flat()).toEqual(expected);
    expect((await pages(t.owner, 2)).map(page => page.length)).toEqual([2, 2, 2, 2, 1]);
    // After a restart the result is the same.
    await t.restart();
    expect(places(await search(t.owner))).toEqual(expected);
    using client = await connect({ home: t.homeFolder });
    const found = [];
    for await (const entry of client.activity("repo:b")) found.push(entry);
    expect(places(found)).toEqual(["b 3", "b 2", "b 1"]);
  });

  test("neither repeats entries nor inserts newer ones on the next page", async () => {
    await using t = await startTestDaemon({ repositories: ["a", "b"] });
    await setAll(t, ["a", 1], ["b", 2]);
    const first = await t.owner.call("history/search", { query: "", limit: 2 });
    expect(places(first.result)).toEqual(["b 2", "a 2"]);
    await setAll(t, ["a", 3], ["b", 4]);
    const rest = await t.owner.call("history/search", { query: "", after: first.next ?? "" });
    expect(places(rest.result)).toEqual(["b 1", "a 1"]);
    expect(rest).not.toHaveProperty("next");
  });

  test("does not open a history that the page does not need yet", async () => {
    await using t = await startTestDaemon({ repositories: ["a", "b"] });
    await setAll(t, ["a", 1], ["a", 2]);
    await t.restart();
    const folder = join(t.homeFolder, "journal");
    for (const name of (await readdir(folder)).filter(one => one.startsWith("b.")))
      await rename(join(folder, name), join(t.homeFolder, name));
    const { result, errors } = await t.owner.call("history/search", { query: "", limit: 1 });
    expect([places(result), errors]).toEqual([["a 3"], []]);
  });

  test("covers more repositories than it keeps open at a time", async () => {
    const ids = Array.from({ length: 50 }, (_, index) => `r${100 + index}`);
    await using t = await startTestDaemon({ files: Object.fromEntries(ids.map(id => [`repos/${id}.json`, "{}"])) });
    // The reply comes once all of them are known.
    await t.owner.call("repo/list");
    for (const timeout of [1, 2]) for (const id of ids) await setAll(t, [id, timeout]);
    const newestFirst = ids.toReversed();
    const expected = [3, 2].flatMap(revision => newestFirst.map(id => `${id} ${revision}`));
    expect(places(await search(t.owner)).slice(0, 100)).toEqual(expected);
  });

  test("filters by the words of the query, and returns only the fields of an entry that match", async () => {
    const clock = new TestClock({ timers: "run" });
    await using t = await startTestDaemon({ repositories: ["web", "shop"], clock });
    const ci = await t.connectWith([{ repos: "*", fields: ["*"], right: "write" }], "ci");
    await ci.call("config/set", { repo: "web", "svc.timeout": 1, "svc.domain": "x", reason: "Slow machine" });
    clock.advance(2 * 86_400_000);
    await t.owner.call("config/set", { repo: "shop", "svc.proxy_https": true });
    await t.owner.call("config/unset", { repo: "web", fields: ["svc.domain"] });
    await t.owner.call("history/forget", { repo: "web", field: "svc.domain" });
    const found = async (query: string) => places(await search(t.owner, query));
    expect(await found("by:ci")).toEqual(["web 2"]);
    expect(await found("by:owner -repo:web since:1d")).toEqual(["shop 2"]);
    expect(await found("-since:1d")).toEqual(["web 2", "shop 1", "web 1"]);
    expect(await found("since:1d")).toEqual(["web 3", "web 3", "shop 2"]);
    expect(await found("field:svc.proxy_https=on")).toEqual(["shop 2"]);
    expect(await found("field:svc.domain")).toEqual(["web 3", "web 3", "web 2"]);
    // A forgotten value is no longer known to have been stored.
    expect(await found("svc.domain modified")).toEqual([]);
    expect(await found("field:svc.timeout modified")).toEqual(["web 2"]);
    expect(await found('"slow machine"')).toEqual(["web 2"]);
    expect(await found("web")).toEqual(["web 3", "web 3", "web 2", "web 1"]);
    expect(await found("broken")).toEqual([]);
    const [entry] = await search(t.owner, "field:svc.timeout");
    expect(Object.keys(entry?.changes["svc"] ?? {})).toEqual(["timeout"]);
    expect(entry?.reason).toBe("Slow machine");
  });

  test("does not search masked values", async () => {
    await using t = await startTestDaemon({ repositories: ["a"] });
    await t.owner.call("config/set", { repo: "a", "svc.envvars": [{ name: "TOKEN", value: "hunter2" }] });
    for (const query of ["hunter2", "TOKEN", "field:svc.envvars=*hunter2*"])
      expect(await search(t.owner, query)).toEqual([]);
    expect(places(await search(t.owner, "envvars"))).toEqual(["a 2"]);
  });

  test("ends a page after checking 2,000 revisions, with next even if nothing was found", async () => {
    await using t = await startTestDaemon({ repositories: ["a"] });
    for (let begin = 0; begin < 2_000; begin += 50)
      await Promise.all(Array.from({ length: 50 }, (_, index) => setAll(t, ["a", begin + index + 1])));
    await setAll(t, ["a", 0]);
    const first = await t.owner.call("history/search", { query: "field:svc.timeout=1" });
    expect([first.result, typeof first.next]).toEqual([[], "string"]);
    const second = await t.owner.call("history/search", { query: "field:svc.timeout=1", after: first.next ?? "" });
    expect(second.result).toMatchObject([{ changes: { svc: { timeout: { value: 1 } } } }]);
    expect(second).not.toHaveProperty("next");
  });

  test("reports a damaged history along with all other results", async () => {
    await using t = await startTestDaemon({ repositories: ["a", "b"] });
    await setAll(t, ["a", 1], ["b", 2], ["a", 3]);
    await t.restart();
    await search(t.owner);
    const folder = join(t.homeFolder, "journal");
    const [name = ""] = (await readdir(folder)).filter(one => one.startsWith("a."));
    await appendFile(join(folder, name), "damage\n");
    const { result, errors } = await t.owner.call("history/search", { query: "" });
    expect(places(result)).toEqual(["b 2", "b 1"]);
    expect(errors).toMatchObject([{ code: 1110, repo: "a" }]);
  });

  test("returns a next token that reveals nothing and is not valid in another home", async () => {
    await using t = await startTestDaemon({ repositories: ["first-shop", "other-shop"] });
    const { next = "" } = await t.owner.call("history/search", { query: "", limit: 1 });
    expect(next).toMatch(/^[\w-]+$/);
    expect(Buffer.from(next, "base64url").toString("latin1")).not.toContain("shop");
    await using other = await startTestDaemon({ repositories: ["first-shop"] });
    const refused = await other.owner.call("history/search", { query: "", after: next });
    expect(refused).toMatchObject({ result: null, errors: [{ code: 1101 }] });
  });
});
