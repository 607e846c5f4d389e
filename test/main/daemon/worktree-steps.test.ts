import { readFile, writeFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { startWithWorktrees } from "../../helpers/linked-worktrees.ts";
import { patience } from "../../helpers/patience.ts";

const app = {
  type: "object",
  properties: {
    port: { type: "integer", default: 3000, maximum: 3025, "x-step": 10 },
    debug: { type: "string", default: "9000", "x-step": 1, "x-env": "DEBUG_PORT" },
  },
};

test("with x-step, what a linked worktree inherits is higher by its slot, and what is set there is taken as it is", async () => {
  await using world = await startWithWorktrees({ files: { "scopes/app.schema.json": app } });
  const { t, at, link } = world;
  const ids = [await link("one"), await link("two"), await link("three")];
  const port = async (repo: string, more: object = {}) =>
    (await t.owner.call("config/list", { repo, field: "app.port", ...more })).result["app"]?.["port"];
  const ports = () => Promise.all(["main", ...ids].map(id => port(id)));
  const [one = "", two = "", three = ""] = ids;
  const call = async (name: "config/set" | "config/unset", args: { readonly [name: string]: unknown }) => {
    const { result, errors } = await t.owner.call(name, args);
    expect(errors).toEqual([]);
    return result[0]?.config["app"]?.["port"];
  };
  const explain = async (repo: string) => (await t.owner.call("config/explain", { repo, field: "app.port" })).result;
  const health = async (repo: string) =>
    (await t.owner.call("repo/list", { repo })).result.flatMap(entry => entry.health.map(({ message }) => message));

  expect(await ports()).toEqual([3000, 3010, 3020, 3000]);
  expect(await explain(two)).toMatchObject({ value: 3020, origin: "default", step: 20 });
  expect((await explain("main")).step).toBeUndefined();
  expect([await port(two, { stored: true }), (await explain(two)).stored]).toEqual([undefined, undefined]);
  expect((await t.owner.call("repo/list", { repo: two })).result).toMatchObject([{ modified: 1 }]);
  expect(await health(two)).toEqual([]);
  expect(await health(three)).toEqual([
    "app.port would be 30 higher in this worktree, by its schema (x-step), but must be at most 3025; it is used as it is in the main work tree. Give this worktree a value of its own: repoconf set --local app.port=VALUE",
  ]);

  // A branch's own file, and the main work tree's local values, are inherited; main has no more than it stores.
  await call("config/set", { repo: "main", "app.port": 3001, layer: "local" });
  expect(await ports()).toEqual([3001, 3011, 3021, 3001]);
  expect(await explain(one)).toMatchObject({ value: 3011, origin: "stored", layer: "base", step: 10 });
  await call("config/unset", { repo: "main", fields: ["app.port"], layer: "local" });
  expect(await call("config/set", { repo: one, "app.port": 3002, layer: "shared", flush: true })).toMatchObject({
    value: 3002,
    counts: 3012,
  });
  expect(JSON.parse(await readFile(at("one", ".repoconf.json"), "utf8")).config.app).toEqual({ port: 3002 });
  expect(await port(one)).toBe(3012);

  // What was set is what is read: a plain set is the worktree's own.
  const set = await call("config/set", { repo: one, "app.port": 3005 });
  expect(set).toEqual({ value: 3005, description: "", layer: "local" });
  expect(await ports()).toEqual([3000, 3005, 3020, 3000]);
  const explained = await explain(one);
  expect(explained).toMatchObject({ value: 3005, layer: "local", layers: [{ value: 3005 }, { value: 3002 }] });
  expect(explained.step).toBeUndefined();
  const { result } = await t.owner.call("config/hook", { path: at("two"), shell: "bash" });
  expect(result).toContain("__repoconf_set 'DEBUG_PORT' '9002'");
  expect(await call("config/unset", { repo: one, fields: ["app.port"] })).toMatchObject({ value: 3012 });

  // The past, an edit by hand, and what others hear.
  await t.owner.call("config/watch", { repo: one });
  const { revision = 0 } = await t.owner.call("config/list", { repo: one });
  expect(await port(one, { revision: revision - 1 })).toBe(3005);
  expect([await port(one, { revision: 1 }), await port(one, { revision: 1, stored: true })]).toEqual([3010, undefined]);
  const text = JSON.stringify({ config: { app: { port: 3003 } } });
  await writeFile(at("one", ".repoconf.json"), text);
  const heard = () =>
    t.owner.events.flatMap(([, event, change]) => (event === "changed" && "changes" in change ? [change] : []));
  await expect
    .poll(() => heard().at(-1)?.changes["app"]?.["port"], { timeout: patience })
    .toMatchObject({ previous: 3012, value: 3013 });
  await t.restart();
  expect(await ports()).toEqual([3000, 3013, 3020, 3000]);
});
