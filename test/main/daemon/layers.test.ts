import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { HistoryEntry } from "../../../shared/protocol.ts";
import { noRescans, startTestDaemon } from "../../helpers/daemon.ts";
import { patience } from "../../helpers/patience.ts";
import { saveByRename } from "../../helpers/shop.ts";

const poll = <Value>(read: () => Value | Promise<Value>) => expect.poll(read, { timeout: patience, interval: 20 });
const tree = ".repoconf.json";

/** A repository in a work tree with a timeout of 30, and its owner, who watches it. */
async function startLayered() {
  const t = await startTestDaemon(noRescans);
  const path = join(t.homeFolder, "tree");
  await mkdir(path);
  await writeFile(join(path, tree), JSON.stringify({ config: { svc: { timeout: 30 } } }));
  await t.owner.call("repo/add", { name: "shop", id: "shop", path, inTree: true });
  await t.owner.call("config/watch", { repo: "shop" });
  const call = async (name: "config/set" | "config/unset", args: object) => {
    const reply = await t.owner.call(name, { repo: "shop", ...args });
    expect(reply.errors).toEqual([]);
    return reply.result[0];
  };
  const list = (args: object = {}) => t.owner.call("config/list", { repo: "shop", ...args });
  return {
    t,
    path,
    set: (args: object) => call("config/set", args),
    unset: (field: string, args: object = {}) => call("config/unset", { fields: [field], ...args }),
    list,
    timeout: async () => (await list()).result["svc"]?.["timeout"],
    layers: async () => (await list({ layers: true })).layers,
    health: async () => (await t.owner.call("repo/list")).result[0]?.health ?? [],
    localFile: join(t.homeFolder, "local", "shop.json"),
    treeText: () => readFile(join(path, tree), "utf8"),
    saveTree: (svc: object) => saveByRename(join(path, tree), JSON.stringify({ config: { svc } })),
    history: async () => (await t.owner.call("history/list", { repo: "shop" })).result.map(seen),
    changes: () => t.owner.events.flatMap(([, event, one]) => (event === "changed" && "changes" in one ? [one] : [])),
    [Symbol.asyncDispose]: () => t[Symbol.asyncDispose](),
  };
}

const seen = ({ revision, layer, source, changes }: HistoryEntry) => [
  revision,
  layer,
  source,
  changes["svc"]?.["timeout"] && [changes["svc"]["timeout"].previous, changes["svc"]["timeout"].value],
];

test("a local value counts before the shared one, a plain set changes it, and an unset reveals what is below", async () => {
  await using shop = await startLayered();
  const answer = (revision: number, timeout: object) => ({ revision, config: { svc: { timeout } } });
  const first = await shop.set({ "svc.timeout": 5, layer: "local" });
  expect(first).toMatchObject(answer(2, { value: 5, layer: "local" }));
  expect(await shop.timeout()).toBe(5);
  expect(await shop.set({ "svc.timeout": 6 })).toMatchObject(answer(3, { value: 6, layer: "local" }));
  const below = await shop.set({ "svc.timeout": 40, layer: "shared", flush: true });
  expect(below).toMatchObject(answer(4, { value: 40, shadowedBy: "local" }));
  expect(await shop.timeout()).toBe(6);
  expect(await shop.layers()).toEqual({ shared: { svc: { timeout: 40 } }, local: { svc: { timeout: 6 } } });
  expect(JSON.parse(await shop.treeText())).toEqual({ config: { svc: { timeout: 40 } } });
  expect(await shop.unset("svc.timeout")).toMatchObject(answer(5, { value: 40, layer: "local" }));
  expect(await shop.timeout()).toBe(40);
  expect((await shop.set({ "svc.timeout": 41 }))?.config["svc"]?.["timeout"]).not.toHaveProperty("layer");
  expect(await shop.history()).toEqual([
    [6, "shared", "set", [40, 41]],
    [5, "local", "unset", [6, 40]],
    [4, "shared", "set", [30, 40]],
    [3, "local", "set", [5, 6]],
    [2, "local", "set", [30, 5]],
    [1, "shared", "set", [900, 30]],
  ]);
});

test("events, their catch-up, past values and compare-and-set speak of what counts", async () => {
  await using shop = await startLayered();
  await shop.set({ "svc.timeout": 5, layer: "local" });
  await shop.set({ "svc.timeout": 40, layer: "shared" });
  await shop.set({ "svc.domain": "a.test", layer: "shared" });
  await shop.unset("svc.timeout", { layer: "local" });
  const expected = [
    [2, { svc: { timeout: { value: 5, previous: 30, stored: true } } }],
    [4, { svc: { domain: { value: "a.test", previous: "", stored: true } } }],
    [5, { svc: { timeout: { value: 40, previous: 5, stored: true } } }],
  ];
  const told = () => shop.changes().map(({ revision, changes }) => [revision, changes]);
  await poll(told).toEqual(expected);
  for (const restarts of [false, true]) {
    if (restarts) await shop.t.restart();
    const client = restarts ? shop.t.owner : await shop.t.connect();
    const before = client.events.length;
    await client.call("config/watch", { repo: "shop", since: 1 });
    await poll(() => client.events.slice(before)).toHaveLength(3);
    const caughtUp = client.events
      .slice(before)
      .map(([, , one]) => ("changes" in one ? [one.revision, one.changes] : one));
    expect(caughtUp).toEqual(expected);
    for (const [revision, timeout] of [30, 5, 5, 5, 40].entries())
      expect((await shop.list({ revision: revision + 1 })).result["svc"]?.["timeout"]).toBe(timeout);
  }
  const stale = await shop.t.owner.call("config/set", { repo: "shop", "svc.timeout": 7, revision: 4 });
  expect(stale.errors).toMatchObject([{ code: 1104, details: { current: 5 } }]);
});

test("a change of both layers is two revisions that name each other, in events, their catch-up and the history", async () => {
  await using shop = await startLayered();
  await shop.set({ "svc.timeout": 5, layer: "local" });
  await shop.set({ "svc.timeout": 6, "svc.domain": "b.test" });
  const numbers = (all: readonly object[]) =>
    all.map(one => ["revision" in one && one.revision, "together" in one ? one.together : undefined]);
  const told = [[2], [3], [4, 3]].map(([revision, together]) => [revision, together]);
  await poll(() => numbers(shop.changes())).toEqual(told);
  const before = shop.t.owner.events.length;
  await shop.t.owner.call("config/watch", { repo: "shop", since: 1 });
  await poll(() => numbers(shop.changes()).slice(3)).toEqual(told);
  expect(shop.t.owner.events.length).toBe(before + 3);
  const { result } = await shop.t.owner.call("history/list", { repo: "shop", limit: 3 });
  expect(numbers(result)).toEqual([
    [4, 3],
    [3, 4],
    [2, undefined],
  ]);
});

test("where a record of one layer is damaged, the history has what came after it, and a watcher who has seen the damaged one continues", async () => {
  await using shop = await startLayered();
  await shop.set({ "svc.timeout": 5, layer: "local" });
  await shop.set({ "svc.timeout": 66, layer: "local" });
  await shop.set({ "svc.timeout": 40, layer: "shared" });
  await shop.set({ "svc.timeout": 7, layer: "local" });
  await shop.set({ "svc.timeout": 8, layer: "local" });
  await shop.t.daemon.close();
  const journal = join(shop.t.homeFolder, "journal");
  let damaged = 0;
  for (const name of await readdir(journal, { recursive: true })) {
    const text = await readFile(join(journal, name), "utf8").catch(() => "");
    if (!text.includes('"after":66')) continue;
    damaged += 1;
    await writeFile(join(journal, name), text.replace('"after":66', '"after":67'));
  }
  expect(damaged).toBe(1);
  await shop.t.restart();
  const { result, errors } = await shop.t.owner.call("history/list", { repo: "shop" });
  expect(errors).toMatchObject([{ code: 1110 }]);
  expect(result.map(seen)).toEqual([
    [6, "local", "set", [7, 8]],
    [5, "local", "set", [66, 7]],
  ]);
  const watch = async (since: number) =>
    (await shop.t.owner.call("config/watch", { repo: "shop", since })).errors.map(({ code }) => code);
  expect([await watch(3), await watch(4)]).toEqual([[1110], []]);
  await poll(() => shop.changes().map(({ revision }) => revision)).toEqual([5, 6]);
});

test("an edit of the local file by hand, or a file that a person puts there, changes what counts", async () => {
  await using shop = await startLayered();
  await saveByRename(shop.localFile, JSON.stringify({ config: { svc: { timeout: 7 } } }));
  await poll(shop.timeout).toBe(7);
  await saveByRename(shop.localFile, JSON.stringify({ config: { svc: { timeout: "no" } } }));
  await poll(shop.health).toMatchObject([{ code: 1103, layer: "local", field: "svc.timeout" }]);
  expect(await shop.timeout()).toBe(7);
  await shop.t.restart();
  expect(await shop.health()).toMatchObject([{ code: 1103, layer: "local" }]);
  expect(await shop.timeout()).toBe(7);
  await shop.t.daemon.close();
  await saveByRename(shop.localFile, JSON.stringify({ config: { svc: { timeout: 8 } } }));
  await shop.saveTree({ timeout: 31, domain: "b.test" });
  await shop.t.restart();
  expect((await shop.list({ stored: true })).result).toEqual({ svc: { timeout: 8, domain: "b.test" } });
  expect((await shop.t.owner.call("repo/list")).result).toMatchObject([{ id: "shop", revision: 4, modified: 2 }]);
});

test("a local file that is deleted or broken is told by its own name, with the next step, and its last values count", async () => {
  await using one = await startLayered();
  const health = async () => {
    await one.t.owner.call("file/read", { repo: "shop", layer: "local" });
    return one.health();
  };
  for (const [text, told] of [
    [undefined, "local/shop.json is missing; its last values still count. To give them up, write {} into it"],
    ["{ broken", "local/shop.json: "],
    ['{ "config": { "svc": 1 } }', 'local/shop.json: "config.svc" must be an object'],
  ] as const) {
    await one.set({ "svc.timeout": 60, layer: "local", flush: true });
    if (text === undefined) await rm(one.localFile);
    else await saveByRename(one.localFile, text);
    expect(await health()).toMatchObject([{ code: 1106, layer: "local", message: expect.stringContaining(told) }]);
    expect(await one.timeout()).toBe(60);
    await writeFile(one.localFile, "{}");
    expect([await health(), await one.timeout()]).toEqual([[], 30]);
  }
});

test("if the local file and the index are lost, the history still has the local values, unless they were removed with their repository, which moves their file to removed/", async () => {
  await using shop = await startLayered();
  await shop.set({ "svc.timeout": 5, layer: "local" });
  const lose = async () => {
    await rm(shop.localFile, { force: true });
    await rm(join(shop.t.homeFolder, "index.json"));
  };
  await shop.t.restart(lose);
  expect([await shop.timeout(), (await shop.layers())?.local]).toEqual([5, { svc: { timeout: 5 } }]);
  expect(await shop.health()).toMatchObject([{ code: 1106, layer: "local" }]);
  await shop.t.owner.call("file/restore", { repo: "shop", layer: "local" });
  expect(JSON.parse(await readFile(shop.localFile, "utf8")).config).toEqual({ svc: { timeout: 5 } });
  await shop.t.owner.call("repo/remove", { repo: "shop" });
  expect(await readdir(join(shop.t.homeFolder, "local"))).toEqual([]);
  const removed = await readdir(join(shop.t.homeFolder, "removed"));
  expect(removed.some(name => name.startsWith("shop.local."))).toBe(true);
  await shop.t.owner.call("repo/add", { name: "shop", id: "shop", path: shop.path, inTree: true });
  for (const again of [async () => {}, () => shop.t.restart(lose)]) {
    await again();
    expect([await shop.timeout(), await shop.layers()]).toEqual([30, { shared: { svc: { timeout: 30 } } }]);
  }
  await shop.set({ "svc.timeout": 6, layer: "local" });
  await shop.t.restart();
  expect(await shop.timeout()).toBe(6);
});

test("what a killed write of a first local value left is deleted at the next start, and no file of a person is", async () => {
  await using one = await startLayered();
  const folder = join(one.t.homeFolder, "local");
  for (const name of ["shop.json.0123456789ab.tmp", "notes.tmp"]) await writeFile(join(folder, name), "{}");
  await one.t.restart();
  expect(await readdir(folder)).toEqual(["notes.tmp"]);
});

test("a value set with --local is never in the work tree, whatever is done with it", async () => {
  await using shop = await startLayered();
  const secret = "never-in-git.test";
  await shop.set({ "svc.domain": secret, layer: "local" });
  await shop.set({ "svc.domain": `x.${secret}` });
  await shop.set({ "svc.domain": "team.test", layer: "shared" });
  // An edit inside a value that only the local layer has starts from what the shared one has.
  const edit = (name: string, value: string) => ({
    edits: [{ field: "svc.envvars", path: `/${name}`, op: "set", value: { name, value } }],
  });
  await shop.set({ ...edit("TOKEN", secret), layer: "local" });
  await shop.set({ ...edit("MODE", "dev"), layer: "shared", flush: true });
  expect(await shop.treeText()).toContain("MODE");
  expect(await shop.treeText()).not.toContain(secret);
  for (const to of [2, 3, 4]) {
    const restored = await shop.t.owner.call("history/restore", { repo: "shop", to });
    expect(restored.errors).toEqual([]);
    expect(await shop.treeText()).not.toContain(secret);
  }
  await shop.t.owner.call("history/restore", { repo: "shop", to: 2, fields: ["svc.domain"] });
  await shop.unset("svc.domain", { layer: "local" });
  await shop.t.owner.call("history/restore", { repo: "shop", to: 3 });
  expect((await shop.list()).result["svc"]?.["domain"]).toBe(`x.${secret}`);
  await saveByRename(join(shop.path, tree), "{");
  await poll(shop.health).toHaveLength(1);
  await shop.t.owner.call("file/restore", { repo: "shop" });
  expect(JSON.parse(await shop.treeText())).toEqual({ config: { svc: { timeout: 30 } } });
  await shop.t.restart();
  await shop.set({ "svc.timeout": 9, layer: "shared", flush: true });
  expect(JSON.parse(await shop.treeText())).toEqual({ config: { svc: { timeout: 9 } } });
});

test("a list whose items have names is merged by them, and a set of all of it is split by them", async () => {
  await using shop = await startLayered();
  const item = (name: string, value: string) => ({ name, value });
  const all = async () => (await shop.list()).result["svc"]?.["envvars"];
  const own = async () => Object.values((await shop.layers()) ?? {}).map(one => one["svc"]?.["envvars"]);
  await shop.set({ "svc.envvars": [item("A", "1"), item("B", "2")], layer: "shared" });
  const add = (name: string, value: string) => ({
    edits: [{ field: "svc.envvars", op: "add", value: item(name, value) }],
  });
  await shop.set({ ...add("B", "mine"), layer: "local" });
  expect(await all()).toEqual([item("A", "1"), item("B", "mine")]);
  await shop.set({ ...add("C", "3"), layer: "shared" });
  expect(await all()).toEqual([item("A", "1"), item("B", "mine"), item("C", "3")]);
  // What an old client does.
  const set = await shop.set({ "svc.envvars": [item("A", "9"), item("B", "yours"), item("D", "4")] });
  expect(set?.config["svc"]?.["envvars"]).toMatchObject({ localItems: ["B"] });
  // It never saw the shared B.
  const shared = [item("A", "9"), item("B", "2"), item("D", "4")];
  expect(await own()).toEqual([shared, [item("B", "yours")]]);
  expect(await all()).toEqual([item("A", "9"), item("B", "yours"), item("D", "4")]);
  await shop.set({ edits: [{ field: "svc.envvars", path: "/B/value", op: "set", value: "again" }] });
  expect(await own()).toEqual([shared, [item("B", "again")]]);
  await shop.set({ "svc.envvars": [item("A", "9")] });
  expect(await own()).toEqual([[item("A", "9"), item("B", "2")], undefined]);
});

test("an item of one's own stays out of the work tree, whatever a client that knows nothing of layers makes of its list", async () => {
  await using shop = await startLayered();
  const [mode, token] = [
    { name: "MODE", value: "dev" },
    { name: "TOKEN", value: "never-in-git" },
  ];
  const field = "svc.envvars";
  const isOut = async () => {
    await shop.set({ "svc.timeout": 31, layer: "shared", flush: true });
    expect(await shop.treeText()).not.toContain("never-in-git");
  };
  const begin = async () => {
    await shop.set({ [field]: [mode], layer: "shared" });
    await shop.set({ [field]: [token], layer: "local" });
  };
  const renamed = { ...token, name: "KEY" };
  const changes = [
    { edits: [{ field, path: "/TOKEN/name", op: "set", value: "KEY" }] },
    { edits: [{ field, path: "/TOKEN", op: "set", value: renamed }] },
    {
      edits: [
        { field, path: "/TOKEN", op: "unset" },
        { field, op: "add", value: renamed },
      ],
    },
    { edits: [{ field, op: "set", value: [renamed, mode] }] },
    { [field]: [mode, renamed] },
    { [field]: [{ name: "KEY", value: "never-in-git, and changed" }, mode] },
    { [field]: [{ ...mode, value: "never-in-git" }] },
  ];
  for (const change of changes) {
    await begin();
    await shop.set(change);
    expect(await shop.layers()).toMatchObject({
      local: { svc: { envvars: [{ value: expect.stringContaining("never") }] } },
      shared: { svc: { envvars: [mode] } },
    });
    await isOut();
  }
  // What a client read before a local item went, and gives back, whatever revision it names.
  await begin();
  const { revision } = await shop.list();
  await shop.unset(field, { layer: "local" });
  const stale = { [field]: [mode, token, { name: "NEW", value: "1" }] };
  const refused = await shop.t.owner.call("config/set", { repo: "shop", ...stale, revision: revision ?? 0 });
  expect(refused.errors).toMatchObject([{ code: 1104 }]);
  await shop.set(stale);
  expect(await shop.layers()).toMatchObject({
    local: { svc: { envvars: [token] } },
    shared: { svc: { envvars: [mode, { name: "NEW" }] } },
  });
  await isOut();
});

test("a map that changes below a local one is told once, and nothing else that a local value hides", async () => {
  await using shop = await startLayered();
  const services = (image: string) => ({ web: { ready: "true", image } });
  await shop.set({ "svc.timeout": 5, "svc.services": services("own"), layer: "local" });
  const { health } = shop;
  const told = [{ code: 1116, message: expect.stringContaining("shared value of svc.services changed") }];
  await shop.set({ "svc.timeout": 31, layer: "shared" });
  expect(await health()).toEqual([]);
  await shop.set({ "svc.services": services("a"), layer: "shared" });
  await poll(health).toMatchObject(told);
  await shop.set({ "svc.services": services("b"), layer: "shared" });
  expect(await health()).toMatchObject(told);
  await shop.t.owner.call("daemon/dismiss", { id: (await health())[0]?.finding });
  await shop.set({ "svc.services": services("c"), layer: "shared" });
  expect(await health()).toEqual([]);
});
