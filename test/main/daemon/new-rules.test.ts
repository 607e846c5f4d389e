import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../../shared/json.ts";
import { noRescans, startTestDaemon, until } from "../../helpers/daemon.ts";
import { watchFileSystem } from "../../helpers/file-system.ts";
import { after, before, deployOf, deployText, putDeploy, startDeployTree } from "../../helpers/renamed-scope.ts";

type Fields = typeof before;
/** The fields that the scope has, undefined if there is no such scope, and the values that are served. */
type Rules = readonly [fields: Fields | undefined, served: JsonObject | undefined];

const both = { jobs: 30, zone: "north" };
const refusing = { ...before, jobs: { type: "string", default: "none" } };
const more = (value: number): Rules => [
  { ...before, more: { type: "integer", default: value } },
  { ...both, more: value },
];
const cases: readonly (readonly [title: string, old: Rules, now: Rules, isRevision: boolean])[] = [
  ["fields get new names", [before, both], [after, { workers: 30, region: "north" }], true],
  ["a scope is added whose values the file has already", [undefined, undefined], [before, both], true],
  ["a scope is removed", [before, both], [undefined, undefined], false],
  ["a field refuses its value", [before, both], [refusing, { jobs: "none", zone: "north" }], true],
  ["the default of a field changes that is not stored", more(1), more(2), false],
];

const put = (home: string, fields: Fields | undefined) =>
  fields === undefined ? rm(join(home, "scopes/deploy.schema.json")) : putDeploy(home, fields);

describe("while schemas change, nobody reads old values by new rules, or new ones at the old revision", () => {
  test.each(cases)("if %s, and the log is slow", async (_title, [from, old], [to, now], isRevision) => {
    const fileSystem = watchFileSystem();
    const schema = from && { "scopes/deploy.schema.json": { type: "object", properties: from } };
    const files = { "repos/shop.json": deployText, ...schema };
    await using t = await startTestDaemon({ ...noRescans, files, fileSystem });
    const { result, revision = 0 } = await t.owner.call("config/list", { repo: "shop" });
    expect(result["deploy"]).toEqual(old);
    const gate = Promise.withResolvers<void>();
    fileSystem.before = ({ path }) => (path.includes("/log/") ? gate.promise : undefined);
    await put(t.homeFolder, to);
    const known = JSON.stringify(to);
    await until(async () => {
      const scopes = (await t.owner.call("scope/list")).result;
      return JSON.stringify(scopes.find(({ scope }) => scope === "deploy")?.schema["properties"]) === known;
    }, "the new schema");
    const reads = Promise.all([
      t.owner.call("config/list", { repo: "shop" }),
      t.owner.call("config/list", { repo: "shop" }),
      t.owner.call("config/watch", { repo: "shop" }),
      t.owner.call("config/cells", { repo: "shop", fields: Object.keys(to ?? {}).map(field => `deploy.${field}`) }),
      t.owner.call("config/search", { query: "field:deploy.*" }),
      t.owner.call("history/list", { repo: "shop" }),
      t.owner.call("file/read", { repo: "shop" }),
    ]);
    await t.owner.call("daemon/status");
    gate.resolve();
    const [list, again, watch, cells, search, history] = await reads;
    const newest = isRevision ? revision + 1 : revision;
    for (const { result, revision } of [list, again]) expect([result["deploy"], revision]).toEqual([now, newest]);
    expect(watch.result.revisions).toEqual({ shop: newest });
    if (to !== undefined)
      expect(cells.result).toMatchObject([{ repo: "shop", revision: newest, config: { deploy: now } }]);
    expect(search.result.flatMap(hit => ("field" in hit ? [[hit.field, hit.value]] : []))).toEqual(
      Object.entries(now ?? {}),
    );
    expect(history.result[0]?.revision).toBe(newest);
  });

  test("if a field of a work tree's file becomes a command, which waits for trust", async () => {
    const text = JSON.stringify({ config: { deploy: both } });
    await using tree = await startDeployTree(before, text);
    const { revision = 0 } = await deployOf(tree.t);
    await putDeploy(tree.home, { ...before, zone: { type: "string", default: "", "x-command": true } });
    const read = () => deployOf(tree.t);
    const seen = await readUntil(read, ({ values }) => values["zone"] === "");
    const now = { values: { ...both, zone: "" }, revision: revision + 1 };
    expect([[{ values: both, revision }, now], [now]]).toContainEqual(seen);
  });

  test("in many large repositories that are read all the time, and values can be forgotten at once", async () => {
    const ids = Array.from({ length: 30 }, (_, at) => `shop-${at}`);
    const notes = Object.fromEntries(Array.from({ length: 2_000 }, (_, at) => [`note${at}`, "x".repeat(40)]));
    const text = deployText.replace(`"svc": {`, `"notes": ${JSON.stringify(notes)}, "svc": {`);
    const schema = { type: "object", properties: before };
    const repositories = Object.fromEntries(ids.map(id => [`repos/${id}.json`, text]));
    const files = { "scopes/deploy.schema.json": schema, ...repositories };
    await using t = await startTestDaemon({ ...noRescans, files });
    const list = async (repo: string) => {
      const { result, revision } = await t.owner.call("config/list", { repo });
      return { values: result["deploy"], revision };
    };
    for (const repo of ids) await t.owner.call("config/set", { repo, "deploy.jobs": 31 });
    await putDeploy(t.homeFolder, after);
    const seen = await Promise.all(
      ids.map(async (repo, at) => {
        const read = () => list(repo);
        const one = await readUntil(read, ({ values }) => values?.["workers"] === 31);
        if (at % 3 > 0) return one;
        await writeFile(t.repositoryFile(repo), text.replace("north", "south"));
        const forgotten = await t.owner.call("history/forget", { repo, field: "deploy.workers" });
        expect(forgotten.errors).toEqual([]);
        return one;
      }),
    );
    const old = { values: { jobs: 31, zone: "north" }, revision: 2 };
    const now = { values: { workers: 31, region: "north" }, revision: 3 };
    for (const one of seen) expect([[old, now], [now]]).toContainEqual(one);
  });
});

/** The different states that a tight loop of reads saw. */
async function readUntil<State>(read: () => Promise<State>, isOver: (state: State) => boolean): Promise<State[]> {
  const seen: State[] = [];
  await until(async () => {
    for (let reads = 0; reads < 20; reads++) {
      const state = await read();
      if (JSON.stringify(state) !== JSON.stringify(seen.at(-1))) seen.push(state);
      if (isOver(state)) return true;
    }
    return false;
  }, "the new values");
  return seen;
}
